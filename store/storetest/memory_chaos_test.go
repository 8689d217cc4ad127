package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

func TestChaosRerun(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		m.Unreliable(Chaos{Rerun: true})
		calls := 0
		s.update(func(tx approvals.Tx) error {
			calls++
			if fresh, err := tx.Once(ws, "event", now()); err != nil || !fresh {
				t.Errorf("call %d sees what the one before did: %v", calls, err)
			}
			return tx.PutRun(run("run_1", approvals.RunQueued))
		})
		s.view(func(tx approvals.Tx) error {
			calls++
			return nil
		})
		if calls != 4 {
			t.Errorf("%d calls of two closures, want 4", calls)
		}
		err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
			if calls++; calls == 5 {
				return errors.New("thrown away")
			}
			return approvals.ErrConflict
		})
		if err != approvals.ErrConflict {
			t.Errorf("update: %v, want the second outcome", err)
		}
	})
}

// TestChaosDefer checks what a deferred put may do that another may not.
func TestChaosDefer(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		m.Unreliable(Chaos{Defer: true})
		missing := head("req_1", approvals.RequestApproved)
		err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
			if err := tx.PutRequestHead(missing); err != nil {
				t.Errorf("the put was not deferred: %v", err)
			}
			return tx.PutRun(run("run_1", approvals.RunQueued))
		})
		if !errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("update: %v, want ErrNotFound", err)
		}
		err = s.store.Update(s.ctx, func(tx approvals.Tx) error {
			if err := tx.PutRequestHead(missing); err != nil {
				return err
			}
			if _, err := tx.Run(ws, "run_1"); !errors.Is(err, approvals.ErrNotFound) {
				t.Errorf("a read behind the put: %v, want its ErrNotFound", err)
			}
			return tx.PutEffect(effect("eff_1")) // as if nothing had been
		})
		if !errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("update in a spoiled transaction: %v, want ErrNotFound", err)
		}
		s.expect(false)
	})
}

func TestChaosUnknown(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		m.Unreliable(Chaos{Unknown: 0.3})
		const many = 500
		var unknown, committed int
		for i := range many {
			id := fmt.Sprint(i)
			told := s.store.Update(s.ctx, func(tx approvals.Tx) error { return tx.PutEffect(effect(id)) })
			there := false
			s.view(func(tx approvals.Tx) error {
				_, err := tx.Effect(ws, "run_1", id)
				there = err == nil
				return nil
			})
			switch {
			case errors.Is(told, approvals.ErrCommitUnknown):
				unknown++
				if there {
					committed++
				}
			case told != nil || !there:
				t.Fatalf("update %d: %v, there %v", i, told, there)
			}
		}
		if unknown < many/5 || unknown > many/2 || committed < unknown/4 || committed > unknown*3/4 {
			t.Errorf("of %d, %d were unknown, and %d of these committed", many, unknown, committed)
		}
		m.Unreliable(Chaos{})
		for range 50 {
			s.update(func(tx approvals.Tx) error { return nil })
		}
	})
}

// handouts counts what dispatchers do with jobs.
type handouts struct {
	mu      sync.Mutex
	order   []string // ids in the order in which they were handed out, those of one instant by name
	since   []string // what was handed out at last, and not put in order yet
	last    time.Time
	times   map[string]int
	busy    map[string]int
	at      map[int]int // by dispatcher
	overlap bool
}

func (h *handouts) handler(dispatcher int) handle {
	return func(ctx context.Context, j approvals.Job) error {
		h.enter(dispatcher, j.ID, 1)
		defer h.enter(dispatcher, j.ID, -1)
		time.Sleep(time.Second) // in the bubble
		return nil
	}
}

func (h *handouts) enter(dispatcher int, id string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy[id] += n
	h.overlap = h.overlap || h.busy[id] > 1
	if n > 0 {
		if at := time.Now(); !at.Equal(h.last) {
			h.last = at
			h.flush()
		}
		h.since = append(h.since, id)
		h.times[id]++
		h.at[dispatcher]++
	}
}

func (h *handouts) flush() {
	slices.Sort(h.since)
	h.order = append(h.order, h.since...)
	h.since = nil
}

