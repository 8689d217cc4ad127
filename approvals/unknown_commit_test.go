package approvals_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

var errNoLine = errors.New("the line is broken")

// severed is a store that commits one Update, cannot tell, and has no line for the next ones.
type severed struct {
	approvals.Store
	mu    sync.Mutex
	n, at int // Updates so far, and which one is of unknown outcome; zero: none
	down  int
}

func (s *severed) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	s.mu.Lock()
	s.n++
	behind := s.n - s.at
	armed := s.at > 0
	s.mu.Unlock()
	switch {
	case armed && behind == 0:
		if err := s.Store.Update(ctx, fn); err != nil {
			return err
		}
		return approvals.ErrCommitUnknown
	case armed && behind > 0 && behind <= s.down:
		return errNoLine
	}
	return s.Store.Update(ctx, fn)
}

// Dispatch does nothing until the end: the test hands out the jobs.
func (s *severed) Dispatch(ctx context.Context, _ func(context.Context, approvals.Job) error) error {
	<-ctx.Done()
	return nil
}

// TestUnknownCommitBeforeAnotherError has a transaction of a run be committed without anybody knowing, and the next
// ones fail. The worker finds out by itself what it had begun: nobody is asked what became of a call.
func TestUnknownCommitBeforeAnotherError(t *testing.T) {
	t.Parallel()
	for i := range 22 {
		at, down := 1+i/2, 1+7*(i%2)
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.serve(&mortal{Store: b.store})
			one := b.handler(t.Context(), &replica{Store: b.store})
			id := b.submit()
			if err := one(runJob(id)); err != nil {
				t.Fatal(err)
			}
			b.must(b.pending(id)[0], bob, approvals.Approve, "")
			two := b.handler(t.Context(), &severed{Store: b.store, at: at, down: down})
			var errs []error
			for range 12 {
				err := two(runJob(id))
				errs = append(errs, err)
				if err == nil {
					break
				}
				time.Sleep(20 * time.Second)
			}
			for _, q := range b.requests(id) {
				if q.Kind == agent.OutcomeUnknown {
					t.Errorf("transaction %d, then %d: people are asked what became of a call: %v", at, down, errs)
				}
			}
			if n, run := len(b.effects.all()), b.run(id); n != 1 || run.Status != approvals.RunDone {
				t.Errorf("transaction %d, then %d: %d effects, the run is %s: %v", at, down, n, run.Status, errs)
			}
			b.store.Close()
		})
	}
}

// serviceOn returns the bench's service on another store.
func (b *bench) serviceOn(st approvals.Store) *approvals.Service {
	b.Helper()
	service, err := approvals.NewService(approvals.ServiceConfig{
		Store: st, Policy: b.policy, Directory: b.people, Agents: b.agents,
		Requesters: approvals.Approvers{ChannelMembers: true},
	})
	if err != nil {
		b.Fatal(err)
	}
	return service
}

// TestDecisionOfUnknownCommit has a decision be committed without anybody knowing, and the line stay broken: whoever
// decided is told that it may be recorded. The control is a line that was broken before.
func TestDecisionOfUnknownCommit(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 0} {
		b := newBench(t)
		id := b.submit()
		if err := b.handler(t.Context(), &replica{Store: b.store})(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.pending(id)[0]
		var st approvals.Store = &severed{Store: b.store, at: at, down: 1000}
		if at == 0 {
			st = &replica{Store: b.store, broken: errNoLine}
		}
		b.serve(&mortal{Store: b.store})
		b.service = b.serviceOn(st)
		_, err := b.decide(r, bob, approvals.Approve, "")
		if !errors.Is(err, errNoLine) || errors.Is(err, approvals.ErrCommitUnknown) != (at == 1) {
			t.Errorf("transaction %d: the person is told %v", at, err)
		}
	}
}

// TestRefusalOfUnknownCommit has somebody who may not ask be refused, without anybody knowing whether that was
// recorded.
func TestRefusalOfUnknownCommit(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{true, false} {
		b := newBench(t)
		service := b.serviceOn(&doubtful{Store: b.store, committed: committed, at: 1})
		receipt, err := service.Submit(t.Context(), b.submission(out, place, "please"))
		if !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("committed %v: told %+v, %v", committed, receipt, err)
		}
	}
}
