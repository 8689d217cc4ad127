package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/approvals"
)

func lists() []promise {
	return []promise{
		{"BytewiseOrder", "pages continue where they ended, whatever the collation of the database", testBytewiseOrder},
		{"PendingPages", "what waits is listed, and nothing else", testPendingPages},
		{"PendingCost", "people open the list for years: it must not slow down with what was ever decided", testPendingCost},
		{"RequestsOfRun", "a run is resumed with all of its answers", testRequestsOfRun},
		{"ActiveRun", "one run at a time in a thread, and the next one when that has ended", testActiveRun},
		{"ActiveRuns", "limits per person and per channel count what is under way", testActiveRuns},
		{"PlaceIdentity", "what a channel is does not make it another conversation", testPlaceIdentity},
		{"Outbox", "a conversation reads in order, and what was not delivered is delivered again", testOutbox},
	}
}

// oddIDs are ids in the order of their bytes, which is not that of any language.
var oddIDs = []string{"B", "Z10", "Z9", "_", "a", "a\x00b", "a!", "aa", "a|b", "b", "ä", "\U0001f4b8"}

func testBytewiseOrder(s *suite) {
	ids := slices.Clone(oddIDs)
	slices.Reverse(ids)
	s.update(func(tx approvals.Tx) error {
		for _, id := range ids {
			err := errors.Join(
				tx.PutRequest(request(approvals.RequestID(id), approvals.RequestPending)),
				tx.PutNotification(notification(approvals.NotificationID(id))))
			if err != nil {
				return err
			}
		}
		return nil
	})
	s.view(func(tx approvals.Tx) error {
		pending, err1 := tx.PendingRequests(ws, "", 100)
		ofRun, err2 := tx.RequestsOfRun(ws, "run_1")
		outbox, err3 := tx.Notifications(ws, place, 100)
		var sent []string
		for _, n := range outbox {
			sent = append(sent, string(n.ID))
		}
		for what, got := range map[string][]string{"pending": requestIDs(pending), "of run": requestIDs(ofRun), "outbox": sent} {
			if d := diff(oddIDs, got); d != "" {
				s.Errorf("%s (-want +got):\n%s", what, d)
			}
		}
		for i, id := range oddIDs {
			rest, err := tx.PendingRequests(ws, approvals.RequestID(id), 100)
			if d := diff(oddIDs[i+1:], requestIDs(rest)); err != nil || d != "" {
				s.Errorf("after %q: %v (-want +got):\n%s", id, err, d)
			}
		}
		return errors.Join(err1, err2, err3)
	})
}

func requestIDs(list []*approvals.Request) []string {
	var ids []string
	for _, r := range list {
		ids = append(ids, string(r.ID))
	}
	return ids
}

func testPendingPages(s *suite) {
	statuses := []approvals.RequestStatus{approvals.RequestApproved, approvals.RequestRejected, approvals.RequestExpired,
		approvals.RequestCancelled, approvals.RequestStale}
	s.update(func(tx approvals.Tx) error {
		for i := range 10 {
			if err := tx.PutRequest(request(approvals.RequestID(fmt.Sprint("req_", i)), approvals.RequestPending)); err != nil {
				return err
			}
		}
		for i, status := range statuses { // the odd ones are settled
			if err := tx.PutRequest(request(approvals.RequestID(fmt.Sprint("req_", 2*i+1)), status)); err != nil {
				return err
			}
		}
		return nil
	})
	page := func(after approvals.RequestID, limit int, want ...string) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			got, err := tx.PendingRequests(ws, after, limit)
			if d := diff(want, requestIDs(got)); d != "" {
				s.Errorf("page after %q (-want +got):\n%s", after, d)
			}
			return err
		})
	}
	page("", 2, "req_0", "req_2")
	page("req_2", 2, "req_4", "req_6")
	page("req_6", 2, "req_8")
	page("req_8", 2)
	page("req_3", 1, "req_4") // not pending itself
	page("", 0)
	page("", -1)
	s.update(func(tx approvals.Tx) error {
		return errors.Join(
			tx.PutRequest(request("req_0", approvals.RequestStale)),
			tx.PutRequest(request("req_1", approvals.RequestPending))) // stores know no rules
	})
	page("", 2, "req_1", "req_2")
}

