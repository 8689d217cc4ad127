package approvals_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/storetest"
)

// old is the shortest retention there is: everything that has ended is older.
const old = time.Nanosecond

// sweep deletes once what is older than the rules say.
func (b *bench) sweep(rules approvals.Retention) {
	b.Helper()
	if err := approvals.SweepOld(b.Context(), b.store, b.log, rules); err != nil {
		b.Fatal(err)
	}
}

// paid is a bench with a run that is done, after bob approved its one call.
func paid(t *testing.T) (*bench, *approvals.Request) {
	b := newBench(t)
	b.start()
	r := b.question(b.submit())
	b.must(r, bob, approvals.Approve, "fine")
	b.reaches(r.Run, approvals.RunDone)
	b.until("delivered", b.delivered)
	b.stop()
	return b, b.request(r.ID)
}

// there reports which of a run's records are in the store.
func (b *bench) there(r *approvals.Request) (run, request, effects bool) {
	b.Helper()
	err := b.store.View(b.Context(), func(tx approvals.Tx) error {
		_, err1 := tx.Run(ws, r.Run)
		_, err2 := tx.Request(ws, r.ID)
		all, err3 := tx.EffectsOfRun(ws, r.Run)
		run, request, effects = err1 == nil, err2 == nil, len(all) > 0
		for _, err := range []error{err1, err2, err3} {
			if err != nil && !errors.Is(err, approvals.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return run, request, effects
}

func (b *bench) expectThere(r *approvals.Request, run, request, effects bool) {
	b.Helper()
	gotRun, gotRequest, gotEffects := b.there(r)
	if gotRun != run || gotRequest != request || gotEffects != effects {
		b.Errorf("run %t, request %t, effects %t; want %t, %t and %t",
			gotRun, gotRequest, gotEffects, run, request, effects)
	}
}

// TestRetention deletes an ended run, and later its request, which stands for itself meanwhile. The trail tells of both
// and holds.
func TestRetention(t *testing.T) {
	t.Parallel()
	b, r := paid(t)
	b.sweep(approvals.Retention{Runs: time.Hour, Requests: time.Hour, Sessions: time.Hour, Events: time.Hour})
	b.expectThere(r, true, true, true) // nothing is so old
	b.sweep(approvals.Retention{Runs: old})
	b.expectThere(r, false, true, false)
	kept := b.request(r.ID)
	if string(kept.Arguments) != `{"amount":5}` || kept.Settler().By != bob || kept.Outcome != approvals.OutcomeRan {
		t.Errorf("what is left for an auditor: %+v", kept)
	}
	if _, err := b.decide(kept, cara, approvals.Approve, ""); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("decision about a request whose run is gone: %v, want ErrConflict", err)
	}
	b.trail()
	b.sweep(approvals.Retention{Runs: old, Requests: old})
	b.expectThere(r, false, false, false)
	b.sweep(approvals.Retention{Runs: old, Requests: old})
	b.trail()
	for action, want := range map[approvals.AuditAction]int{
		approvals.AuditRunDeleted: 1, approvals.AuditRequestDeleted: 1, approvals.AuditRetention: 0,
	} {
		if n := b.count(action); n != want {
			t.Errorf("%d entries %s, want %d", n, action, want)
		}
	}
	b.start()
	b.question(b.submit()) // work goes on
	b.stop()
}

// TestRetentionOfRequestsAlone deletes a request and keeps its run.
func TestRetentionOfRequestsAlone(t *testing.T) {
	t.Parallel()
	b, r := paid(t)
	b.sweep(approvals.Retention{Requests: old})
	b.expectThere(r, true, false, true)
	b.trail()
}

// TestRetentionKeeps has old records stay because they still matter, until they do no longer.
func TestRetentionKeeps(t *testing.T) {
	t.Parallel()
	all := approvals.Retention{Runs: old, Requests: old, Sessions: old}
	t.Run("a run that waits", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.start()
		r := b.question(b.submit())
		b.sweep(all)
		b.expectThere(r, true, true, false)
		b.must(r, bob, approvals.Approve, "")
		b.reaches(r.Run, approvals.RunDone)
		b.stop()
		b.sweep(all)
		b.expectThere(r, false, false, false)
		b.trail()
	})
	t.Run("an answer that its run has not heard of", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.start()
		r := b.question(b.submit())
		b.stop()
		b.must(r, bob, approvals.Approve, "")
		b.sweep(all)
		b.expectThere(r, true, true, false)
		b.trail()
	})
	t.Run("what a run under way has settled, and the memory of its place", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.start()
		first := b.question(b.submit())
		b.must(first, bob, approvals.Reject, "")
		b.reaches(first.Run, approvals.RunDone)
		b.model(asks(call("c1", "pay", `{"amount":5}`), call("c2", "pay", `{"amount":6}`)))
		run := b.submit()
		b.until("two questions", func() bool { return len(b.pending(run)) == 2 })
		open := b.pending(run)
		b.must(open[0], bob, approvals.Approve, "")
		b.until("the call", func() bool { return b.request(open[0].ID).Outcome == approvals.OutcomeRan })
		b.sweep(all)
		b.expectThere(first, false, false, false)
		b.expectThere(open[0], true, true, true)
		if n := b.count(approvals.AuditSessionDeleted); n != 0 {
			t.Errorf("%d deletions of memory", n)
		}
		b.must(open[1], bob, approvals.Approve, "")
		b.reaches(run, approvals.RunDone)
		b.stop()
		b.sweep(all)
		b.expectThere(open[0], false, false, false)
		if n := b.count(approvals.AuditSessionDeleted); n != 1 {
			t.Errorf("%d deletions of memory, want 1", n)
		}
	})
	t.Run("a decision past the policy that nobody has reviewed", func(t *testing.T) {
		t.Parallel()
		b, r := emergency(t)
		if _, err := b.breakGlass(r, user("dan")); err != nil {
			t.Fatal(err)
		}
		b.start()
		b.reaches(r.Run, approvals.RunDone)
		b.sweep(all)
		b.expectThere(r, true, true, true)
		_, err := b.service.Review(t.Context(), ws, r.ID,
			approvals.Review{By: cara, Verdict: approvals.ReviewAccept, Reason: "it was right", Via: "test"})
		if err != nil {
			t.Fatal(err)
		}
		b.stop()
		b.sweep(all)
		b.expectThere(r, false, false, false)
		b.trail()
	})
	t.Run("the request of a grant that holds", func(t *testing.T) {
		t.Parallel()
		b, r := granting(t)
		g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
		b.reaches(r.Run, approvals.RunDone)
		b.sweep(all)
		b.expectThere(r, false, true, false)
		if state, why := b.state(g.ID); state != approvals.GrantActive || why != "" {
			t.Errorf("the grant is %s: %s", state, why)
		}
		if err := b.revoke(g.ID, bob); err != nil {
			t.Fatal(err)
		}
		b.stop()
		b.sweep(all)
		b.expectThere(r, false, false, false)
		if state, _ := b.state(g.ID); state != approvals.GrantRevoked {
			t.Errorf("the grant is %s", state)
		}
		b.trail()
	})
}

