package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"countersign/approvals"
)

func runQueries() []promise {
	return []promise{
		{"QueryRuns", "operators look for runs by what they remember of them, the newest first", testQueryRuns},
		{"RunPages", "a list that shows every match must not miss one, however many requests runs have", testRunPages},
		{"OpenRunsCost", "what is under way is listed for years: it must not slow down with what has ended",
			testOpenRunsCost},
	}
}

// queryRuns follows a query to its end, each page in a transaction of its own.
func (s *suite) queryRuns(q approvals.RunQuery) []approvals.RunID {
	s.Helper()
	var ids []approvals.RunID
	for {
		var page []*approvals.Run
		var next approvals.RunID
		s.view(func(tx approvals.Tx) (err error) {
			page, next, err = tx.QueryRuns(q)
			return err
		})
		if len(page) > q.Limit {
			s.Errorf("a page of %d, at most %d asked for", len(page), q.Limit)
		}
		ids = append(ids, idsOf(page, runID)...)
		if next == "" {
			return ids
		}
		if !q.Newest && next <= q.After || q.Newest && q.After != "" && next >= q.After {
			s.Fatalf("a page after %q goes on after %q", q.After, next)
		}
		q.After = next
	}
}

// searchableRuns puts runs that differ in every way they can be looked for.
func (s *suite) searchableRuns() (start time.Time) {
	start = now()
	s.update(func(tx approvals.Tx) error {
		var err error
		put := func(id approvals.RunID, change func(r *approvals.Run)) {
			r := run(id, approvals.RunWaiting)
			r.Agent, r.Created, r.Place.Thread = "clerk", start, string(id)
			change(r)
			err = errors.Join(err, tx.PutRun(r))
		}
		put("run_0", func(r *approvals.Run) {})
		put("run_1", func(r *approvals.Run) { r.Status, r.Ended = approvals.RunDone, start })
		put("run_2", func(r *approvals.Run) { r.Status = approvals.RunQueued })
		put("run_3", func(r *approvals.Run) { r.Agent = "Clerk" })
		put("run_4", func(r *approvals.Run) { r.Place.Channel = "C11" })
		put("run_5", func(r *approvals.Run) { r.Created = start.Add(time.Minute) })
		put("run_6", func(r *approvals.Run) { r.Created = start.Add(2 * time.Minute) })
		put("run_7", func(r *approvals.Run) { r.Requester = "T1/U2" })
		put("run_8", func(r *approvals.Run) {
			r.Requester, r.Status, r.Ended, r.CancelledBy = "T1/U3", approvals.RunCancelled, start, "T1/U2"
		})
		put("run_0", func(r *approvals.Run) { r.Workspace = other })
		// In some stores requests lie behind their runs.
		for _, id := range []approvals.RunID{"run_0", "run_2", "run_absent"} {
			r := request("req_"+approvals.RequestID(id), approvals.RequestPending)
			r.Run = id
			err = errors.Join(err, tx.PutRequest(r))
		}
		return err
	})
	return start
}

