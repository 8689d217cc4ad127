package approvals_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals"
)

// later is a store whose clock can be put forward: now, or from the next time on that a grant is looked at before its
// use, which is right before the intent.
type later struct {
	approvals.Store
	by    atomic.Int64
	atUse atomic.Int64
}

type laterTx struct {
	approvals.Tx
	of   *later
	view bool
}

func (t laterTx) Now() time.Time { return t.Tx.Now().Add(time.Duration(t.of.by.Load())) }

func (t laterTx) Grant(ws approvals.WorkspaceID, id approvals.GrantID) (*approvals.Grant, error) {
	if t.view {
		t.of.by.Add(t.of.atUse.Swap(0))
	}
	return t.Tx.Grant(ws, id)
}

// Enqueue plans jobs by the clock of the store beneath, which hands them out.
func (t laterTx) Enqueue(jobs ...approvals.Job) error {
	for i := range jobs {
		if !jobs[i].Due.IsZero() {
			jobs[i].Due = jobs[i].Due.Add(-time.Duration(t.of.by.Load()))
		}
	}
	return t.Tx.Enqueue(jobs...)
}

func (s *later) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.View(ctx, func(tx approvals.Tx) error { return fn(laterTx{tx, s, true}) })
}

func (s *later) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.Update(ctx, func(tx approvals.Tx) error { return fn(laterTx{tx, s, false}) })
}

// delayed is granting on a store whose clock can be put forward, with a grant for an hour.
func delayed(t *testing.T) (*bench, *later, approvals.GrantView) {
	t.Helper()
	b := newBench(t)
	st := &later{Store: b.store}
	b.serve(st)
	b.policy.always(generous())
	b.start()
	b.pays(`{"amount":5,"to":"acme"}`)
	g := b.granted(b.question(b.submit()), bob, approvals.AlwaysApprove, approvals.GrantTerms{
		Scope: approvals.ScopeThread, TTL: time.Hour,
	})
	return b, st, g
}

// TestGrantExpires puts the clock forward.
func TestGrantExpires(t *testing.T) {
	t.Parallel()
	b, st, g := delayed(t)
	st.by.Store(int64(59 * time.Minute))
	b.unasked(place, `{"amount":7}`)
	st.by.Store(int64(61 * time.Minute))
	b.asked(place, `{"amount":7}`)
	if state, _ := b.state(g.ID); state != approvals.GrantExpired {
		t.Errorf("the grant is %s", state)
	}
}

// TestGrantExpiresAtUse has a grant expire between its choice and the intent: the call is asked about, and the trail
// says why.
func TestGrantExpiresAtUse(t *testing.T) {
	t.Parallel()
	b, st, g := delayed(t)
	st.atUse.Store(int64(61 * time.Minute))
	b.asked(place, `{"amount":7}`)
	found := false
	for _, e := range b.entries() {
		if e.Action == approvals.AuditGrantLapsed {
			found = true
			if fact(e, "grant") != string(g.ID) || fact(e, "why") != "expired" {
				t.Errorf("the trail says %s", e.Data)
			}
		}
	}
	if !found {
		t.Error("the trail does not say that a grant had expired at its use")
	}
	b.trail()
}

// TestGrantCrash has the process die at every write of a run that pays under a grant, before and behind the commit: the
// call runs at most once, the use is counted once, people are told or asked, and the trail verifies.
func TestGrantCrash(t *testing.T) {
	t.Parallel()
	for _, behind := range []bool{false, true} {
		for n := 1; ; n++ {
			b, r := granting(t)
			b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread, Uses: 5})
			b.until("what is to be told", func() bool { return b.delivered() })
			b.pays(`{"amount":7}`)
			run := b.submit()
			b.mortal.dieAt(n, behind)
			b.until("the end, a question or a crash", func() bool {
				return b.mortal.dead.Load() || b.stored(run).Status.Ended() && b.delivered()
			})
			b.mortal.dieAt(0, false)
			b.stop()
			died := b.mortal.dead.Load()
			b.reopen()
			b.start()
			b.until("the end or a question", func() bool {
				return b.run(run).Status.Ended() || b.run(run).Status == approvals.RunWaiting
			})
			asked, paid := len(b.pending(run)), len(b.effects.all())-1
			g := b.grants()[0]
			if paid > 1 || g.Used > 1 || paid > g.Used || asked == 0 && paid != 1 {
				t.Errorf("death at write %d, behind %t: %d payments, %d uses, %d questions",
					n, behind, paid, g.Used, asked)
			}
			b.trail()
			b.stop()
			if !died {
				break
			}
		}
	}
}

// stored is run read from the store itself, which outlives its process.
func (b *bench) stored(id approvals.RunID) (r *approvals.Run) {
	b.Helper()
	err := b.store.View(b.Context(), func(tx approvals.Tx) (err error) {
		r, err = tx.Run(ws, id)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}
