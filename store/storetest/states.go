package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"countersign/agent"
	"countersign/approvals"
)

func states() []promise {
	return []promise{
		{"State", "a long run is saved piece by piece, and a repeated piece replaces what it repeats", testState},
		{"BigState", "a state of 1 MiB is not unusual", testBigState},
		{"StateTail", "who shows what an agent did last must not read all it ever did", testStateTail},
		{"StateTailCost", "a long run must not make its last words dear", testStateTailCost},
		{"DeleteState", "a state of many megabytes is deleted in small transactions, which others can get between",
			testDeleteState},
	}
}

func chunk(head string, from, count int, items string) agent.Delta {
	d := agent.Delta{Head: json.RawMessage(head), From: from, Count: count}
	if count > 0 {
		d.Items = json.RawMessage(items)
	}
	return d
}

func (s *suite) putState(d agent.Delta) {
	s.Helper()
	s.update(func(tx approvals.Tx) error { return tx.PutState(ws, "run_1", d) })
}

// expectState checks head and chunks.
func (s *suite) expectState(head string, want ...string) {
	s.Helper()
	s.view(func(tx approvals.Tx) error {
		h, chunks, err := tx.State(ws, "run_1")
		same(s, "head of state", []string{head}, []string{string(h)})
		same(s, "chunks of state", want, texts(chunks))
		return err
	})
}

func texts(chunks []json.RawMessage) []string {
	return idsOf(chunks, func(m json.RawMessage) string { return string(m) })
}

func testState(s *suite) {
	s.putState(chunk(`"h1"`, 0, 2, `[1,2]`))
	s.putState(chunk(`"h2"`, 2, 300, `["a"]`))
	s.putState(chunk(`"h3"`, 302, 1, `["b"]`))
	s.expectState(`"h3"`, `[1,2]`, `["a"]`, `["b"]`)
	s.putState(chunk(`"h4"`, 302, 0, ``))
	s.expectState(`"h4"`, `[1,2]`, `["a"]`, `["b"]`)
	s.putState(chunk(`"h5"`, 2, 1, `["c"]`))
	s.expectState(`"h5"`, `[1,2]`, `["c"]`)
	s.update(func(tx approvals.Tx) error {
		return tx.PutState(ws, "run_10", agent.Delta{
			Head: json.RawMessage(`"x"`), Count: 1, Items: json.RawMessage(`[]`),
		})
	})
	s.expectState(`"h5"`, `[1,2]`, `["c"]`)
}

func testBigState(s *suite) {
	big := json.RawMessage(fmt.Sprintf("%q", bytes.Repeat([]byte{'x'}, 1<<20)))
	for from := range 3 {
		s.putState(agent.Delta{Head: big, From: from, Count: 1, Items: big})
	}
	s.reopen()
	s.view(func(tx approvals.Tx) error {
		head, chunks, err := tx.State(ws, "run_1")
		for _, part := range append(chunks, head) {
			if !bytes.Equal(part, big) {
				s.Errorf("%d bytes came back of %d", len(part), len(big))
			}
		}
		if len(chunks) != 3 {
			s.Errorf("%d chunks, want 3", len(chunks))
		}
		return err
	})
}

// tail is what a call for a tail of so many bytes should say.
type tail struct {
	bytes int
	want  []string
	older int
}

func (s *suite) expectTails(read func(tx approvals.Tx, bytes int) ([]json.RawMessage, int, error), tails ...tail) {
	s.Helper()
	s.view(func(tx approvals.Tx) error {
		for _, c := range tails {
			chunks, older, err := read(tx, c.bytes)
			if err != nil {
				return err
			}
			same(s, fmt.Sprintf("%d bytes", c.bytes), c.want, texts(chunks))
			if older != c.older {
				s.Errorf("%d bytes: %d older chunks, want %d", c.bytes, older, c.older)
			}
		}
		return nil
	})
}

