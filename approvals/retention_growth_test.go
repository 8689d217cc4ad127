package approvals_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/boltstore"
)

// pay is some text as large as what a run holds.
var pay = json.RawMessage(`{"memo":"` + string(bytes.Repeat([]byte("x"), 2000)) + `"}`)

// endRuns puts runs that have ended, with all that they own, in so many transactions: from is the number of the first.
func endRuns(t testing.TB, st approvals.Store, from, count int) {
	t.Helper()
	const together = 50
	for ; count > 0; from, count = from+together, count-together {
		err := st.Update(t.Context(), func(tx approvals.Tx) error {
			for i := from; i < from+min(together, count); i++ {
				if err := endWhole(tx, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// endWhole puts one run that has ended, with its request, effect, memory and event.
func endWhole(tx approvals.Tx, i int) error {
	id, now := fmt.Sprintf("%09d", i), tx.Now()
	run := approvals.RunID("run_" + id)
	at := place
	at.Thread = id
	_, err := tx.Once(ws, "event "+id, now)
	return errors.Join(err,
		tx.PutRun(&approvals.Run{
			Workspace: ws, ID: run, Place: at, Requester: ann, Status: approvals.RunDone, Input: string(pay),
			Output: string(pay), Created: now, Ended: now,
		}),
		tx.PutRequest(&approvals.Request{
			RequestHead: approvals.RequestHead{
				Workspace: ws, ID: approvals.RequestID("req_" + id), Run: run, Place: at, Requester: ann,
				Status: approvals.RequestRejected, Created: now, Settled: now,
			},
			RequestContent: approvals.RequestContent{Arguments: pay},
		}),
		tx.PutEffect(&approvals.EffectRecord{
			Workspace: ws, Run: run, ID: "eff_" + id, Intent: now, Done: now,
			Output: &agent.ToolOutput{Text: string(pay)},
		}),
		tx.AppendSession(ws, at, string(run), json.RawMessage("["+string(pay)+"]")))
}

// everythingOld deletes all that has ended.
var everythingOld = approvals.Retention{Runs: old, Requests: old, Sessions: old, Events: old}

// openFor opens a store that has a trail.
func openFor(t testing.TB) *boltstore.Store {
	t.Helper()
	st, err := boltstore.Open(filepath.Join(t.TempDir(), "store.db"), boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	if err := approvals.AppendEntryAt(t.Context(), st, ws, time.Now()); err != nil {
		t.Fatal(err)
	}
	return st
}

// TestRetentionStopsTheGrowth has as much end as begins: the file stops growing, but for the trail of the deletions.
// Without retention it goes on.
func TestRetentionStopsTheGrowth(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 12, 100
	grown := func(rules approvals.Retention) (late int64) {
		st := openFor(t)
		var middle int64
		for i := range rounds {
			endRuns(t, st, i*perRound, perRound)
			if err := approvals.SweepOld(t.Context(), st, nil, rules); err != nil {
				t.Fatal(err)
			}
			stats, err := st.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if i == rounds/2-1 {
				middle = stats.FileBytes
			}
			late = stats.FileBytes - middle
		}
		return late
	}
	with, without := grown(everythingOld), grown(approvals.Retention{})
	t.Logf("in the second half of %d rounds the file grows by %d bytes with retention and by %d without",
		rounds, with, without)
	if with > without/10 {
		t.Errorf("the file grows by %d bytes with retention, and by %d without", with, without)
	}
}

// BenchmarkBesideRetention measures transactions of people's work, alone and beside a sweep that always finds something
// to delete.
func BenchmarkBesideRetention(b *testing.B) {
	for _, sweeping := range []bool{false, true} {
		b.Run(fmt.Sprintf("sweep=%t", sweeping), func(b *testing.B) {
			st := openFor(b)
			endRuns(b, st, 0, 20_000)
			ctx, stop := context.WithCancel(b.Context())
			defer stop()
			done := make(chan error, 1)
			go func() {
				for sweeping && ctx.Err() == nil {
					if err := approvals.SweepOld(ctx, st, nil, everythingOld); err != nil && ctx.Err() == nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
			b.SetParallelism(8)
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					err := approvals.AppendEntryAt(b.Context(), st, ws, time.Now())
					if err != nil {
						b.Error(err)
					}
				}
			})
			b.StopTimer()
			gone := 20_000
			err := st.View(b.Context(), func(tx approvals.Tx) error {
				left, err := tx.EndedRuns(ws, tx.Now().Add(time.Hour), 1_000_000)
				gone -= len(left)
				return err
			})
			stop()
			if err := errors.Join(err, <-done); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(gone)/b.Elapsed().Seconds(), "deleted/s")
		})
	}
}