// TestRetentionKeepsUnknownCalls keeps a run with a call of which nobody knows what came of it.
func TestRetentionKeepsUnknownCalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		verdict approvals.Verdict // of whoever is asked; empty: nobody answers
		gone    bool
	}{{"answered", approvals.GiveUp, true}, {"not answered", "", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tools := b.tools()
			tools[0].Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
				return agent.ToolOutput{}, fmt.Errorf("no answer: %w", agent.ErrOutcomeUnknown)
			}
			b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
			b.start()
			r := b.question(b.submit())
			b.must(r, bob, approvals.Approve, "")
			b.until("the question what became of it", func() bool {
				open := b.pending(r.Run)
				return len(open) == 1 && open[0].Kind == agent.OutcomeUnknown
			})
			if tt.verdict != "" {
				b.must(b.pending(r.Run)[0], cara, tt.verdict, "who knows")
				b.reaches(r.Run, approvals.RunDone)
			} else if _, err := b.service.CancelRun(t.Context(), ws, r.Run, ann, ""); err != nil {
				t.Fatal(err)
			}
			b.stop()
			b.sweep(approvals.Retention{Runs: old, Requests: old})
			b.expectThere(r, !tt.gone, !tt.gone, !tt.gone)
			b.trail()
		})
	}
}

// TestRetentionAfterACrash kills a process at each of the writes of a run that uses an agent as a tool, and has
// somebody cancel the run: whatever was under way, nothing of it is kept for ever.
func TestRetentionAfterACrash(t *testing.T) {
	t.Parallel()
	for write := 1; write <= 8; write++ {
		t.Run(fmt.Sprint(write), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			says := model(func(*agent.ModelRequest) ([]agent.Item, error) {
				return []agent.Item{agent.AssistantMessage("inside")}, nil
			})
			b.agent(model(asksFinance), (&agent.Agent{Name: "finance", Model: says}).AsTool("ask_finance", "Ask."))
			step := b.step()
			id := b.submit()
			b.mortal.dieAt(write, false)
			_ = step(runJob(id))
			b.reopen()
			_, err := b.service.CancelRun(t.Context(), ws, id, ann, "")
			if err != nil && !errors.Is(err, approvals.ErrEnded) {
				t.Fatal(err)
			}
			b.sweep(approvals.Retention{Runs: old})
			if _, err := b.service.Run(t.Context(), ws, id); !errors.Is(err, approvals.ErrNotFound) {
				t.Errorf("the run is kept, with %d effects: %v", len(b.recorded(id)), err)
			}
		})
	}
}

