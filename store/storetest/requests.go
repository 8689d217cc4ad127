package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"countersign/approvals"
)

func requests() []promise {
	return []promise{
		{"RequestHead", "what was asked cannot change by deciding it", testRequestHead},
		{"RequestHeadMissing", "a decision about a request that is gone must not bring half of it back",
			testRequestHeadMissing},
		{"Requests", "a list of people's requests is read at once, and some of them may be gone", testRequests},
		{"RequestsOfRun", "a run is resumed with all of its answers", testRequestsOfRun},
		{"RequestsOfRuns", "a list of people's requests says of each what waits beside it", testRequestsOfRuns},
		{"PendingOf", "a limit on what one person asks for counts what waits", testPendingOf},
	}
}

// expectRequest checks that all ways to a request say what it is.
func (s *suite) expectRequest(want *approvals.Request) {
	s.Helper()
	heads := []*approvals.RequestHead{&want.RequestHead}
	s.view(func(tx approvals.Tx) error {
		whole, err1 := tx.Request(want.Workspace, want.ID)
		several, err2 := tx.Requests(want.Workspace, []approvals.RequestID{want.ID})
		head, err3 := tx.RequestHead(want.Workspace, want.ID)
		page, _, err4 := tx.QueryRequests(approvals.RequestQuery{Workspace: want.Workspace, Limit: 10})
		ofRun, err5 := tx.RequestsOfRun(want.Workspace, want.Run)
		same(s, "Request", []*approvals.Request{want}, []*approvals.Request{whole})
		same(s, "Requests", []*approvals.Request{want}, several)
		same(s, "RequestHead", heads, []*approvals.RequestHead{head})
		same(s, "QueryRequests", heads, page)
		same(s, "RequestsOfRun", heads, ofRun)
		return errors.Join(err1, err2, err3, err4, err5)
	})
}

func testRequestHead(s *suite) {
	q := filled[approvals.Request](1)
	s.update(func(tx approvals.Tx) error { return tx.PutRequest(q) })
	before := q.RequestHead
	q.RequestHead = filled[approvals.Request](2).RequestHead
	q.Workspace, q.ID, q.Run = before.Workspace, before.ID, before.Run // of the same request
	s.update(func(tx approvals.Tx) error {
		err := tx.PutRequestHead(&q.RequestHead)
		got, err2 := tx.Request(q.Workspace, q.ID)
		same(s, "in the same transaction", []*approvals.Request{q}, []*approvals.Request{got})
		return errors.Join(err, err2)
	})
	s.expectRequest(q)
	s.reopen()
	s.expectRequest(q)
	whole := filled[approvals.Request](3)
	whole.Workspace, whole.ID, whole.Run = q.Workspace, q.ID, q.Run
	whole.Arguments = json.RawMessage(`{}`)
	if reflect.DeepEqual(whole.RequestContent, q.RequestContent) {
		s.Fatal("control: the content does not differ")
	}
	s.update(func(tx approvals.Tx) error { return tx.PutRequest(whole) })
	s.expectRequest(whole)
}

func testRequestHeadMissing(s *suite) {
	put := func() error {
		return s.store.Update(s.ctx, func(tx approvals.Tx) error {
			return tx.PutRequestHead(head("req_1", approvals.RequestPending))
		})
	}
	if err := put(); !errors.Is(err, approvals.ErrNotFound) {
		s.Errorf("the head of a request that is not there: %v, want ErrNotFound", err)
	}
	s.expect(false)
	s.update(func(tx approvals.Tx) error { return tx.PutRequest(request("req_1", approvals.RequestPending)) })
	s.must(put())
	s.update(func(tx approvals.Tx) error { return tx.DeleteRequest(ws, "req_1") })
	if err := put(); !errors.Is(err, approvals.ErrNotFound) {
		s.Errorf("the head of a request that was deleted: %v, want ErrNotFound", err)
	}
	s.expect(false)
}

