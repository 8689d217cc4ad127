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

// benchStart fills one store step by step with what years leave behind, and at each step measures the program's start
// and a page of the pending list.
func benchStart(ctx context.Context, o options) error {
	dir := filepath.Join(o.dir, "start")
	if err := preparePending(ctx, dir, o.scale(10_000, 100)); err != nil {
		return err
	}
	steps := []int{1000, 10_000, 100_000, 1_000_000}
	if o.quick {
		steps = []int{100, 1000}
	}
	fmt.Println("| decided | file MB | ready after ms | page of 20 of the pending ms |\n|--:|--:|--:|--:|")
	decided := 0
	for _, until := range steps {
		var page time.Duration
		starts := make([]time.Duration, o.scale(5, 1))
		for n := range starts {
			p, err := launch(ctx, o, dir, func(_ *slackdev.Workspace, rig *serviceRig) ([]*approvals.Request, error) {
				err := rig.seedDecided(ctx, decided, until)
				if err == nil && n == 0 {
					page, err = rig.pageTime(ctx)
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
		info, err := os.Stat(filepath.Join(dir, "countersign.db"))
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %.0f | %.0f | %.2f |\n",
			until, float64(info.Size())/1e6, ms(starts[len(starts)/2]), ms(page))
	}
	fmt.Println()
	return nil
}

func preparePending(ctx context.Context, dir string, n int) error {
	rig, err := newServiceRig(dir, nil)
	if err != nil {
		return err
	}
	defer rig.close()
	_, err = rig.seed(ctx, n, programRequirement())
	return err
}

// pageTime is the median time of a page of the pending list, from its middle, as an operator reads it.
func (r *serviceRig) pageTime(ctx context.Context) (time.Duration, error) {
	first, err := r.service.Pending(ctx, approvals.PendingQuery{Workspace: benchWorkspace, Limit: 100})
	if err != nil {
		return 0, err
	}
	all := first.Requests
	times := make([]time.Duration, 101)
	for i := range times {
		start := time.Now()
		page, err := r.service.Pending(ctx, approvals.PendingQuery{Workspace: benchWorkspace, Limit: 20,
			After: all[len(all)/2].ID})
		if err != nil {
			return 0, err
		}
		if len(page.Requests) != 20 {
			return 0, fmt.Errorf("a page of %d pending requests", len(page.Requests))
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
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