// TestRetentionOfMemory deletes the memory of a place. The next run begins anew, and model and people are told, once.
func TestRetentionOfMemory(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var mu sync.Mutex
	var seen []string
	b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		mu.Lock()
		defer mu.Unlock()
		seen = nil
		for _, it := range req.Items {
			seen = append(seen, string(it.Role)+" "+it.Text)
		}
		return []agent.Item{agent.AssistantMessage("hello")}, nil
	}))
	b.start()
	told := func() (n int) {
		b.until("delivered", b.delivered)
		for _, text := range b.surface.texts(approvals.NotifyNotice) {
			if strings.Contains(text, "were deleted because of their age") {
				n++
			}
		}
		return n
	}
	expect := func(notices int, want ...string) {
		t.Helper()
		b.reaches(b.submit(), approvals.RunDone)
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(seen, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("the run starts with\n%s", got)
		}
		if n := told(); n != notices {
			t.Errorf("people were told %d times, want %d", n, notices)
		}
	}
	const gone = "developer Earlier messages of this conversation were deleted 1ns after the last of them. " +
		"Nothing of them is known."
	expect(0, "user please")
	b.sweep(approvals.Retention{Sessions: time.Hour})
	expect(0, "user please", "assistant hello", "user please")
	b.sweep(approvals.Retention{Sessions: old})
	expect(1, gone, "user please")
	expect(1, gone, "user please", "assistant hello", "user please")
	b.sweep(approvals.Retention{Sessions: old})
	b.sweep(approvals.Retention{Sessions: old}) // what is left of it is as old again
	expect(1, "user please")
	if n := b.count(approvals.AuditSessionDeleted); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	b.stop()
}

// TestRetentionOfEvents forgets an event that was heard: it would count as another one now.
func TestRetentionOfEvents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.submission(ann, place, "please")
	outcome := func() approvals.SubmitOutcome {
		t.Helper()
		receipt, err := b.service.Submit(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Outcome
	}
	if got := outcome(); got != approvals.SubmitStarted {
		t.Fatalf("the event is %s", got)
	}
	b.sweep(approvals.Retention{Runs: old, Requests: old, Sessions: old, Events: time.Hour})
	if got := outcome(); got != approvals.SubmitDuplicate {
		t.Errorf("the event, again, is %s", got)
	}
	b.sweep(approvals.Retention{Events: old})
	if got := outcome(); got != approvals.SubmitQueued {
		t.Errorf("the event, after it was forgotten, is %s", got)
	}
}