// handOut enqueues jobs, has three stores handle them, and returns what they did when all is quiet.
func handOut(t *testing.T, c Chaos, jobs int) *handouts {
	h := &handouts{times: map[string]int{}, busy: map[string]int{}, at: map[int]int{}}
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		m.Unreliable(c)
		for i := range 3 {
			store := s.replica()
			defer s.dispatchOn(store, h.handler(i))()
		}
		for i := range jobs {
			s.enqueue(job(fmt.Sprintf("%04d", i)))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
	})
	h.flush()
	return h
}

func TestChaosJobs(t *testing.T) {
	t.Parallel()
	const jobs = 200
	calm := handOut(t, Chaos{}, jobs)
	if len(calm.times) != jobs || len(calm.order) != jobs || calm.overlap || !slices.IsSorted(calm.order) {
		t.Errorf("control: %d jobs were handled, %d times, at once %v", len(calm.times), len(calm.order), calm.overlap)
	}
	h := handOut(t, Chaos{Seed: 1, Late: 0.3, Twice: 0.3, Delay: 2 * time.Second}, jobs)
	if len(h.times) != jobs {
		t.Errorf("%d of %d jobs were handled", len(h.times), jobs)
	}
	if n := len(h.order) - jobs; n < jobs/5 || n > jobs/2 {
		t.Errorf("%d of %d jobs were handled twice", n, jobs)
	}
	if !h.overlap || slices.IsSorted(h.order) || len(h.at) != 3 {
		t.Errorf("at once %v, in order %v, by %d dispatchers", h.overlap, slices.IsSorted(h.order), len(h.at))
	}
}

// TestChaosLoses loses jobs until they are enqueued again, and only those that it may.
func TestChaosLoses(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		m.Unreliable(Chaos{Lose: 1, LoseKinds: []approvals.JobKind{approvals.JobRun}})
		ids, handle := handled()
		defer s.dispatch(handle)()
		card := job("card")
		card.Kind = approvals.JobDeliver
		s.enqueue(job("lost"), card)
		if id := await(s, "the card", ids); id != "card" {
			t.Errorf("%q was handled", id)
		}
		time.Sleep(24 * time.Hour)
		m.Unreliable(Chaos{})
		time.Sleep(24 * time.Hour)
		if len(ids) != 0 {
			t.Error("a lost job was handled")
		}
		s.enqueue(job("lost"))
		if id := await(s, "the job that was lost", ids); id != "lost" {
			t.Errorf("%q was handled", id)
		}
	})
}

// TestChaosSeed checks that the same seed makes the same of the same work.
func TestChaosSeed(t *testing.T) {
	t.Parallel()
	orders := map[uint64][]string{}
	for _, seed := range []uint64{1, 2, 1} {
		h := handOut(t, Chaos{Seed: seed, Late: 0.5, Twice: 0.5, Delay: time.Second}, 50)
		if before := orders[seed]; before != nil && !slices.Equal(before, h.order) {
			t.Errorf("seed %d made %v, and then %v", seed, before, h.order)
		}
		orders[seed] = h.order
	}
	if slices.Equal(orders[1], orders[2]) {
		t.Error("two seeds make the same")
	}
}

// TestHavoc keeps the promises about records under the worst of it: all that differs is that an Update may not know
// of its commit, and then looks.
func TestHavoc(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		m.Unreliable(Havoc(7))
		s.store = retries{s.store}
		s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_1", approvals.RunQueued)) })
		var wg sync.WaitGroup
		for range 4 {
			there := retries{s.replica()}
			wg.Go(func() {
				for range 25 {
					if err := there.Update(s.ctx, bump); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		s.expectVersion(100)
	})
}

// retries repeats an Update of unknown outcome, unless it is found to have been committed.
type retries struct{ approvals.Store }

func (r retries) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	event := fmt.Sprint("attempt ", rand.Uint64())
	for {
		err := r.Store.Update(ctx, func(tx approvals.Tx) error {
			if fresh, err := tx.Once(ws, event, tx.Now()); err != nil || !fresh {
				return err
			}
			return fn(tx)
		})
		if !errors.Is(err, approvals.ErrCommitUnknown) {
			return err
		}
	}
}
