package storetest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"countersign/approvals"
)

func queries() []promise {
	return []promise{
		{"Query", "people look for requests by what they remember of them", testQuery},
		{"QueryPages", "a list that shows every match must not miss one, however rare they are", testQueryPages},
		{"NewestFirst", "people look at what was decided last, and at the page before that", testNewestFirst},
		{"PendingPages", "what waits is listed, and nothing else", testPendingPages},
		{"PendingCost",
			"people open the list for years: it must not slow down with what was ever decided", testPendingCost},
	}
}

// query follows a query to its end, each page in a transaction of its own.
func (s *suite) query(q approvals.RequestQuery) []approvals.RequestID {
	s.Helper()
	var ids []approvals.RequestID
	for {
		var page []*approvals.RequestHead
		var next approvals.RequestID
		s.view(func(tx approvals.Tx) (err error) {
			page, next, err = tx.QueryRequests(q)
			return err
		})
		if len(page) > q.Limit {
			s.Errorf("a page of %d, at most %d asked for", len(page), q.Limit)
		}
		ids = append(ids, idsOf(page, headID)...)
		if next == "" {
			return ids
		}
		if !q.Newest && next <= q.After || q.Newest && q.After != "" && next >= q.After {
			s.Fatalf("a page after %q goes on after %q", q.After, next)
		}
		q.After = next
	}
}

// searchable puts requests that differ in every way they can be looked for.
func (s *suite) searchable() (start time.Time) {
	start = now()
	s.update(func(tx approvals.Tx) error {
		var err error
		put := func(id approvals.RequestID, change func(r *approvals.Request)) {
			r := request(id, approvals.RequestPending)
			r.Tool.Name, r.Agent, r.Created = "pay", "clerk", start
			change(r)
			err = errors.Join(err, tx.PutRequest(r))
		}
		by := func(people ...approvals.UserID) (list []approvals.Decision) {
			for _, u := range people {
				list = append(list, approvals.Decision{By: u, Verdict: approvals.Approve})
			}
			return list
		}
		put("req_0", func(r *approvals.Request) {})
		put("req_1", func(r *approvals.Request) { r.Status = approvals.RequestApproved })
		put("req_2", func(r *approvals.Request) { r.Tool.Name = "pay_" })
		put("req_3", func(r *approvals.Request) { r.Agent = "Clerk" })
		put("req_4", func(r *approvals.Request) { r.Place.Channel = "C11" })
		put("req_5", func(r *approvals.Request) { r.Run = "run_11" })
		put("req_6", func(r *approvals.Request) { r.Created = start.Add(time.Minute) })
		put("req_7", func(r *approvals.Request) { r.Created = start.Add(2 * time.Minute) })
		put("req_8", func(r *approvals.Request) { r.Requester = "T1/U2" })
		put("req_9", func(r *approvals.Request) { r.Requester, r.Decisions = "T1/U3", by("T1/U4", "T1/U2") })
		put("req_a", func(r *approvals.Request) {
			r.Requester, r.Status, r.Decisions = "T1/U3", "rejected", by("T1/U22")
		})
		broken := []approvals.Decision{{By: "T1/U22", Verdict: approvals.BreakGlass}}
		put("req_b", func(r *approvals.Request) { r.Status, r.Decisions = "approved", broken })
		put("req_c", func(r *approvals.Request) {
			r.Status, r.Decisions, r.Review = "approved", broken, &approvals.Review{By: "T1/U22"}
		})
		put("req_0", func(r *approvals.Request) { r.Workspace = other })
		return err
	})
	return start
}