// pageCost is the shortest time that a page of pending requests takes.
func (s *suite) pageCost() time.Duration {
	best := time.Hour
	for range 20 {
		begin := time.Now()
		s.view(func(tx approvals.Tx) error {
			list, err := tx.PendingRequests(ws, "", 20)
			if len(list) != 20 {
				s.Fatalf("%d pending requests, want 20", len(list))
			}
			return err
		})
		best = min(best, time.Since(begin))
	}
	return best
}

func testPendingCost(s *suite) {
	if s.harness.Scans {
		s.Skip("the store does not promise it")
	}
	const decided, batch = 6000, 1000
	s.putMany("req_p", 20, approvals.RequestPending)
	few := s.pageCost()
	for i := range decided / batch {
		s.putMany(fmt.Sprint("req_a", i), batch/2, approvals.RequestApproved)
		s.putMany(fmt.Sprint("req_z", i), batch/2, approvals.RequestRejected)
	}
	many := s.pageCost()
	s.Logf("a page takes %v with 20 requests and %v with %d", few, many, decided+20)
	if many > 8*few {
		s.Errorf("a page takes %v with 20 requests and %v with %d", few, many, decided+20)
	}
}

func (s *suite) putMany(prefix string, n int, status approvals.RequestStatus) {
	s.update(func(tx approvals.Tx) error {
		for i := range n {
			r := request(approvals.RequestID(fmt.Sprintf("%s_%05d", prefix, i)), status)
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
}

func testRequestsOfRun(s *suite) {
	s.update(func(tx approvals.Tx) error {
		near := request("req_2", approvals.RequestPending)
		near.Run = "run_10"
		return errors.Join(
			tx.PutRequest(request("req_3", approvals.RequestPending)),
			tx.PutRequest(request("req_1", approvals.RequestPending)),
			tx.PutRequest(near))
	})
	s.update(func(tx approvals.Tx) error { return tx.PutRequest(request("req_1", approvals.RequestApproved)) })
	s.view(func(tx approvals.Tx) error {
		list, err := tx.RequestsOfRun(ws, "run_1")
		if d := diff([]string{"req_1", "req_3"}, requestIDs(list)); d != "" {
			s.Errorf("requests of the run (-want +got):\n%s", d)
		}
		return err
	})
}

func testActiveRun(s *suite) {
	expect := func(p approvals.Place, want approvals.RunID) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			r, err := tx.ActiveRun(ws, p)
			if want == "" && errors.Is(err, approvals.ErrNotFound) {
				return nil
			}
			if err == nil && r.ID != want {
				s.Errorf("active run %q, want %q", r.ID, want)
			}
			return err
		})
	}
	for _, status := range []approvals.RunStatus{approvals.RunQueued, approvals.RunRunning, approvals.RunWaiting} {
		s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_1", status)) })
		expect(place, "run_1")
	}
	for _, status := range []approvals.RunStatus{approvals.RunDone, approvals.RunFailed, approvals.RunCancelled} {
		s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_1", status)) })
		expect(place, "")
		s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_2", approvals.RunQueued)) })
		expect(place, "run_2")
		s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_2", status)) })
	}
	s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_3", approvals.RunWaiting)) })
	s.reopen()
	for _, p := range []approvals.Place{
		{Surface: "slack2", Channel: place.Channel, Thread: place.Thread},
		{Surface: place.Surface, Channel: "C11", Thread: place.Thread},
		{Surface: place.Surface, Channel: place.Channel, Thread: ""},
		{Surface: place.Surface, Channel: place.Channel + place.Thread},
	} {
		expect(p, "")
	}
	expect(place, "run_3")
	direct := place
	direct.Direct = true // describes the channel, and is no part of the place's identity
	expect(direct, "run_3")
}