func testStateTail(s *suite) {
	read := func(tx approvals.Tx, bytes int) ([]json.RawMessage, int, error) {
		return tx.StateTail(ws, "run_1", bytes)
	}
	s.putState(chunk(`"a head that is longer than all chunks"`, 0, 0, ``))
	s.expectTails(read, tail{100, nil, 0}, tail{0, nil, 0})
	a, b, c := `"aaaaaaaa"`, `"bbbbbbbbbbbbbbbbbb"`, `"cccccccccccccccccccccccccccc"` // 10, 20 and 30 bytes
	s.putState(chunk(`"h"`, 0, 9, a))
	s.putState(chunk(`"h"`, 9, 291, b))
	s.putState(chunk(`"h"`, 300, 1, c))
	s.expectTails(read, tail{1000, []string{a, b, c}, 0}, tail{60, []string{a, b, c}, 0}, tail{59, []string{b, c}, 1},
		tail{50, []string{b, c}, 1}, tail{49, []string{c}, 2}, tail{30, []string{c}, 2},
		tail{29, nil, 3}, tail{1, nil, 3}, tail{0, nil, 3}, tail{-1, nil, 3},
		tail{math.MinInt, nil, 3}, tail{math.MaxInt, []string{a, b, c}, 0})
	s.putState(chunk(`"h"`, 300, 1, a))
	s.reopen()
	s.expectTails(read, tail{29, []string{a}, 2}, tail{30, []string{b, a}, 1})
}

// testStateTailCost compares with reading all. Its times mean nothing where time stands still.
func testStateTailCost(s *suite) {
	const chunks, size = 64, 128 << 10
	big := json.RawMessage(fmt.Sprintf("%q", bytes.Repeat([]byte{'x'}, size)))
	s.update(func(tx approvals.Tx) error {
		var err error
		for i := range chunks {
			d := agent.Delta{Head: json.RawMessage(`{}`), From: i, Count: 1, Items: big}
			err = errors.Join(err, tx.PutState(ws, "run_1", d))
		}
		return err
	})
	read := func(fn func(tx approvals.Tx) error) func() {
		return func() { s.view(fn) }
	}
	whole := cost(20, 0, read(func(tx approvals.Tx) error {
		_, _, err := tx.State(ws, "run_1")
		return err
	}))
	newest := cost(500, whole/4, read(func(tx approvals.Tx) error {
		_, older, err := tx.StateTail(ws, "run_1", 2*size)
		if older != chunks-1 {
			s.Errorf("%d older chunks, want %d", older, chunks-1)
		}
		return err
	}))
	s.Logf("a tail takes %v, all %v", newest, whole)
	if newest > whole/4 {
		s.Errorf("a tail takes %v, all %v", newest, whole)
	}
}

func testDeleteState(s *suite) {
	fill := func() {
		for i, items := range []string{`[0]`, `[1]`, `[2]`, `[3]`, `[4]`} {
			s.putState(chunk(`"h"`, i*100, 1, items))
		}
	}
	remove := func(limit int, want bool) {
		s.Helper()
		s.update(func(tx approvals.Tx) error {
			more, err := tx.DeleteState(ws, "run_1", limit)
			if more != want {
				s.Errorf("deleting %d more: there is more %v, want %v", limit, more, want)
			}
			_, _, err1 := tx.State(ws, "run_1")
			_, _, err2 := tx.StateTail(ws, "run_1", 1000)
			if !errors.Is(err1, approvals.ErrNotFound) || !errors.Is(err2, approvals.ErrNotFound) {
				s.Errorf("the state is still there: %v, %v", err1, err2)
			}
			return err
		})
	}
	s.update(func(tx approvals.Tx) error { return tx.PutState(ws, "run_10", chunk(`"x"`, 0, 1, `[]`)) })
	fill()
	remove(2, true)
	s.putState(chunk(`"again"`, 500, 0, ``))
	s.expectState(`"again"`, `[2]`, `[3]`, `[4]`)
	remove(2, true)
	remove(1, false)
	remove(1, false)
	fill()
	remove(0, false)
	s.putState(chunk(`"new"`, 0, 1, `["new"]`))
	s.expectState(`"new"`, `["new"]`)
	remove(-1, false)
	fill()
	remove(5, false)
	s.view(func(tx approvals.Tx) error {
		_, chunks, err := tx.State(ws, "run_10")
		if len(chunks) != 1 {
			s.Error("the state of another run went too")
		}
		return err
	})
}