// TestRetentionTwice has two sweeps at the same time delete each record once.
func TestRetentionTwice(t *testing.T) {
	t.Parallel()
	b, r := paid(t)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { b.sweep(approvals.Retention{Runs: old, Requests: old, Sessions: old, Events: old}) })
	}
	both.Wait()
	b.expectThere(r, false, false, false)
	for _, action := range []approvals.AuditAction{
		approvals.AuditRunDeleted, approvals.AuditRequestDeleted, approvals.AuditSessionDeleted,
	} {
		if n := b.count(action); n != 1 {
			t.Errorf("%d entries %s", n, action)
		}
	}
	b.trail()
}

// TestVerifyNamesWhatWasPutBack has somebody put back what was deleted.
func TestVerifyNamesWhatWasPutBack(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(approvals.Tx, *approvals.Run, *approvals.Request,
		*approvals.EffectRecord) error{
		"run": func(tx approvals.Tx, run *approvals.Run, _ *approvals.Request, _ *approvals.EffectRecord) error {
			return tx.PutRun(run)
		},
		"request": func(tx approvals.Tx, _ *approvals.Run, r *approvals.Request, _ *approvals.EffectRecord) error {
			return tx.PutRequest(r)
		},
		"effect": func(tx approvals.Tx, _ *approvals.Run, _ *approvals.Request, e *approvals.EffectRecord) error {
			return tx.PutEffect(e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := paid(t)
			run, effect := b.run(r.Run), b.recorded(r.Run)[0]
			b.sweep(approvals.Retention{Runs: old, Requests: old})
			b.trail()
			err := b.store.Update(t.Context(), func(tx approvals.Tx) error { return put(tx, run, r, effect) })
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.service.VerifyAudit(t.Context())
			if _, bad := errors.AsType[*approvals.AuditError](err); !bad ||
				!strings.Contains(err.Error(), "the trail says that it was deleted") {
				t.Errorf("verify: %v", err)
			}
		})
	}
}

// TestRetentionDistrustsTheClock has the clock jump ahead in several ways: nothing is deleted, and an alert says why.
func TestRetentionDistrustsTheClock(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name  string
		pass  func(m *storetest.Memory, reopen func(), wrote func())
		gone  bool
		alert string
	}{
		{"nothing happened", func(*storetest.Memory, func(), func()) {}, false, ""},
		{"time went by with work every five days", func(m *storetest.Memory, _ func(), wrote func()) {
			for range 20 {
				m.Advance(5 * day)
				wrote()
			}
		}, true, ""},
		{"the clock jumps while the bot runs", func(m *storetest.Memory, _ func(), _ func()) {
			m.Step(365 * day)
		}, false, "the clock was found to be wrong"},
		{"the clock is a year ahead at the next start", func(m *storetest.Memory, reopen func(), _ func()) {
			m.Step(365 * day)
			reopen()
		}, false, "the clock is ahead"},
		{"it is still ahead two days later", func(m *storetest.Memory, reopen func(), wrote func()) {
			m.Step(365 * day)
			reopen()
			wrote()
			m.Advance(2 * day)
			wrote()
		}, false, "the clock is ahead"},
		{"it is still so four days later", func(m *storetest.Memory, reopen func(), wrote func()) {
			m.Step(365 * day)
			reopen()
			wrote()
			m.Advance(4 * day)
		}, true, ""},
		{"the clock was ahead, and is right again", func(m *storetest.Memory, reopen func(), wrote func()) {
			m.Step(365 * day)
			reopen()
			wrote()
			m.Step(-365 * day)
			reopen()
		}, false, "the clock was found to be wrong"},
		{"it has been right again for long", func(m *storetest.Memory, reopen func(), wrote func()) {
			m.Step(365 * day)
			reopen()
			for range 60 {
				wrote()
			}
			m.Step(-365 * day)
			reopen()
			for range 20 {
				wrote()
				m.Advance(2 * day)
			}
			reopen()
		}, true, ""},
		{"it is right again, and nothing was written for a month", func(m *storetest.Memory, reopen, wrote func()) {
			m.Step(365 * day)
			reopen()
			wrote()
			m.Step(-365 * day)
			m.Advance(31 * day)
			reopen()
			wrote()
			reopen()
		}, false, "the store has no record of a long time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := storetest.NewMemory()
			st := data.Open()
			endOneRun(t, st)
			tt.pass(data, func() {
				st.Close()
				st = data.Open()
			}, func() {
				at := data.Now()
				if err := approvals.AppendEntryAt(t.Context(), st, ws, at); err != nil {
					t.Fatal(err)
				}
				seal(t, st)
			})
			var log bytes.Buffer
			rules := approvals.Retention{Runs: 30 * day}
			err := approvals.SweepOld(t.Context(), st, slog.New(slog.NewTextHandler(&log, nil)), rules)
			if err != nil {
				t.Fatal(err)
			}
			err = st.View(t.Context(), func(tx approvals.Tx) error {
				_, err := tx.Run(ws, "run_1")
				return err
			})
			if gone := errors.Is(err, approvals.ErrNotFound); gone != tt.gone {
				t.Errorf("gone: %t, want %t\n%s", gone, tt.gone, &log)
			}
			if alert := strings.Contains(log.String(), "ALERT"); alert != (tt.alert != "") ||
				!strings.Contains(log.String(), tt.alert) {
				t.Errorf("log: %s", &log)
			}
		})
	}
}