func testQueryRuns(s *suite) {
	start := s.searchableRuns()
	all := []approvals.RunID{"run_0", "run_1", "run_2", "run_3", "run_4", "run_5", "run_6", "run_7", "run_8"}
	without := func(out ...int) (ids []approvals.RunID) {
		for i, id := range all {
			if !slices.Contains(out, i) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	seen := map[string]bool{"Workspace": true, "Limit": true, "Newest": true}
	for _, c := range []struct {
		q    approvals.RunQuery
		want []approvals.RunID
	}{
		{approvals.RunQuery{}, all},
		{approvals.RunQuery{Status: approvals.RunWaiting}, without(1, 2, 8)},
		{approvals.RunQuery{Status: approvals.RunQueued}, all[2:3]},
		{approvals.RunQuery{Status: approvals.RunRunning}, nil},
		{approvals.RunQuery{Status: approvals.RunDone}, all[1:2]},
		{approvals.RunQuery{Agent: "clerk"}, without(3)},
		{approvals.RunQuery{Channel: "C1"}, without(4)},
		{approvals.RunQuery{From: start.Add(time.Minute)}, all[5:7]},
		{approvals.RunQuery{To: start.Add(time.Minute)}, without(5, 6)},
		{approvals.RunQuery{From: start.Add(time.Minute), To: start.Add(2 * time.Minute)}, all[5:6]},
		{approvals.RunQuery{Person: "T1/U2"}, all[7:]},
		{approvals.RunQuery{After: "run_3"}, all[4:]},
		{approvals.RunQuery{After: "run_3x"}, all[4:]},
		{approvals.RunQuery{After: "run_3", Status: approvals.RunWaiting}, all[4:8]},
		{approvals.RunQuery{Status: approvals.RunWaiting, Person: "T1/U1", Agent: "clerk", Channel: "C1", From: start,
			To: start.Add(time.Minute)}, all[:1]},
	} {
		noteFields(seen, c.q)
		c.q.Workspace = ws
		for _, limit := range []int{1, 4, 100} {
			c.q.Limit = limit
			same(s, fmt.Sprintf("%+v", c.q), c.want, s.queryRuns(c.q))
		}
		if c.q.After != "" {
			continue
		}
		c.q.Newest = true
		slices.Reverse(c.want)
		for _, limit := range []int{1, 4, 100} {
			c.q.Limit = limit
			same(s, fmt.Sprintf("%+v", c.q), c.want, s.queryRuns(c.q))
		}
		slices.Reverse(c.want)
	}
	for _, status := range []approvals.RunStatus{"", approvals.RunWaiting} {
		q := approvals.RunQuery{Workspace: ws, Status: status, Newest: true, After: "run_3", Limit: 1}
		want := []approvals.RunID{"run_2", "run_1", "run_0"}
		if status != "" {
			want = want[2:]
		}
		same(s, "the newest first, after run_3", want, s.queryRuns(q))
		q.After = "run_2x"
		same(s, "the newest first, after run_2x", want, s.queryRuns(q))
	}
	if n := reflect.TypeFor[approvals.RunQuery]().NumField(); len(seen) != n {
		s.Errorf("control: the queries use %d of %d fields", len(seen), n)
	}
}

// noteFields notes which fields of a query are used.
func noteFields(seen map[string]bool, query any) {
	fields := reflect.ValueOf(query)
	for i := range fields.NumField() {
		if !fields.Field(i).IsZero() {
			seen[fields.Type().Field(i).Name] = true
		}
	}
}

func testRunPages(s *suite) {
	const many = 2500 // more than one call looks at
	rare := map[int]bool{0: true, 700: true, 701: true, 1999: true, 2499: true}
	var want []approvals.RunID
	s.update(func(tx approvals.Tx) error {
		want = nil
		for i := range many {
			r := run(approvals.RunID(fmt.Sprintf("run_%05d", i)), approvals.RunDone)
			r.Place.Thread, r.Ended = string(r.ID), now()
			if rare[i] {
				r.Agent = "clerk"
				want = append(want, r.ID)
			}
			q := request(approvals.RequestID(fmt.Sprintf("req_%05d", i)), approvals.RequestApproved)
			q.Run = r.ID
			if err := errors.Join(tx.PutRun(r), tx.PutRequest(q)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, newest := range []bool{false, true} {
		for _, limit := range []int{1, 2, 5, 100} {
			q := approvals.RunQuery{Workspace: ws, Agent: "clerk", Newest: newest, Limit: limit}
			same(s, fmt.Sprintf("with limit %d, newest first %v", limit, newest), want, s.queryRuns(q))
		}
		if n := len(s.queryRuns(approvals.RunQuery{Workspace: ws, Newest: newest, Limit: 7})); n != many {
			s.Errorf("%d runs were listed, want %d", n, many)
		}
		slices.Reverse(want)
	}
}

func testOpenRunsCost(s *suite) {
	if s.harness.Scans {
		s.Skip("the store does not promise it")
	}
	put := func(prefix string, n int, status approvals.RunStatus) {
		s.update(func(tx approvals.Tx) error {
			for i := range n {
				r := run(approvals.RunID(fmt.Sprintf("%s_%05d", prefix, i)), status)
				r.Place.Thread, r.Ended = string(r.ID), now()
				if err := tx.PutRun(r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	page := func() {
		q := approvals.RunQuery{Workspace: ws, Status: approvals.RunWaiting, Newest: true, Limit: 20}
		s.view(func(tx approvals.Tx) error {
			list, _, err := tx.QueryRuns(q)
			if len(list) != 20 {
				s.Fatalf("%d runs that wait, want 20", len(list))
			}
			return err
		})
	}
	put("run_m", 20, approvals.RunWaiting)
	s.notDearer("a page of runs that wait", page, func() {
		for i := range 6 {
			put(fmt.Sprint("run_a", i), 500, approvals.RunDone)
			put(fmt.Sprint("run_z", i), 500, approvals.RunCancelled)
		}
	})
}
