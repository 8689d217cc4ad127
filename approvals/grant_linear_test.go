package approvals_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"countersign/approvals"
)

// grantOp is what a client of a grant does.
type grantOp string

const (
	opUse    grantOp = "use"    // begin a call under it
	opRevoke grantOp = "revoke" // end it
)

// grantModel is what a grant is to its clients: until it is revoked, so many calls may begin. The state of a grant is
// how many are left, or -1 after it was revoked; the output of an operation is whether it was done.
func grantModel(uses int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return uses },
		Step: func(state, input, output any) (bool, any) {
			left, done := state.(int), output.(bool)
			if input.(grantOp) == opRevoke {
				return done == (left >= 0), -1
			}
			if done {
				return left > 0, left - 1
			}
			return left <= 0, left
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%s: %t", input, output) },
	}
}

// recorded is a store that writes down when transactions on a grant begin and end, and what they do with it. A use is
// done when the intent of an effect under the grant is committed.
type recorded struct {
	approvals.Store
	mu    sync.Mutex
	ops   []porcupine.Operation
	begun time.Time
	// outside has the grant that a transaction reads be the one that was there before it began: a check outside of the
	// transaction.
	outside bool
	before  map[approvals.GrantID]*approvals.Grant
}

type recordedTx struct {
	approvals.Tx
	of      *recorded
	used    bool
	revoked bool
	read    bool
}

func (t *recordedTx) Grant(ws approvals.WorkspaceID, id approvals.GrantID) (*approvals.Grant, error) {
	t.read = true
	g, err := t.Tx.Grant(ws, id)
	if err != nil || !t.of.outside {
		return g, err
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if old, ok := t.of.before[id]; ok {
		was := *old
		return &was, nil
	}
	return g, nil
}

func (t *recordedTx) PutGrant(g *approvals.Grant) error {
	t.revoked = t.revoked || !g.Revoked.IsZero() && g.RevokedVia != ""
	return t.Tx.PutGrant(g)
}

func (t *recordedTx) PutEffect(e *approvals.EffectRecord) error {
	t.used = t.used || e.Grant != "" && e.Done.IsZero()
	return t.Tx.PutEffect(e)
}

func (r *recorded) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	call := time.Since(r.begun)
	var last *recordedTx
	err := r.Store.Update(ctx, func(tx approvals.Tx) error {
		last = &recordedTx{Tx: tx, of: r}
		return fn(last)
	})
	if last == nil || !last.read {
		return err
	}
	op := porcupine.Operation{
		Input: opUse, Call: int64(call), Output: err == nil && last.used, Return: int64(time.Since(r.begun)),
	}
	if last.revoked {
		op.Input, op.Output = opRevoke, err == nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	op.ClientId = len(r.ops)
	r.ops = append(r.ops, op)
	return err
}

// race gives a grant for so many uses, has more runs than that use it at once, and revokes it in between. It returns
// what the store has seen.
func race(t *testing.T, outside bool, uses, runs int, pause time.Duration) []porcupine.Operation {
	t.Helper()
	b, r := granting(t)
	g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeChannel, Uses: uses})
	b.stop()
	st := &recorded{Store: b.store, begun: time.Now(), outside: outside}
	sound := g.Grant
	st.before = map[approvals.GrantID]*approvals.Grant{g.ID: &sound}
	b.serve(st)
	b.worker.Store = st
	b.start()
	var all []approvals.RunID
	for i := range runs {
		all = append(all, b.submitAt(approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprintf("7.%d", i)}))
		if i == runs/2 {
			begun := 1 // under the grant, so that there is something to see
			if outside {
				begun = uses + 1 // nothing keeps them, so it is only a matter of time
			}
			b.until("calls under the grant", func() bool { return len(b.effects.all()) > begun })
			time.Sleep(pause) // only to vary where the revocation falls
			_, err := b.service.RevokeGrant(t.Context(), approvals.Revocation{
				Workspace: ws, Grant: g.ID, By: bob, Via: "command",
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, id := range all {
		b.until("the run to end or wait", func() bool {
			s := b.run(id).Status
			return s.Ended() || s == approvals.RunWaiting
		})
	}
	b.stop()
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.ops
}

// TestGrantLinearizable races calls under a grant against its revocation and its last use: what the clients of the
// store see is what they would see one after the other. The control, in which the check rests on what was read before
// the transaction, is not.
func TestGrantLinearizable(t *testing.T) {
	t.Parallel()
	uses := 0
	for round := range 6 {
		n := 2 + rand.IntN(5)
		ops := race(t, false, n, 9, time.Duration(round)*300*time.Microsecond)
		if !porcupine.CheckOperations(grantModel(n), ops) {
			t.Fatalf("not linearizable, with %d uses: %v", n, ops)
		}
		for _, op := range ops {
			if op.Input == opUse && op.Output == true {
				uses++
			}
		}
	}
	if uses == 0 {
		t.Error("no call was made under a grant: the test shows nothing")
	}
	if ops := race(t, true, 2, 9, 0); porcupine.CheckOperations(grantModel(2), ops) {
		t.Errorf("control: a check outside of the transaction passes too: %v", ops)
	}
}