// endOneRun puts a run that has just ended, and the entry that says so.
func endOneRun(t *testing.T, st approvals.Store) {
	t.Helper()
	var now time.Time
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		now = tx.Now()
		return tx.PutRun(&approvals.Run{
			Workspace: ws, ID: "run_1", Place: place, Status: approvals.RunDone, Created: now, Ended: now,
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := approvals.AppendEntryAt(t.Context(), st, ws, now); err != nil {
		t.Fatal(err)
	}
	seal(t, st)
}

// seal links what waits, as a worker would.
func seal(t *testing.T, st approvals.Store) {
	t.Helper()
	if err := approvals.SealNow(t.Context(), st); err != nil {
		t.Fatal(err)
	}
}

// TestRetentionLeavesATrace has a bot be idle for months: it runs, and so its clock is not in doubt.
func TestRetentionLeavesATrace(t *testing.T) {
	t.Parallel()
	data := storetest.NewMemory()
	st := data.Open()
	endOneRun(t, st)
	for range 100 {
		if err := approvals.SweepOld(t.Context(), st, nil, approvals.Retention{Runs: 30 * 24 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		seal(t, st)
		data.Advance(12 * time.Hour)
	}
	traces, gone := 0, 0
	err := approvals.ExportAudit(t.Context(), st, ws, func(e *approvals.AuditEntry) error {
		switch e.Action {
		case approvals.AuditRetention:
			traces++
		case approvals.AuditRunDeleted:
			gone++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if traces < 40 || traces > 50 || gone != 1 {
		t.Errorf("%d traces in 50 days, want one a day; %d runs deleted, want 1", traces, gone)
	}
}

// TestRetentionOfALongState deletes a run whose saved state is too long for one transaction.
func TestRetentionOfALongState(t *testing.T) {
	t.Parallel()
	st := openFor(t)
	endRuns(t, st, 0, 3)
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		for i := range 200 {
			d := agent.Delta{Head: []byte("{}"), From: i, Count: 1, Items: []byte("[1]")}
			if err := tx.PutState(ws, "run_000000001", d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := approvals.SweepOld(t.Context(), st, nil, everythingOld); err != nil {
		t.Fatal(err)
	}
	err = st.View(t.Context(), func(tx approvals.Tx) error {
		left, err := tx.EndedRuns(ws, tx.Now(), 10)
		if len(left) != 0 {
			t.Errorf("left: %q", left)
		}
		if _, _, err := tx.State(ws, "run_000000001"); !errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("state: %v", err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