func testActiveRuns(s *suite) {
	put := func(id approvals.RunID, requester approvals.UserID, channel string, status approvals.RunStatus) {
		r := run(id, status)
		r.Requester, r.Place.Channel, r.Place.Thread = requester, channel, string(id)
		s.update(func(tx approvals.Tx) error { return tx.PutRun(r) })
	}
	put("run_1", "T1/U1", "C1", approvals.RunQueued)
	put("run_2", "T1/U1", "C2", approvals.RunWaiting)
	put("run_3", "T1/U2", "C1", approvals.RunRunning)
	put("run_4", "T1/U1", "C1", approvals.RunDone)
	put("run_5", "T1/U11", "C11", approvals.RunQueued)
	put("run_3", "T1/U2", "C1", approvals.RunWaiting) // again: still one
	put("run_6", "T1/U1", "C1", approvals.RunQueued)
	put("run_6", "T1/U1", "C1", approvals.RunFailed)
	s.view(func(tx approvals.Tx) error {
		for _, c := range []struct {
			requester approvals.UserID
			channel   string
			want      int
		}{{"T1/U1", "", 2}, {"T1/U2", "", 1}, {"T1/U", "", 0}, {"", "C1", 2}, {"", "C2", 1}, {"", "C", 0}} {
			n, err := tx.ActiveRuns(ws, c.requester, c.channel)
			if err != nil || n != c.want {
				s.Errorf("active runs of %q in %q: %d, %v, want %d", c.requester, c.channel, n, err, c.want)
			}
		}
		return nil
	})
}

func testPlaceIdentity(s *suite) {
	direct := place
	direct.Direct = true
	n := notification("ntf_1")
	n.Place = direct
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutNotification(n), tx.AppendSession(ws, direct, "run_1", json.RawMessage("[1]")),
			tx.AppendSession(ws, place, "run_1", json.RawMessage("[2]")))
	})
	s.view(func(tx approvals.Tx) error {
		for _, p := range []approvals.Place{place, direct} {
			list, err1 := tx.Notifications(ws, p, 10)
			chunks, err2 := tx.Session(ws, p)
			if err := errors.Join(err1, err2); err != nil || len(list) != 1 || len(chunks) != 1 {
				s.Errorf("direct %v: %d notifications, %d chunks, %v; want 1 and 1", p.Direct, len(list), len(chunks), err)
			}
			if len(list) == 1 && !list[0].Place.Direct {
				s.Error("the record says less than what was put")
			}
		}
		return nil
	})
	n.Place = place
	s.update(func(tx approvals.Tx) error { return tx.DeleteNotification(n) })
	s.view(func(tx approvals.Tx) error {
		list, err := tx.Notifications(ws, direct, 10)
		if len(list) != 0 {
			s.Error("a notification was not found again to delete it")
		}
		return err
	})
}

func testOutbox(s *suite) {
	expect := func(limit int, want ...string) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			list, err := tx.Notifications(ws, place, limit)
			var got []string
			for _, n := range list {
				got = append(got, fmt.Sprint(n.ID, "/", n.Attempts))
			}
			if d := diff(want, got); d != "" {
				s.Errorf("outbox (-want +got):\n%s", d)
			}
			return err
		})
	}
	elsewhere := notification("ntf_2")
	elsewhere.Place.Thread += "1"
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutNotification(notification("ntf_3")), tx.PutNotification(notification("ntf_1")),
			tx.PutNotification(elsewhere), tx.PutNotification(notification("ntf_2")))
	})
	expect(10, "ntf_1/0", "ntf_2/0", "ntf_3/0")
	expect(2, "ntf_1/0", "ntf_2/0")
	expect(0)
	expect(-1)
	tried := notification("ntf_1")
	tried.Attempts = 1
	s.update(func(tx approvals.Tx) error { return tx.PutNotification(tried) })
	s.reopen()
	expect(2, "ntf_1/1", "ntf_2/0")
	s.update(func(tx approvals.Tx) error { return tx.DeleteNotification(tried) })
	s.update(func(tx approvals.Tx) error { return tx.DeleteNotification(tried) }) // told twice
	expect(10, "ntf_2/0", "ntf_3/0")
}
