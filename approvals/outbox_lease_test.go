package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/storetest"
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
				var calls atomic.Int64
				b, s := paced(t, 3, func() (time.Duration, error) {
					if calls.Add(1) == 1 {
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
	if err := b.store.Update(t.Context(), func(tx approvals.Tx) error { return deleteWhole(tx, id) }); err != nil {
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
				err := b.store.Update(b.Context(), func(tx approvals.Tx) error { return deleteWhole(tx, id) })
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

// unreachable is a toolset that cannot be asked for its tools.
type unreachable struct{}

func (unreachable) Name() string                                { return "unreachable" }
func (unreachable) Tools(context.Context) ([]agent.Tool, error) { return nil, errLine }

// TestSweepLeavesBackOffAlone has a run and a delivery fail over and over: looking for work without a job does not
// bring their next tries forward, however many processes look.
func TestSweepLeavesBackOffAlone(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint(replicas, " replicas"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, replicas, storetest.Chaos{})
				var tries atomic.Int64
				c.bench.surface.intercept = func(n *approvals.Notification) error {
					if n.Place == place {
						tries.Add(1)
					}
					return errLine
				}
				c.bench.model(asks(call("c1", "pay", `{"amount":1}`)))
				c.bench.agents.set(approvals.AgentConfig{Agent: &agent.Agent{
					Name: "lost", Model: asks(), Toolsets: []agent.Toolset{unreachable{}},
				}})
				elsewhere := approvals.Place{Surface: "slack", Channel: "C1", Thread: "2.1"}
				lost := c.bench.submission(ann, elsewhere, "please")
				lost.Agent = "lost"
				var last approvals.Receipt
				for _, in := range []approvals.Submission{c.bench.submission(ann, place, "please"), lost} {
					var err error
					if last, err = c.service[0].Submit(t.Context(), in); err != nil {
						t.Fatal(err)
					}
				}
				// The toolset was given up, after eight tries and 25.5 s of back-off between them.
				time.Sleep(10 * time.Minute)
				run, err := c.service[0].Run(t.Context(), ws, last.Run)
				if err != nil || !run.Status.Ended() || run.Ended.Sub(run.Created) < 25*time.Second {
					t.Errorf("run %s, which ended after %s: %v", run.Status, run.Ended.Sub(run.Created), err)
				}
				tries.Store(0)
				time.Sleep(10 * time.Minute)
				if n := tries.Load(); n < 5 || n > 13 {
					t.Errorf("%d tries in ten minutes of an outage", n)
				}
				c.stop()
			})
		})
	}
}

// TestLostTimerIsFound loses the job that ends a request in time: that its time has passed is noticed all the same.
func TestLostTimerIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, storetest.Chaos{Lose: 1, LoseKinds: []approvals.JobKind{approvals.JobTimer}})
		c.bench.model(asks(call("c1", "pay", `{"amount":1}`)))
		receipt, err := c.service[0].Submit(t.Context(), c.bench.submission(ann, place, "please"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(lenient().ExpiresIn + 2*time.Minute)
		if r, err := c.service[0].Run(t.Context(), ws, receipt.Run); err != nil || r.Status != approvals.RunDone {
			t.Errorf("the time to answer has passed, and the run is %s, %v", r.Status, err)
		}
		c.stop()
	})
}

// TestToldOnceThatACardCannotBeShown has every version of a card be refused.
func TestToldOnceThatACardCannotBeShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(with(func(q *approvals.Requirement) { quorum(q, 3) }))
	b.model(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)))
	b.surface.intercept = func(n *approvals.Notification) error {
		if n.Kind == approvals.NotifyCard {
			return approvals.ErrUndeliverable
		}
		return nil
	}
	step := b.step()
	id := b.submit()
	if err := errors.Join(step(runJob(id)), step(deliverJob(place))); err != nil {
		t.Fatal(err)
	}
	for _, u := range []approvals.UserID{bob, cara} {
		b.must(b.pending(id)[0], u, approvals.Approve, "")
		if err := step(deliverJob(place)); err != nil {
			t.Fatal(err)
		}
	}
	if told := b.surface.texts(approvals.NotifyNotice); len(told) != 2 || told[0] == told[1] {
		t.Errorf("told of two requests: %q", told)
	}
}

// deleteWhole deletes a run with its requests.
func deleteWhole(tx approvals.Tx, id approvals.RunID) error {
	requests, err := tx.RequestsOfRun(ws, id)
	for _, r := range requests {
		err = errors.Join(err, tx.DeleteRequest(ws, r.ID))
	}
	return errors.Join(err, tx.DeleteRun(ws, id))
}

// handed is a store whose jobs the test hands out itself.
type handed struct {
	approvals.Store
	handlers chan func(context.Context, approvals.Job) error
}

func (h handed) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	h.handlers <- handle
	<-ctx.Done()
	return nil
}

// TestAnotherJobKnowsOfTheFailure delivers a queue by several jobs, each as if it were the first: the later ones learn
// that there were tries, so that the surface looks for what may be there already.
func TestAnotherJobKnowsOfTheFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 0, storetest.Chaos{})
		st := handed{c.data.Open(), make(chan func(context.Context, approvals.Job) error)}
		c.bench.serve(st)
		var tries []bool
		c.bench.surface.intercept = func(n *approvals.Notification) error {
			if n.Kind != approvals.NotifyAnswer {
				return nil
			}
			if tries = append(tries, n.Begun); len(tries) < 3 {
				return errors.New("nobody knows whether it arrived")
			}
			return nil
		}
		c.bench.model(asks(call("c1", "note", `{}`)))
		w, err := approvals.NewWorker(c.bench.worker)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		handle := <-st.handlers
		receipt, err := c.bench.service.Submit(t.Context(), c.bench.submission(ann, place, "please"))
		if err != nil {
			t.Fatal(err)
		}
		if err := handle(ctx, runJob(receipt.Run)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_ = handle(ctx, deliverJob(place)) // the errors are those of the surface
		}
		stop()
		if err := errors.Join(<-done, st.Close()); err != nil {
			t.Fatal(err)
		}
		if want := []bool{false, true, true}; !slices.Equal(tries, want) {
			t.Errorf("whether there was a try before each of the deliveries: %v, want %v", tries, want)
		}
	})
}
