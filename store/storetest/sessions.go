package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"countersign/approvals"
)

func sessions() []promise {
	return []promise{
		{"Session", "a repeated settle must not repeat the conversation", testSession},
		{"SessionTail",
			"a thread of thousands of runs begins the next one with what was said last, and at least with that",
			testSessionTail},
		{"DeleteSession", "a conversation that is forgotten can begin anew", testDeleteSession},
	}
}

func (s *suite) remember(p approvals.Place, key, items string) {
	s.Helper()
	s.update(func(tx approvals.Tx) error { return tx.AppendSession(ws, p, key, json.RawMessage(items)) })
}

// memory is all that is remembered of a place.
func (s *suite) memory(p approvals.Place) []string {
	s.Helper()
	var all []string
	s.view(func(tx approvals.Tx) error {
		chunks, older, err := tx.SessionTail(ws, p, 1<<20)
		if older != 0 {
			s.Errorf("%d chunks did not fit into 1 MiB", older)
		}
		all = texts(chunks)
		return err
	})
	return all
}

func testSession(s *suite) {
	elsewhere := place
	elsewhere.Thread += "1"
	var want []string
	for i := range 12 { // more than ten, so that the order of text would show
		items := fmt.Sprintf("[%d]", i)
		want = append(want, items)
		s.remember(place, fmt.Sprintf("run_%d", 99-i), items)
	}
	s.remember(place, "run_99", `["again"]`)
	s.remember(elsewhere, "run_99", `["elsewhere"]`)
	s.reopen()
	s.remember(place, "run_98", `["again"]`)
	same(s, "memory", want, s.memory(place))
	same(s, "memory elsewhere", []string{`["elsewhere"]`}, s.memory(elsewhere))
}

func testSessionTail(s *suite) {
	read := func(tx approvals.Tx, bytes int) ([]json.RawMessage, int, error) {
		return tx.SessionTail(ws, place, bytes)
	}
	s.expectTails(read, tail{1000, nil, 0}, tail{0, nil, 0})
	a, b, c := `["aaaaaa"]`, `["bbbbbbbbbbbbbbbb"]`, `["cccccccccccccccccccccccccc"]` // 10, 20 and 30 bytes
	s.remember(place, "run_3", a)
	s.remember(place, "run_2", b)
	s.remember(place, "run_1", c)
	s.expectTails(read, tail{1000, []string{a, b, c}, 0}, tail{60, []string{a, b, c}, 0}, tail{59, []string{b, c}, 1},
		tail{50, []string{b, c}, 1}, tail{49, []string{c}, 2}, tail{30, []string{c}, 2}, tail{29, []string{c}, 2},
		tail{0, []string{c}, 2}, tail{-1, []string{c}, 2}, tail{math.MinInt, []string{c}, 2},
		tail{math.MaxInt, []string{a, b, c}, 0})
	s.remember(place, "run_4", a)
	s.reopen()
	s.expectTails(read, tail{39, []string{a}, 3}, tail{40, []string{c, a}, 2})
}

func testDeleteSession(s *suite) {
	elsewhere := place
	elsewhere.Thread += "1"
	for i := range 3 {
		s.remember(place, fmt.Sprint("run_", i), fmt.Sprintf("[%d]", i))
	}
	s.remember(elsewhere, "run_1", `["elsewhere"]`)
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
		return errors.Join(tx.DeleteSession(ws, place), approvals.ErrConflict)
	})
	if !errors.Is(err, approvals.ErrConflict) {
		s.Errorf("update: %v", err)
	}
	if n := len(s.memory(place)); n != 3 {
		s.Errorf("a deletion that failed left %d of 3 chunks", n)
	}
	s.update(func(tx approvals.Tx) error { return tx.DeleteSession(ws, place) })
	same(s, "memory", nil, s.memory(place))
	s.reopen()
	s.remember(place, "run_1", `["anew"]`) // the key is free again
	same(s, "memory", []string{`["anew"]`}, s.memory(place))
	same(s, "memory elsewhere", []string{`["elsewhere"]`}, s.memory(elsewhere))
}
