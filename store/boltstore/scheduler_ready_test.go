package boltstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

func enqueueIn(t *testing.T, s *Store, group string, ids ...string) {
	t.Helper()
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		for _, id := range ids {
			err := tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: id, Group: group})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ids returns so many ids that begin with a prefix, in the order of their bytes.
func ids(prefix string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%s%03d", prefix, i))
	}
	return list
}

// TestSlowGroupDelaysNoOther has as many handlers of one group as it has slots that never end, and more of its jobs
// wait: a job of another group is handled all the same.
func TestSlowGroupDelaysNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		var stuck atomic.Int64
		handled := make(chan string, 10)
		stop := dispatch(t, s, func(ctx context.Context, j approvals.Job) error {
			if j.Group == "slow" {
				stuck.Add(1)
				<-ctx.Done()
				return ctx.Err()
			}
			handled <- j.ID
			return nil
		})
		enqueueIn(t, s, "slow", ids("s", 3*defaultWorkers)...)
		synctest.Wait()
		if n := stuck.Load(); n != defaultWorkers {
			t.Errorf("%d handlers of one group at once, want %d", n, defaultWorkers)
		}
		enqueueIn(t, s, "quick", "run_1")
		synctest.Wait()
		if n := len(handled); n != 1 {
			t.Errorf("%d jobs of the other group were handled, want 1", n)
		}
		stop()
	})
}

// TestGroupsTakeTurns checks, with one slot over all, that groups are served in turns and each in its own order.
func TestGroupsTakeTurns(t *testing.T) {
	t.Parallel()
	q := newReadyQueue(maxHandlers, maxHandlers)
	for _, key := range []string{"a1", "a2", "a3", "b1", "c1", "c2"} {
		q.add(key[:1], key)
	}
	var got []string
	for g, key := q.next(); g != nil; g, key = q.next() {
		got = append(got, key)
		q.started(g)
		q.ended(g.name)
	}
	if want := []string{"a1", "b1", "c1", "a2", "c2", "a3"}; !slices.Equal(got, want) {
		t.Errorf("served %q, want %q", got, want)
	}
	if len(q.groups) != 0 || q.running != 0 {
		t.Errorf("%d groups and %d handlers are left", len(q.groups), q.running)
	}
}

// TestHandlersAreBounded has more groups with a waiting job than there may be handlers of one kind.
func TestHandlersAreBounded(t *testing.T) {
	t.Parallel()
	q := newReadyQueue(defaultWorkers, maxHandlers)
	for i := range maxHandlers + 10 {
		q.add(fmt.Sprint(i), fmt.Sprint(i))
	}
	started := 0
	for g, _ := q.next(); g != nil; g, _ = q.next() {
		q.started(g)
		started++
	}
	if started != maxHandlers {
		t.Errorf("%d handlers at once, want %d", started, maxHandlers)
	}
	q.ended("0")
	if g, _ := q.next(); g == nil {
		t.Error("a handler has ended, and nothing takes its place")
	}
}

// TestFullGroupIsNotLookedAt counts how many jobs are looked at while a group without a free slot has many that wait.
func TestFullGroupIsNotLookedAt(t *testing.T) {
	t.Parallel()
	q := newReadyQueue(1, maxHandlers)
	for _, id := range ids("s", 1000) {
		q.add("slow", id)
	}
	g, _ := q.next()
	q.started(g)
	for _, id := range ids("q", 5) {
		q.add("quick", id)
	}
	looked := 0
	for g, _ := q.next(); g != nil; g, _ = q.next() {
		looked++
		q.skipped(g)
	}
	if looked != 5 {
		t.Errorf("%d jobs were looked at, want the 5 of the group with a free slot", looked)
	}
}

// TestGroupChanges enqueues a job that waits for a slot again, for another group: it is handled in a slot of that one.
func TestGroupChanges(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		groups := make(chan string, 10)
		stop := dispatch(t, s, func(ctx context.Context, j approvals.Job) error {
			if j.ID != "moves" {
				<-ctx.Done()
				return ctx.Err()
			}
			groups <- j.Group
			return nil
		})
		enqueueIn(t, s, "slow", append(ids("a", defaultWorkers), "moves")...)
		synctest.Wait()
		enqueueIn(t, s, "quick", "moves")
		synctest.Wait()
		if len(groups) != 1 {
			t.Fatalf("handled %d times, want once", len(groups))
		}
		if got := <-groups; got != "quick" {
			t.Errorf("handled in group %q", got)
		}
		stop()
	})
}

// TestPutOffGroups has a full group with many jobs whose later time comes before that of another group's.
func TestPutOffGroups(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		quick := make(chan time.Time, 1)
		stop := dispatch(t, s, func(ctx context.Context, j approvals.Job) error {
			if j.Group == "slow" {
				<-ctx.Done()
				return ctx.Err()
			}
			quick <- time.Now()
			return nil
		})
		due := time.Now().Add(time.Minute)
		err := s.Update(t.Context(), func(tx approvals.Tx) (err error) {
			for i, id := range ids("s", 3*defaultWorkers) {
				j := approvals.Job{
					Workspace: "T1", Kind: approvals.JobRun, ID: id, Group: "slow", Due: due.Add(time.Duration(i)),
				}
				err = errors.Join(err, tx.Enqueue(j))
			}
			j := approvals.Job{
				Workspace: "T1", Kind: approvals.JobRun, ID: "q", Group: "quick", Due: due.Add(time.Second),
			}
			return errors.Join(err, tx.Enqueue(j))
		})
		if err != nil {
			t.Fatal(err)
		}
		if at := <-quick; !at.Equal(due.Add(time.Second)) {
			t.Errorf("handled %v after it was due", at.Sub(due.Add(time.Second)))
		}
		stop()
	})
}

// TestDeliveriesWaitInTheFile has more queues of the outbox to empty, each in a group of its own, than a worker takes
// at once: the others are not handed over, and keep no memory, until one has ended. Jobs of other kinds are.
func TestDeliveriesWaitInTheFile(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		most := approvals.JobDeliver.AtOnce()
		entered, release := make(chan string, 3*most), make(chan struct{})
		runs := 0
		stop := dispatch(t, s, func(_ context.Context, j approvals.Job) error {
			if j.Kind == approvals.JobDeliver {
				entered <- j.ID
				<-release
			} else {
				runs++
			}
			return nil
		})
		err := s.Update(t.Context(), func(tx approvals.Tx) error {
			for _, id := range ids("d", 2*most) {
				j := approvals.Job{Workspace: "T1", Kind: approvals.JobDeliver, ID: id, Group: id}
				if err := tx.Enqueue(j); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(entered); n != most {
			t.Errorf("%d deliveries at once, want %d", n, most)
		}
		enqueueIn(t, s, "g", "run_1")
		synctest.Wait()
		if runs != 1 {
			t.Errorf("%d runs were handled beside the deliveries, want 1", runs)
		}
		release <- struct{}{}
		synctest.Wait()
		if n := len(entered); n != most+1 {
			t.Errorf("%d deliveries have begun when one has ended, want %d", n, most+1)
		}
		close(release)
		synctest.Wait()
		if n := len(entered); n != 2*most {
			t.Errorf("%d deliveries in all, want %d", n, 2*most)
		}
		stop()
	})
}
