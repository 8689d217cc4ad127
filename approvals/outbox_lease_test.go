package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

var errLine = errors.New("the line is broken")

// pacedSurface takes its time for each notification, and counts how often each was shown.
type pacedSurface struct {
	mu    sync.Mutex
	shown map[approvals.NotificationID]int
	pace  func() (time.Duration, error)
}

func (s *pacedSurface) Notify(_ context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	d, err := s.pace()
	time.Sleep(d)
	if err != nil {
		return approvals.Delivery{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown[n.ID]++
	return approvals.Delivery{Channel: "C1", Message: string(n.ID)}, nil
}

// once fails the test unless n notifications were shown, each one time.
func (s *pacedSurface) once(t *testing.T, n int) {
	t.Helper()
	if len(s.shown) != n {
		t.Errorf("%d notifications were shown, want %d", len(s.shown), n)
	}
	for id, times := range s.shown {
		if times > 1 {
			t.Errorf("%s was shown %d times", id, times)
		}
	}
}

// paced makes a bench with a run whose model asks for so many calls, and a surface of that pace.
func paced(t *testing.T, calls int, pace func() (time.Duration, error)) (*bench, *pacedSurface) {
	t.Helper()
	b := newBench(t)
	var all []agent.Item
	for i := range calls {
		all = append(all, call(fmt.Sprintf("c%d", i), "pay", fmt.Sprintf(`{"amount":%d}`, i)))
	}
	b.model(asks(all...))
	s := &pacedSurface{shown: map[approvals.NotificationID]int{}, pace: pace}
	b.worker.Notifier = s
	if err := b.handler(t.Context(), &replica{Store: b.store})(runJob(b.submit())); err != nil {
		t.Fatal(err)
	}
	return b, s
}

// TestPageLongerThanItsLease has a page of which each delivery is quick, and all together are not.
func TestPageLongerThanItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls = 18
		b, s := paced(t, calls, func() (time.Duration, error) { return 4 * time.Second, nil })
		one := b.handler(t.Context(), &replica{Store: b.store})
		two := b.handler(t.Context(), &replica{Store: b.store})
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := one(deliverJob(place)); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(61 * time.Second)
		if _, later := errors.AsType[*approvals.RetryError](two(deliverJob(place))); !later {
			t.Error("another process delivers the page too")
		}
		wg.Wait()
		s.once(t, calls)
		b.store.Close()
	})
}

// TestFailureAfterTheLease has a delivery fail when another process has long delivered the page.
func TestFailureAfterTheLease(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]error{"for now": errLine, "for good": approvals.ErrUndeliverable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				first := true
				b, s := paced(t, 3, func() (time.Duration, error) {
					if first {
						first = false
						return 70 * time.Second, late
					}
					return 0, nil
				})
				one := b.handler(t.Context(), &replica{Store: b.store})
				two := b.handler(t.Context(), &replica{Store: b.store})
				var wg sync.WaitGroup
				wg.Go(func() {
					if err := one(deliverJob(place)); (err == nil) != errors.Is(late, approvals.ErrUndeliverable) {
						t.Error(err)
					}
				})
				time.Sleep(61 * time.Second)
				if err := two(deliverJob(place)); err != nil {
					t.Fatal(err)
				}
				wg.Wait()
				if err := two(deliverJob(place)); err != nil {
					t.Fatal(err)
				}
				s.once(t, 3)
				if dead, err := b.service.DeadLetters(t.Context(), ws, "", 0); err != nil || len(dead) != 0 {
					t.Errorf("%d dead letters of what was delivered, %v", len(dead), err)
				}
				b.store.Close()
			})
		})
	}
}

// TestStoppedWorkerGivesItsLeasesUp stops a worker in the middle of a page.
func TestStoppedWorkerGivesItsLeasesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b, s := paced(t, 3, func() (time.Duration, error) {
			cancel()
			return 0, nil
		})
		one := b.handler(ctx, &replica{Store: b.store})
		two := b.handler(t.Context(), &replica{Store: b.store})
		if err := one(deliverJob(place)); !errors.Is(err, context.Canceled) {
			t.Errorf("the stopped worker: %v", err)
		}
		if err := two(deliverJob(place)); err != nil {
			t.Errorf("the rest of the stopped worker's page: %v", err)
		}
		s.once(t, 3)
		b.store.Close()
	})
}

// TestCardOfADeletedRun has a card wait that shows nothing any more: what is behind it is delivered.
func TestCardOfADeletedRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.CancelRun(t.Context(), ws, id, ann, ""); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Update(t.Context(), func(tx approvals.Tx) error { return tx.DeleteRun(ws, id) }); err != nil {
		t.Fatal(err)
	}
	if err := step(deliverJob(place)); err != nil {
		t.Error(err)
	}
	if all := b.surface.all(); len(all) != 1 || all[0].kind != approvals.NotifyNotice {
		t.Errorf("shown: %+v, want the notice alone", all)
	}
	if !b.delivered() {
		t.Error("something is left in the outbox")
	}
}

// TestRunDeletedDuringDelivery deletes the request while its card is on its way.
func TestRunDeletedDuringDelivery(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]error{"shown": nil, "given up": approvals.ErrUndeliverable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var id approvals.RunID
			b.surface.intercept = func(n *approvals.Notification) error {
				err := b.store.Update(b.Context(), func(tx approvals.Tx) error { return tx.DeleteRun(ws, id) })
				return errors.Join(err, outcome)
			}
			step := b.step()
			id = b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if err := step(deliverJob(place)); err != nil {
				t.Error(err)
			}
			if !b.delivered() {
				t.Error("something is left in the outbox")
			}
		})
	}
}