func testRequests(s *suite) {
	elsewhere := request("req_5", approvals.RequestPending)
	elsewhere.Workspace = other
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutRequest(request("req_1", approvals.RequestApproved)),
			tx.PutRequest(request("req_2", approvals.RequestPending)),
			tx.PutRequest(request("req_3", approvals.RequestStale)), tx.PutRequest(elsewhere))
	})
	for _, c := range []struct{ ask, want []approvals.RequestID }{
		{[]approvals.RequestID{"req_3", "req_1", "req_2"}, []approvals.RequestID{"req_3", "req_1", "req_2"}},
		{[]approvals.RequestID{"req_9", "req_2", "", "req_5", "req_1"}, []approvals.RequestID{"req_2", "req_1"}},
		{[]approvals.RequestID{"req_2", "req_1", "req_2"}, []approvals.RequestID{"req_2", "req_1", "req_2"}},
		{[]approvals.RequestID{"req_"}, nil},
		{nil, nil},
	} {
		s.view(func(tx approvals.Tx) error {
			list, err := tx.Requests(ws, c.ask)
			same(s, "requests", c.want, idsOf(list, func(r *approvals.Request) approvals.RequestID { return r.ID }))
			for _, r := range list {
				if string(r.Arguments) != `{}` {
					s.Errorf("%s came without its arguments", r.ID)
				}
			}
			return err
		})
	}
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
	s.update(func(tx approvals.Tx) error { return tx.PutRequestHead(head("req_1", approvals.RequestApproved)) })
	s.view(func(tx approvals.Tx) error {
		list, err := tx.RequestsOfRun(ws, "run_1")
		same(s, "requests of the run", []approvals.RequestID{"req_1", "req_3"}, idsOf(list, headID))
		same(s, "their statuses", []approvals.RequestStatus{approvals.RequestApproved, approvals.RequestPending},
			idsOf(list, func(r *approvals.RequestHead) approvals.RequestStatus { return r.Status }))
		return err
	})
}

func testRequestsOfRuns(s *suite) {
	s.update(func(tx approvals.Tx) error {
		put := func(id approvals.RequestID, run approvals.RunID, w approvals.WorkspaceID) error {
			r := request(id, approvals.RequestPending)
			r.Workspace, r.Run = w, run
			return tx.PutRequest(r)
		}
		return errors.Join(put("req_3", "run_1", ws), put("req_1", "run_1", ws), put("req_2", "run_2", ws),
			put("req_4", "run_10", ws), put("req_5", "run_2", other))
	})
	s.update(func(tx approvals.Tx) error { return tx.PutRequestHead(head("req_1", approvals.RequestApproved)) })
	for _, c := range []struct {
		runs []approvals.RunID
		want []approvals.RequestID
	}{
		{[]approvals.RunID{"run_2", "run_1"}, []approvals.RequestID{"req_2", "req_1", "req_3"}},
		{[]approvals.RunID{"run_1", "", "run_9", "run_10"}, []approvals.RequestID{"req_1", "req_3", "req_4"}},
		{[]approvals.RunID{"run_1"}, []approvals.RequestID{"req_1", "req_3"}},
		{[]approvals.RunID{"run_2", "run_10", "run_2"}, []approvals.RequestID{"req_2", "req_4", "req_2"}},
		{[]approvals.RunID{"run_"}, nil},
		{nil, nil},
	} {
		s.view(func(tx approvals.Tx) error {
			list, err := tx.RequestsOfRuns(ws, c.runs)
			same(s, fmt.Sprintf("requests of %v", c.runs), c.want, idsOf(list, headID))
			for _, r := range list {
				if approved := r.Status == approvals.RequestApproved; approved != (r.ID == "req_1") {
					s.Errorf("%s is %s", r.ID, r.Status)
				}
			}
			return err
		})
	}
}

func testPendingOf(s *suite) {
	put := func(w approvals.WorkspaceID, id approvals.RequestID, by approvals.UserID, status approvals.RequestStatus) {
		r := request(id, status)
		r.Workspace, r.Requester = w, by
		s.update(func(tx approvals.Tx) error { return tx.PutRequest(r) })
	}
	expect := func(by approvals.UserID, want int) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			n, err := tx.PendingOf(ws, by)
			if n != want {
				s.Errorf("%d requests of %s are pending, want %d", n, by, want)
			}
			return err
		})
	}
	put(ws, "req_1", "T1/U1", approvals.RequestPending)
	put(ws, "req_2", "T1/U1", approvals.RequestPending)
	put(ws, "req_3", "T1/U1", approvals.RequestApproved)
	put(ws, "req_4", "T1/U11", approvals.RequestPending)
	put(other, "req_5", "T1/U1", approvals.RequestPending)
	put(ws, "req_1", "T1/U1", approvals.RequestPending) // again: still one
	expect("T1/U1", 2)
	expect("T1/U11", 1)
	expect("T1/U", 0)
	s.update(func(tx approvals.Tx) error { return tx.PutRequestHead(head("req_1", approvals.RequestExpired)) })
	s.reopen()
	expect("T1/U1", 1)
}