func testQuery(s *suite) {
	start := s.searchable()
	all := []approvals.RequestID{
		"req_0", "req_1", "req_2", "req_3", "req_4", "req_5", "req_6", "req_7", "req_8", "req_9", "req_a",
		"req_b", "req_c",
	}
	without := func(out ...int) (ids []approvals.RequestID) {
		for i, id := range all {
			if len(out) > 0 && out[0] == i {
				out = out[1:]
				continue
			}
			ids = append(ids, id)
		}
		return ids
	}
	seen := map[string]bool{"Workspace": true, "Limit": true, "Newest": true}
	for _, c := range []struct {
		q    approvals.RequestQuery
		want []approvals.RequestID
	}{
		{approvals.RequestQuery{}, all},
		{approvals.RequestQuery{Status: approvals.RequestPending}, without(1, 10, 11, 12)},
		{approvals.RequestQuery{Status: approvals.RequestApproved}, []approvals.RequestID{"req_1", "req_b", "req_c"}},
		{approvals.RequestQuery{Unreviewed: true}, all[11:12]},
		{approvals.RequestQuery{Settled: true}, []approvals.RequestID{"req_1", "req_a", "req_b", "req_c"}},
		{approvals.RequestQuery{Settled: true, Status: approvals.RequestPending}, nil},
		{approvals.RequestQuery{Status: approvals.RequestCancelled}, nil},
		{approvals.RequestQuery{Tool: "pay"}, without(2)},
		{approvals.RequestQuery{Agent: "clerk"}, without(3)},
		{approvals.RequestQuery{Channel: "C1"}, without(4)},
		{approvals.RequestQuery{Run: "run_1"}, without(5)},
		{approvals.RequestQuery{From: start.Add(time.Minute)}, all[6:8]},
		{approvals.RequestQuery{To: start.Add(time.Minute)}, without(6, 7)},
		{approvals.RequestQuery{From: start.Add(time.Minute), To: start.Add(2 * time.Minute)}, all[6:7]},
		{approvals.RequestQuery{Person: "T1/U2"}, all[8:10]},
		{approvals.RequestQuery{Person: "T1/U4"}, all[9:10]},
		{approvals.RequestQuery{After: "req_3"}, all[4:]},
		{approvals.RequestQuery{After: "req_3x"}, all[4:]},
		{approvals.RequestQuery{Status: approvals.RequestPending, Person: "T1/U1", Tool: "pay", Agent: "clerk",
			Channel: "C1", Run: "run_1", From: start, To: start.Add(time.Minute)}, all[:1]},
	} {
		noteFields(seen, c.q)
		c.q.Workspace = ws
		for _, limit := range []int{1, 4, 100, math.MaxInt} {
			c.q.Limit = limit
			same(s, fmt.Sprintf("%+v", c.q), c.want, s.query(c.q))
		}
	}
	if n := reflect.TypeFor[approvals.RequestQuery]().NumField(); len(seen) != n {
		s.Errorf("control: the queries use %d of %d fields", len(seen), n)
	}
}

