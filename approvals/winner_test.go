package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"countersign/approvals"
)

// answer is one operation on a request: somebody's verdict, a cancellation, or a look (no person).
type answer struct {
	by      approvals.UserID
	verdict approvals.Verdict
}

// seen is what the operation was told: how the request stands, by whom, and whether this was the operation's doing.
type seen struct {
	status approvals.RequestStatus
	by     approvals.UserID
	won    bool
}

// oneWinner says that a request behaves like a register that is written once.
var oneWinner = porcupine.Model{
	Init: func() any { return seen{status: approvals.RequestPending} },
	Step: func(state, input, output any) (bool, any) {
		was, in, out := state.(seen), input.(answer), output.(seen)
		now := seen{status: out.status, by: out.by}
		switch {
		case in.by == "":
			return now == was, was
		case out.won:
			return was.status == approvals.RequestPending && out.by == in.by, now
		}
		return was.status != approvals.RequestPending && now == was, was
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// TestRequestHasOneWinner lets many people answer, cancel and look at the same time and checks that what they are told
// can be put in one order.
func TestRequestHasOneWinner(t *testing.T) {
	t.Parallel()
	rounds := 10
	if *long {
		rounds = 200
	}
	for range rounds {
		history := rush(t)
		if !porcupine.CheckOperations(oneWinner, history) {
			t.Fatalf("no order explains %+v", history)
		}
	}
}

// TestTwoWinnersAreFound is the control: the check refuses a history in which two people win.
func TestTwoWinnersAreFound(t *testing.T) {
	t.Parallel()
	history := rush(t)
	for i, op := range history {
		if out := op.Output.(seen); !out.won && op.Input.(answer).by != "" {
			history[i].Output = seen{approvals.RequestApproved, op.Input.(answer).by, true}
			break
		}
	}
	if porcupine.CheckOperations(oneWinner, history) {
		t.Error("two winners were not noticed")
	}
}

// rush has everybody act on one request at once.
func rush(t *testing.T) []porcupine.Operation {
	t.Helper()
	b, r := asked(t, lenient())
	return rushOn(t, r, b)
}

// rushOn is rush for a request of several processes, each of which serves some of the people.
func rushOn(t *testing.T, r *approvals.Request, processes ...*bench) (history []porcupine.Operation) {
	t.Helper()
	gate := make(chan struct{})
	var mu sync.Mutex
	var all sync.WaitGroup
	begin := time.Now()
	act := func(client int, in answer, do func(context.Context) seen) {
		all.Go(func() {
			<-gate
			call := time.Since(begin)
			out := do(t.Context())
			mu.Lock()
			defer mu.Unlock()
			history = append(history, porcupine.Operation{
				ClientId: client, Input: in, Call: call.Nanoseconds(),
				Output: out, Return: time.Since(begin).Nanoseconds(),
			})
		})
	}
	for i, by := range []approvals.UserID{ann, bob, cara} {
		b := processes[i%len(processes)]
		verdict := []approvals.Verdict{approvals.Approve, approvals.Reject, approvals.AlwaysApprove}[i]
		act(i, answer{by, verdict}, func(context.Context) seen {
			got, err := b.decide(r, by, verdict, "")
			if err != nil && !errors.Is(err, approvals.ErrConflict) {
				t.Error(err)
			}
			return stands(got, err == nil)
		})
	}
	b := processes[len(processes)-1]
	act(3, answer{by: ann}, func(ctx context.Context) seen {
		_, err := b.service.CancelRun(ctx, ws, r.Run, ann, "")
		if err != nil {
			t.Error(err)
		}
		got := b.request(r.ID)
		return stands(got, got.Status == approvals.RequestCancelled)
	})
	for i := range 3 {
		b := processes[i%len(processes)]
		act(4+i, answer{}, func(context.Context) seen { return stands(b.request(r.ID), false) })
	}
	close(gate)
	all.Wait()
	return history
}

// stands is how a request was settled, and by whom.
func stands(r *approvals.Request, won bool) seen {
	s := seen{status: r.Status, by: r.CancelledBy, won: won}
	if d := r.Settler(); d != nil {
		s.by = d.By
	}
	return s
}
