package control

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

// TestRecordedCallsAreListed lists calls under "approval: audit" as requests are listed: what a query selects, once
// each, whatever the length of a page, with and without the socket between.
func TestRecordedCallsAreListed(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	runs := putRuns(t, st)
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		for _, r := range runs {
			for n, tool := range []string{"pay", "look", "pay", "tell"} {
				e := &approvals.EffectRecord{
					Workspace: r.Workspace, Run: r.ID, ID: fmt.Sprintf("%s/1/%d", r.Agent, n), Tool: tool,
					Agent: r.Agent, Attempt: 1, Review: tool != "look",
					Intent: r.Created.Add(time.Duration(n) * time.Minute),
				}
				if err := tx.PutEffect(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	local := &Local{Store: st}
	_, client := serve(t, local)
	at := func(h, m int) time.Time { return time.Date(2026, 11, 1, h, m, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		query Query
		want  func(run, call int) bool
	}{
		"all":     {Query{}, func(int, int) bool { return true }},
		"tool":    {Query{Tool: "tell"}, func(_, call int) bool { return call == 3 }},
		"agent":   {Query{Agent: "billing"}, func(run, _ int) bool { return run >= 6 }},
		"channel": {Query{Channel: "C2"}, func(run, _ int) bool { return run%4 == 2 }},
		"person":  {Query{Person: "U1"}, func(run, _ int) bool { return run%2 == 1 }},
		"run":     {Query{Run: "run_07"}, func(run, _ int) bool { return run == 7 }},
		"since":   {Query{Since: at(5, 1)}, func(run, call int) bool { return run > 5 || run == 5 && call >= 1 }},
		"until":   {Query{Until: at(5, 1)}, func(run, call int) bool { return run < 5 || run == 5 && call < 1 }},
		"nothing": {Query{Tool: "look"}, func(int, int) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.query.Status = Recorded
			var want []string
			for _, ws := range []string{"T1", "T2", "T3"} {
				for run := range 12 {
					for _, call := range []int{0, 2, 3} {
						agentOf := []string{"ops", "billing"}[run/6]
						if c.want(run, call) {
							want = append(want, fmt.Sprintf("%s run_%02d/%s/1/%d audit", ws, run, agentOf, call))
						}
					}
				}
			}
			for _, limit := range []int{1, 2, 7, 200} {
				for way, desk := range map[string]Desk{"file": local, "socket": client} {
					if diff := cmp.Diff(want, listedCalls(t, desk, c.query, limit)); diff != "" {
						t.Errorf("%s, pages of %d (-want +have):\n%s", way, limit, diff)
					}
				}
			}
		})
	}
}

// TestRecordedCallsKnowWhatPeopleFoundOut: of a call that never answered the list says what people said who were asked.
func TestRecordedCallsKnowWhatPeopleFoundOut(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	r := putRuns(t, st)[0]
	const asked = "ops/1/c1"
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		err := tx.PutEffect(&approvals.EffectRecord{
			Workspace: r.Workspace, Run: r.ID, ID: asked, Interruption: asked, Tool: "pay", Agent: r.Agent, Attempt: 1,
			Review: true, Intent: r.Created,
		})
		return errors.Join(err, tx.PutRequest(&approvals.Request{RequestHead: approvals.RequestHead{
			Workspace: r.Workspace, ID: "req_1", Run: r.ID, Kind: agent.OutcomeUnknown, Interruption: asked,
			Created: r.Created, Status: approvals.RequestApproved,
			Decisions: []approvals.Decision{{ID: "dec_1", Verdict: approvals.MarkDone, Reason: "receipt 7"}},
		}}))
	})
	if err != nil {
		t.Fatal(err)
	}
	page, _, err := (&Local{Store: st}).Requests(t.Context(), Query{Status: Recorded, Run: r.ID}, Cursor{}, 10)
	if err != nil || len(page) != 1 || page[0].Outcome != approvals.OutcomeRan {
		t.Errorf("listed: %+v, %v", page, err)
	}
}

// listedCalls pages through a list.
func listedCalls(t *testing.T, desk Desk, q Query, limit int) (all []string) {
	t.Helper()
	var cursor Cursor
	for more := true; more; {
		page, next, err := desk.Requests(t.Context(), q, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			all = append(all, fmt.Sprint(r.Workspace, " ", r.ID, " ", r.Status))
			cursor = CursorAt(r)
		}
		if more = next && len(page) > 0; len(page) > limit {
			t.Errorf("a page of %d, with a limit of %d", len(page), limit)
		}
	}
	return all
}
