package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// benchStart fills one store step by step with what years leave behind, and at each step measures the program's start,
// what people and operators read page by page, and a decision.
func benchStart(ctx context.Context, o options) error {
	dir := filepath.Join(o.dir, "start")
	if err := o.preparePending(ctx, dir, o.scale(10_000, 100)); err != nil {
		return err
	}
	steps := []int{1000, 10_000, 100_000, 1_000_000}
	if o.quick {
		steps = []int{100, 1000}
	}
	fmt.Println("| decided | store MB | ready after ms | page of 20 of the pending ms | " +
		"page of 15 of the history ms | page of 100 runs ms | page of 100 approved requests ms | decision ms |")
	fmt.Println("|--:|--:|--:|--:|--:|--:|--:|--:|")
	decided := 0
	for _, until := range steps {
		var took readTimes
		starts := make([]time.Duration, o.scale(5, 1))
		for n := range starts {
			p, err := launch(ctx, o, dir, func(_ *slackdev.Workspace, rig *serviceRig) ([]*approvals.Request, error) {
				err := rig.seedDecided(ctx, decided, until)
				if err == nil && n == 0 {
					took, err = rig.readTimes(ctx)
				}
				decided = until
				return nil, err
			})
			if err != nil {
				return err
			}
			starts[n] = p.started
			p.stop()
		}
		slices.Sort(starts)
		size, err := o.size(ctx, dir)
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %.0f | %.0f | %.2f | %.2f | %.2f | %.2f | %.2f |\n",
			until, float64(size)/1e6, ms(starts[len(starts)/2]), ms(took.pending), ms(took.history),
			ms(took.runs), ms(took.listed), ms(took.decision))
	}
	fmt.Println()
	return nil
}

func (o options) preparePending(ctx context.Context, dir string, n int) error {
	rig, err := o.rig(ctx, dir)
	if err != nil {
		return err
	}
	defer rig.close()
	_, err = rig.seed(ctx, n, programRequirement())
	return err
}