func testQueryPages(s *suite) {
	const many = 2500 // more than one call looks at
	rare := map[int]bool{0: true, 700: true, 701: true, 1999: true, 2499: true}
	var want []approvals.RequestID
	s.update(func(tx approvals.Tx) error {
		want = nil
		for i := range many {
			r := request(approvals.RequestID(fmt.Sprintf("req_%05d", i)), approvals.RequestApproved)
			if rare[i] {
				r.Tool.Name = "pay"
				want = append(want, r.ID)
			}
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	for _, limit := range []int{1, 2, 5, 100} {
		q := approvals.RequestQuery{Workspace: ws, Tool: "pay", Limit: limit}
		same(s, fmt.Sprintf("with limit %d", limit), want, s.query(q))
		q.Status = approvals.RequestApproved
		same(s, fmt.Sprintf("approved, with limit %d", limit), want, s.query(q))
	}
	if n := len(s.query(approvals.RequestQuery{Workspace: ws, Limit: 7})); n != many {
		s.Errorf("%d requests were listed, want %d", n, many)
	}
}

func testNewestFirst(s *suite) {
	const many = 1200 // more than one call looks at
	s.putMany("req", many, approvals.RequestApproved)
	s.update(func(tx approvals.Tx) error {
		for _, i := range []int{3, 700, 1150} {
			id := approvals.RequestID(fmt.Sprintf("req_%05d", i))
			if err := tx.PutRequestHead(head(id, approvals.RequestPending)); err != nil {
				return err
			}
		}
		another := request("req_x", approvals.RequestApproved)
		another.Workspace = other
		return tx.PutRequest(another)
	})
	for name, q := range map[string]approvals.RequestQuery{
		"all": {}, "settled": {Settled: true}, "pending": {Status: approvals.RequestPending},
		"of a run":   {Run: "run_1"},
		"before one": {After: "req_00700"}, "before none": {After: "req_00700x"},
		"pending before one": {Status: approvals.RequestPending, After: "req_00700"},
		"settled before one": {Settled: true, After: "req_00700"},
		"of a run before":    {Run: "run_1", After: "req_00700"},
	} {
		q.Workspace, q.Newest = ws, true
		forward := q
		forward.After, forward.Newest, forward.Limit = "", false, 100
		want := slices.DeleteFunc(s.query(forward), func(id approvals.RequestID) bool {
			return q.After != "" && id >= q.After
		})
		slices.Reverse(want)
		if len(want) == 0 {
			s.Fatalf("%s: there is nothing to list", name)
		}
		for _, limit := range []int{1, 2, 7, 100} {
			q.Limit = limit
			same(s, fmt.Sprintf("%s, the newest first, with limit %d", name, limit), want, s.query(q))
		}
	}
}

func testPendingPages(s *suite) {
	statuses := []approvals.RequestStatus{
		approvals.RequestApproved, approvals.RequestRejected, approvals.RequestExpired,
		approvals.RequestCancelled, approvals.RequestStale,
	}
	s.putMany("req", 10, approvals.RequestPending)
	s.update(func(tx approvals.Tx) error {
		for i, status := range statuses { // the odd ones are settled
			if err := tx.PutRequestHead(head(approvals.RequestID(fmt.Sprintf("req_%05d", 2*i+1)), status)); err != nil {
				return err
			}
		}
		return nil
	})
	pending := func(after approvals.RequestID, want ...approvals.RequestID) {
		s.Helper()
		for _, limit := range []int{1, 2, 100} {
			q := approvals.RequestQuery{Workspace: ws, Status: approvals.RequestPending, After: after, Limit: limit}
			same(s, fmt.Sprintf("pending after %q, with limit %d", after, limit), want, s.query(q))
		}
	}
	pending("", "req_00000", "req_00002", "req_00004", "req_00006", "req_00008")
	pending("req_00004", "req_00006", "req_00008")
	pending("req_00003", "req_00004", "req_00006", "req_00008") // not pending itself
	pending("req_00008")
	s.update(func(tx approvals.Tx) error {
		return errors.Join(
			tx.PutRequestHead(head("req_00000", approvals.RequestStale)),
			tx.PutRequest(request("req_00001", approvals.RequestPending))) // stores know no rules
	})
	s.reopen()
	pending("", "req_00001", "req_00002", "req_00004", "req_00006", "req_00008")
}

func testPendingCost(s *suite) {
	if s.harness.Scans {
		s.Skip("the store does not promise it")
	}
	const decided, batch = 6000, 1000
	page := func() {
		q := approvals.RequestQuery{Workspace: ws, Status: approvals.RequestPending, Limit: 20}
		s.view(func(tx approvals.Tx) error {
			list, _, err := tx.QueryRequests(q)
			if len(list) != 20 {
				s.Fatalf("%d pending requests, want 20", len(list))
			}
			return err
		})
	}
	s.putMany("req_p", 20, approvals.RequestPending)
	s.notDearer("a page of pending requests", page, func() {
		for i := range decided / batch {
			s.putMany(fmt.Sprint("req_a", i), batch/2, approvals.RequestApproved)
			s.putMany(fmt.Sprint("req_z", i), batch/2, approvals.RequestRejected)
		}
	})
}

func (s *suite) putMany(prefix string, n int, status approvals.RequestStatus) {
	s.Helper()
	s.update(func(tx approvals.Tx) error {
		for i := range n {
			err := tx.PutRequest(request(approvals.RequestID(fmt.Sprintf("%s_%05d", prefix, i)), status))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
