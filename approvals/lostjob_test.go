package approvals_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// sluggish is a store whose writes take a while to be committed.
type sluggish struct {
	approvals.Store
	by time.Duration
}

func (s sluggish) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	err := s.Store.Update(ctx, fn)
	time.Sleep(s.by)
	return err
}

// TestExpiryAtTheLastMomentIsNotLost has the job come early, and the time run out while that is found out.
func TestExpiryAtTheLastMomentIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		id := b.submit()
		handle := b.handler(t.Context(), &replica{Store: b.store})
		if err := handle(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.pending(id)[0]
		time.Sleep(time.Until(r.Expires) - time.Millisecond)
		slow := b.handler(t.Context(), sluggish{b.store, time.Second})
		if err := slow(expireJob(r.ID)); err == nil && b.request(r.ID).Status == approvals.RequestPending {
			t.Error("the job is done, and the request waits for ever")
		}
	})
}

// bursting is a store of which one write panics.
type bursting struct {
	approvals.Store
	armed atomic.Bool
}

func (s *bursting) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if s.armed.CompareAndSwap(true, false) {
		panic("a page that is none")
	}
	return s.Store.Update(ctx, fn)
}

// TestPanicBeforeTheClaimKeepsTheJob has a run whose job panics before anything of it was begun.
func TestPanicBeforeTheClaimKeepsTheJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.submit()
	st := &bursting{Store: b.store}
	handle := b.handler(t.Context(), st)
	st.armed.Store(true)
	if err := handle(runJob(id)); err == nil && !b.run(id).Status.Ended() {
		t.Errorf("the job is done, and the run is %s for ever", b.run(id).Status)
	}
	if err := handle(runJob(id)); err != nil {
		t.Fatal(err)
	}
	b.reaches(id, approvals.RunWaiting)
}