// size is how many bytes the store takes on the disk.
func (o options) size(ctx context.Context, dir string) (n int64, err error) {
	if o.store != "" {
		return databaseSize(ctx, o.store)
	}
	info, err := os.Stat(filepath.Join(dir, "countersign.db"))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// readTimes are what it takes to read, and to decide, in a store.
type readTimes struct{ pending, history, runs, listed, decision time.Duration }

func (r *serviceRig) readTimes(ctx context.Context) (took readTimes, err error) {
	first, err := r.service.Pending(ctx, approvals.PendingQuery{Workspace: benchWorkspace, Limit: 100})
	if err != nil {
		return took, err
	}
	middle, next := first.Requests[len(first.Requests)/2].ID, 0
	for _, m := range []struct {
		took  *time.Duration
		times int
		read  func() error
	}{
		{&took.pending, 101, func() error {
			page, err := r.service.Pending(ctx,
				approvals.PendingQuery{Workspace: benchWorkspace, Limit: 20, After: middle})
			return full(err, len(page.Requests), 20)
		}},
		{&took.history, 101, func() error {
			page, err := r.service.History(ctx,
				approvals.HistoryQuery{Workspace: benchWorkspace, Viewer: benchApprover, Limit: 15})
			return full(err, len(page.Requests), 15)
		}},
		{&took.runs, 101, func() (err error) {
			var page []*approvals.Run
			err = r.store.View(ctx, func(tx approvals.Tx) (err error) {
				page, _, err = tx.QueryRuns(
					approvals.RunQuery{Workspace: benchWorkspace, Newest: true, Limit: 100})
				return err
			})
			return full(err, len(page), 100)
		}},
		{&took.listed, 101, func() (err error) {
			q := approvals.RequestQuery{
				Workspace: benchWorkspace, Status: approvals.RequestApproved, Newest: true, Limit: 100,
			}
			var page []*approvals.RequestHead
			err = r.store.View(ctx, func(tx approvals.Tx) (err error) {
				page, _, err = tx.QueryRequests(q)
				return err
			})
			return full(err, len(page), 100)
		}},
		{&took.decision, 21, func() error {
			for len(first.Requests[next].Decisions) > 0 {
				next++
			}
			q := first.Requests[next]
			next++
			_, err := r.service.Decide(ctx, approvals.Decision{
				Workspace: benchWorkspace, Request: q.ID, By: benchApprover, Verdict: approvals.Approve,
				Digest: q.Digest, Via: "button",
			})
			return err
		}},
	} {
		if *m.took, err = medianTime(m.times, m.read); err != nil {
			return took, err
		}
	}
	return took, nil
}

// full checks that a page has as many records as it should.
func full(err error, have, want int) error {
	if err == nil && have != want {
		return fmt.Errorf("a page of %d records, not %d", have, want)
	}
	return err
}

// medianTime is the median of how long fn takes.
func medianTime(times int, fn func() error) (time.Duration, error) {
	all := make([]time.Duration, times)
	for i := range all {
		start := time.Now()
		if err := fn(); err != nil {
			return 0, err
		}
		all[i] = time.Since(start)
	}
	slices.Sort(all)
	return all[times/2], nil
}

// seedDecided puts runs that are done, with a decided request and the audit entries of its decision each.
func (r *serviceRig) seedDecided(ctx context.Context, from, until int) error {
	const each = 2000
	digest := agent.Digest{1}
	for start := from; start < until; start += each {
		err := r.store.Update(ctx, func(tx approvals.Tx) error {
			var seq uint64
			if head, err := tx.AuditHead(benchWorkspace); err == nil {
				seq = head.Seq
			}
			for i := start; i < min(until, start+each); i++ {
				at := time.Unix(1_700_000_000, 0).Add(time.Duration(i) * time.Second).UTC()
				place := approvals.Place{Surface: "slack", Channel: channelID(i % 100), Thread: strconv.Itoa(i)}
				run := &approvals.Run{
					Workspace: benchWorkspace, ID: approvals.NewRunID(at), Place: place, Agent: "bench",
					Requester: benchRequester, Input: "pay invoice 1042", Status: approvals.RunDone, Version: 7,
					Epoch: 2, Turns: 2, Output: "Done.", Created: at, Updated: at, Ended: at,
				}
				q := &approvals.Request{RequestHead: approvals.RequestHead{
					Workspace: benchWorkspace, ID: approvals.NewRequestID(at), Run: run.ID, Place: place,
					Requester: benchRequester, Kind: agent.Confirm, Interruption: "bench/1/call_1", Agent: "bench",
					Path: []string{"bench"},
					Tool: approvals.ToolSnapshot{Name: "transfer", Kind: agent.KindHTTP,
						Description: "Move money between two accounts."},
					Digest: digest, Requirement: benchRequirement,
					Status: approvals.RequestApproved, Version: 3, Created: at, Expires: at.Add(24 * time.Hour),
					Settled: at, Applied: true,
					Cards: []approvals.Card{{Channel: place.Channel, Message: place.Thread}},
					Decisions: []approvals.Decision{{ID: approvals.NewDecisionID(at), Workspace: benchWorkspace,
						By: benchApprover, Verdict: approvals.Approve, Digest: digest, Via: "button", At: at}},
				}}
				q.Arguments = []byte(`{"amount":250,"memo":"invoice 1042","to":"acme"}`)
				if err := tx.PutRun(run); err != nil {
					return err
				}
				if err := tx.PutRequest(q); err != nil {
					return err
				}
				for _, action := range []approvals.AuditAction{
					approvals.AuditDecision, approvals.AuditRequestApproved,
				} {
					seq++
					e := &approvals.AuditEntry{
						Workspace: benchWorkspace, Seq: seq, At: at, Action: action, Actor: string(benchApprover),
						Run: run.ID, Request: q.ID,
					}
					if err := tx.AppendAudit(e); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
