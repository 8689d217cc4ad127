package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/approvals"
)

func deletions() []promise {
	return []promise{
		{"DeleteRequest", "a request outlives its run, and goes whole when its own time has come", testDeleteRequest},
		{"Events", "what was heard once is forgotten when nobody can repeat it any more", testEvents},
		{"Sessions", "a conversation that nobody continues is found by its age", testSessions},
	}
}

func testDeleteRequest(s *suite) {
	s.update(func(tx approvals.Tx) error {
		return errors.Join(everything(tx), putWhole(tx, "run_2", "a", "b"), tx.PutCallback(callback("req_a", 1)),
			tx.PutCallback(callback("req_b", 2)))
	})
	s.update(func(tx approvals.Tx) error { return tx.DeleteRun(ws, "run_2") })
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
		return errors.Join(tx.DeleteRequest(ws, "req_a"), approvals.ErrConflict)
	})
	if !errors.Is(err, approvals.ErrConflict) {
		s.Errorf("update: %v", err)
	}
	expect := func(want ...approvals.RequestID) {
		s.Helper()
		all := approvals.RequestQuery{Workspace: ws, Limit: 10}
		same(s, "requests", want, s.query(all))
		all.Status = approvals.RequestPending
		same(s, "pending requests", want, s.query(all))
		s.view(func(tx approvals.Tx) error {
			n, err1 := tx.PendingOf(ws, "T1/U1")
			ofRun, err2 := tx.RequestsOfRun(ws, "run_2")
			whole, err3 := tx.Requests(ws, []approvals.RequestID{"req_1", "req_a", "req_b"})
			if n != len(want) || len(ofRun) != len(want)-1 || len(whole) != len(want) {
				s.Errorf("%d pending, %d of the deleted run and %d whole requests, want %d, %d and %d",
					n, len(ofRun), len(whole), len(want), len(want)-1, len(want))
			}
			return errors.Join(err1, err2, err3)
		})
	}
	expect("req_1", "req_a", "req_b")
	s.update(func(tx approvals.Tx) error {
		if err := tx.DeleteRequest(ws, "req_a"); err != nil {
			return err
		}
		if _, err := tx.Request(ws, "req_a"); !errors.Is(err, approvals.ErrNotFound) {
			s.Errorf("request in the transaction that deletes it: %v, want ErrNotFound", err)
		}
		return tx.DeleteRequest(other, "req_b")
	})
	s.reopen()
	expect("req_1", "req_b")
	s.expectCallback(ws, "req_a", nil)
	s.view(func(tx approvals.Tx) error {
		_, err := tx.Callback(ws, "req_b")
		return err
	})
	s.expect(true)
}

func testEvents(s *suite) {
	start := now().Truncate(time.Second).Add(7 * time.Microsecond)
	record := func(w approvals.WorkspaceID, event string, minute int) {
		s.Helper()
		s.update(func(tx approvals.Tx) error {
			_, err := tx.Once(w, event, start.Add(time.Duration(minute)*time.Minute))
			return err
		})
	}
	expect := func(after string, limit int, want ...string) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			list, err := tx.Events(ws, after, limit)
			got := idsOf(list, func(e approvals.Event) string {
				return fmt.Sprint(e.Key, " at minute ", e.At.Sub(start).Minutes())
			})
			same(s, fmt.Sprintf("events behind %q, at most %d", after, limit), want, got)
			return err
		})
	}
	record(ws, "c", 1)
	record(ws, "a\x00", 2)
	record(ws, "a", 3)
	record(ws, "b", 4)
	record(ws, "c", 5) // heard before: it keeps its time
	record(other, "d", 6)
	s.reopen()
	expect("", 10, "a at minute 3", "a\x00 at minute 2", "b at minute 4", "c at minute 1")
	expect("", 2, "a at minute 3", "a\x00 at minute 2")
	expect("a", 2, "a\x00 at minute 2", "b at minute 4")
	expect("c", 2)
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.DeleteEvent(ws, "a"), tx.DeleteEvent(ws, "d"), tx.DeleteEvent(ws, "none"))
	})
	s.reopen()
	expect("", 10, "a\x00 at minute 2", "b at minute 4", "c at minute 1")
	record(ws, "a", 7)
	expect("", 1, "a at minute 7")
	s.view(func(tx approvals.Tx) error {
		list, err := tx.Events(other, "", 10)
		if len(list) != 1 {
			s.Errorf("events of the other workspace: %v", list)
		}
		return err
	})
}

// appended is when the memory of the place was added to.
func (s *suite) appended(p approvals.Place) (at time.Time) {
	s.Helper()
	s.view(func(tx approvals.Tx) (err error) {
		at, err = tx.SessionAppended(ws, p)
		return err
	})
	return at
}

func testSessions(s *suite) {
	at := func(surface, channel, thread string) approvals.Place {
		return approvals.Place{Surface: surface, Channel: channel, Thread: thread}
	}
	all := []approvals.Place{at("s", "C", "1"), at("s", "C", "2"), at("s", "C1", ""), at("s1", "C", "1")}
	for _, p := range slices.Backward(all) {
		for i := range 3 {
			s.remember(p, fmt.Sprint("run_", 9-i), "[1]")
		}
	}
	s.update(func(tx approvals.Tx) error {
		return tx.AppendSession(other, at("t", "C", "1"), "run_1", json.RawMessage("[1]"))
	})
	expect := func(after approvals.Place, limit int, want ...approvals.Place) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			got, err := tx.Sessions(ws, after, limit)
			same(s, fmt.Sprintf("places behind %v, at most %d", after, limit), want, got)
			return err
		})
	}
	s.reopen()
	expect(approvals.Place{}, 10, all...)
	expect(approvals.Place{}, 2, all[:2]...)
	expect(all[1], 1, all[2])
	expect(all[3], 10)
	first := s.appended(all[0])
	if older := s.appended(all[1]); first.Before(older) {
		s.Errorf("the memory that was added to last is of %v, that before it of %v", first, older)
	}
	s.remember(all[0], "run_9", "[2]") // is there already
	if got := s.appended(all[0]); !got.Equal(first) {
		s.Errorf("nothing was added at %v; before it was %v", got, first)
	}
	before := s.now()
	for ; !before.After(first); before = s.now() {
		time.Sleep(time.Microsecond) // until the clock has moved on
	}
	s.remember(all[0], "run_a", "[2]")
	s.reopen()
	if got := s.appended(all[0]); got.Before(before) || got.After(s.now()) {
		s.Errorf("added to at %v, want between %v and now", got, before)
	}
	s.update(func(tx approvals.Tx) error { return tx.DeleteSession(ws, all[0]) })
	expect(approvals.Place{}, 10, all[1:]...)
	for _, p := range []approvals.Place{all[0], at("none", "C", "1")} {
		s.view(func(tx approvals.Tx) error {
			// Zero would say that there is memory of a time that nobody noted, which is then kept for good.
			if got, err := tx.SessionAppended(ws, p); !errors.Is(err, approvals.ErrNotFound) {
				s.Errorf("a place without memory was added to at %v: %v", got, err)
			}
			return nil
		})
	}
}
