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

// replica is a store as one of several processes sees it: it proves nothing about the others, and can be frozen or
// made to fail, as a stopped process or a broken line would be.
type replica struct {
	approvals.Store
	mu     sync.Mutex
	thaw   chan struct{} // not nil: every write waits for it
	broken error
}

func (r *replica) state() (chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.thaw, r.broken
}

func (r *replica) freeze() (thaw func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan struct{})
	r.thaw = c
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.thaw = nil
		close(c)
	}
}

func (r *replica) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
}

func (r *replica) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	thaw, err := r.state()
	if thaw != nil {
		<-thaw
	}
	if err != nil {
		return err
	}
	return r.Store.Update(ctx, fn)
}

// Dispatch does nothing until the end: the test hands out the jobs.
func (r *replica) Dispatch(ctx context.Context, _ func(context.Context, approvals.Job) error) error {
	<-ctx.Done()
	return nil
}

// handler returns what a worker on the replica does with a job. Cancelling ctx stops the worker.
func (b *bench) handler(ctx context.Context, st approvals.Store) func(approvals.Job) error {
	b.Helper()
	got := make(chan func(context.Context, approvals.Job) error, 1)
	cfg := b.worker
	cfg.Store = handing{st, got}
	w, err := approvals.NewWorker(cfg)
	if err != nil {
		b.Fatal(err)
	}
	if err := w.Run(ctx); err != nil {
		b.Fatal(err)
	}
	handle := <-got
	return func(j approvals.Job) error { return handle(ctx, j) }
}

// handing is a store whose Dispatch hands out its handler and returns.
type handing struct {
	approvals.Store
	got chan func(context.Context, approvals.Job) error
}

func (h handing) Exclusive() bool {
	e, ok := h.Store.(approvals.Exclusive)
	return ok && e.Exclusive()
}

func (h handing) Dispatch(_ context.Context, handle func(context.Context, approvals.Job) error) error {
	h.got <- handle
	return nil
}

// slow makes the tool take its time, unless its context ends before.
func (b *bench) slow(m agent.Model, name string, d time.Duration) {
	tools := b.tools()
	for i := range tools {
		if tools[i].Name != name {
			continue
		}
		work := tools[i].Invoke
		tools[i].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			out, err := work(ctx, c)
			select {
			case <-time.After(d):
				return out, err
			case <-ctx.Done():
				return agent.ToolOutput{}, context.Cause(ctx)
			}
		}
	}
	b.agent(m, tools...)
}

// TestZombieWritesNothing stops a worker in the middle of a model call, has another take its run over, and wakes it.
func TestZombieWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		wake := make(chan struct{})
		b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			if len(outputs(req)) > 0 {
				return asks()(req)
			}
			first := wake
			if wake = nil; first != nil {
				<-first
				return []agent.Item{call("zombie", "note", `{}`)}, nil
			}
			return []agent.Item{call("living", "note", `{}`)}, nil
		}))
		first := wake
		b.worker.Renew = 14 * time.Second // a process that was stopped does not notice by itself
		a := &replica{Store: b.store}
		id := b.submit()
		zombie := make(chan error, 1)
		go func() { zombie <- b.handler(t.Context(), a)(runJob(id)) }()
		synctest.Wait() // in its model call
		thaw := a.freeze()
		other := b.handler(t.Context(), &replica{Store: b.store})
		if err := other(runJob(id)); !isRetry(err) {
			t.Fatalf("took a run whose lease holds: %v", err)
		}
		time.Sleep(16 * time.Second)
		if err := other(runJob(id)); err != nil {
			t.Fatal(err)
		}
		done := b.run(id)
		close(first)
		synctest.Wait()
		thaw()
		if err := <-zombie; !errors.Is(err, approvals.ErrFenced) {
			t.Errorf("the zombie ended with %v", err)
		}
		if got := b.effects.all(); len(got) != 1 {
			t.Errorf("effects %v", got)
		}
		if got := b.run(id); got.Version != done.Version || got.Status != approvals.RunDone {
			t.Errorf("the zombie changed the run: %s, version %d, was %d", got.Status, got.Version, done.Version)
		}
		b.trail()
		b.store.Close()
	})
}

func isRetry(err error) bool {
	_, ok := errors.AsType[*approvals.RetryError](err)
	return ok
}

// TestOwnLeaseIsTakenBack has a worker fail to settle a run that it holds: it does not wait for its own lease to end.
func TestOwnLeaseIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := &replica{Store: b.store}
	b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		a.fail(errors.New("no route to host"))
		return asks(call("c1", "pay", `{}`))(req)
	}))
	id := b.submit()
	handle := b.handler(t.Context(), a)
	if err := handle(runJob(id)); err == nil || isRetry(err) || b.run(id).Status != approvals.RunRunning {
		t.Fatalf("%v; the run is %s", err, b.run(id).Status)
	}
	a.fail(nil)
	b.model(asks(call("c1", "pay", `{}`)))
	if err := b.handler(t.Context(), &replica{Store: b.store})(runJob(id)); !isRetry(err) {
		t.Errorf("control: another worker took it: %v", err)
	}
	if err := handle(runJob(id)); err != nil || b.run(id).Status != approvals.RunWaiting {
		t.Errorf("%v; the run is %s", err, b.run(id).Status)
	}
}

// TestLeaseIsRenewedWhileAToolRuns has a tool outlast four leases while another worker tries to take the run.
func TestLeaseIsRenewedWhileAToolRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.slow(asks(call("c1", "note", `{}`)), "note", time.Minute)
		id := b.submit()
		done := make(chan error, 1)
		go func() { done <- b.handler(t.Context(), &replica{Store: b.store})(runJob(id)) }()
		other := b.handler(t.Context(), &replica{Store: b.store})
		for range 5 {
			time.Sleep(11 * time.Second)
			if err := other(runJob(id)); !isRetry(err) {
				t.Fatalf("took a run whose lease is renewed: %v", err)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := b.run(id); got.Status != approvals.RunDone || got.Epoch != 1 || len(b.effects.all()) != 1 {
			t.Errorf("%s at epoch %d, effects %v", got.Status, got.Epoch, b.effects.all())
		}
		b.store.Close()
	})
}

// TestLostLeaseCancelsTheTool cuts a worker off from the store while its tool runs.
func TestLostLeaseCancelsTheTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.slow(asks(call("c1", "note", `{}`)), "note", time.Hour)
		id := b.submit()
		a := &replica{Store: b.store}
		done := make(chan error, 1)
		go func() { done <- b.handler(t.Context(), a)(runJob(id)) }()
		synctest.Wait()
		a.fail(errors.New("no route to host"))
		begin := time.Now()
		if err := <-done; err == nil {
			t.Error("the job counts as done")
		}
		if took := time.Since(begin); took < 15*time.Second || took > 20*time.Second {
			t.Errorf("the tool was cancelled after %s", took)
		}
		if err := b.handler(t.Context(), &replica{Store: b.store})(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.question(id); got.Kind != agent.OutcomeUnknown {
			t.Errorf("question of kind %s", got.Kind)
		}
		b.store.Close()
	})
}

// TestLateOutputIsTaken has a tool end after its worker was given up and the question about it was put.
func TestLateOutputIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		tools := b.tools()
		work := tools[1].Invoke
		tools[1].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			time.Sleep(time.Minute) // heeds no context
			return work(ctx, c)
		}
		b.agent(asks(call("c1", "note", `{}`)), tools...)
		id := b.submit()
		a := &replica{Store: b.store}
		late := make(chan error, 1)
		go func() { late <- b.handler(t.Context(), a)(runJob(id)) }()
		synctest.Wait()
		a.fail(errors.New("no route to host"))
		time.Sleep(30 * time.Second)
		other := b.handler(t.Context(), &replica{Store: b.store})
		if err := other(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.question(id)
		a.fail(nil)
		if err := <-late; err == nil {
			t.Error("the given-up worker thinks it has ended the run")
		}
		got := b.request(r.ID)
		if got.Status != approvals.RequestStale || got.Note != "The call has finished after all." {
			t.Errorf("the question is %s, %q", got.Status, got.Note)
		}
		if err := other(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.run(id); got.Output != "c1: note done" || len(b.effects.all()) != 1 {
			t.Errorf("%s: output %q, effects %v", got.Status, got.Output, b.effects.all())
		}
		b.trail()
		b.store.Close()
	})
}

// TestLateOutputOfAnEarlierAttemptIsRefused has it arrive while the call is being repeated with permission.
func TestLateOutputOfAnEarlierAttemptIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		tools := b.tools()
		work := tools[1].Invoke
		tools[1].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			time.Sleep(time.Minute) // heeds no context
			return work(ctx, c)
		}
		b.agent(asks(call("c1", "note", `{}`)), tools...)
		id := b.submit()
		a := &replica{Store: b.store}
		late := make(chan error, 1)
		go func() { late <- b.handler(t.Context(), a)(runJob(id)) }()
		synctest.Wait()
		a.fail(errors.New("no route to host"))
		time.Sleep(30 * time.Second)
		other := b.handler(t.Context(), &replica{Store: b.store})
		if err := other(runJob(id)); err != nil {
			t.Fatal(err)
		}
		b.must(b.question(id), bob, approvals.Retry, "")
		again := make(chan error, 1)
		go func() { again <- other(runJob(id)) }()
		synctest.Wait()
		a.fail(nil)
		if err := <-late; err == nil {
			t.Error("the earlier attempt was recorded")
		}
		if n := b.count(approvals.AuditEffectDone); n != 0 {
			t.Errorf("%d outputs recorded while the call runs", n)
		}
		if err := <-again; err != nil {
			t.Fatal(err)
		}
		if got := b.run(id); got.Status != approvals.RunDone || b.count(approvals.AuditEffectDone) != 1 {
			t.Errorf("run is %s, %d outputs recorded", got.Status, b.count(approvals.AuditEffectDone))
		}
		b.store.Close()
	})
}

func TestStoppingWorkerDrains(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		takes  time.Duration
		within time.Duration
		asks   bool // whether the outcome is unknown afterwards
	}{
		{"a tool that ends in time is recorded", 3 * time.Second, 3 * time.Second, false},
		{"a tool that does not is cancelled", 10 * time.Second, 5 * time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.slow(asks(call("c1", "note", `{}`)), "note", tt.takes)
				id := b.submit()
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- b.handler(ctx, b.store)(runJob(id)) }()
				synctest.Wait()
				begin := time.Now()
				stop()
				if err := <-done; !isRetry(err) {
					t.Errorf("the job ended with %v", err)
				}
				if took := time.Since(begin); took != tt.within {
					t.Errorf("drained for %s", took)
				}
				if got := b.run(id); got.Status != approvals.RunQueued || got.Owner != "" {
					t.Errorf("left behind as %s of %q", got.Status, got.Owner)
				}
				if err := b.handler(t.Context(), b.store)(runJob(id)); err != nil {
					t.Fatal(err)
				}
				if asked := len(b.pending(id)) == 1; asked != tt.asks || len(b.effects.all()) != 1 {
					t.Errorf("asked %v; effects %v; run %s", asked, b.effects.all(), b.run(id).Status)
				}
				b.store.Close()
			})
		})
	}
}

func TestStoppingWorkerDoesNotWaitForAModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.agents.set(approvals.AgentConfig{Agent: &agent.Agent{Name: "ops", Model: blocked{}}})
		id := b.submit()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.handler(ctx, b.store)(runJob(id)) }()
		synctest.Wait()
		begin := time.Now()
		stop()
		<-done
		if took := time.Since(begin); took != 0 {
			t.Errorf("stopped after %s", took)
		}
		if got := b.run(id); got.Status != approvals.RunQueued {
			t.Errorf("left behind as %s", got.Status)
		}
		b.store.Close()
	})
}

// blocked is a model that answers never.
type blocked struct{}

func (blocked) Respond(ctx context.Context, _ *agent.ModelRequest) (*agent.ModelResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestCancelStopsARunningTool cancels a run while its tool works.
func TestCancelStopsARunningTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.slow(asks(call("c1", "note", `{}`)), "note", time.Hour)
		id := b.submit()
		done := make(chan error, 1)
		go func() { done <- b.handler(t.Context(), b.store)(runJob(id)) }()
		synctest.Wait()
		if _, err := b.service.CancelRun(t.Context(), ws, id, bob, ""); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("nothing waits for bob: %v", err)
		}
		if _, err := b.service.CancelRun(t.Context(), ws, id, ann, ""); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		<-done
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("the tool was cancelled after %s", took)
		}
		if got := b.run(id); got.Status != approvals.RunCancelled {
			t.Errorf("run is %s", got.Status)
		}
		b.store.Close()
	})
}

// TestExpiry lets the time for an answer pass.
func TestExpiry(t *testing.T) {
	t.Parallel()
	const rejected = "c1: This call was not carried out: nobody answered the request for approval in time. " +
		"No person has rejected it."
	for _, tt := range []struct {
		how     approvals.OnExpiry
		request approvals.RequestStatus
		run     approvals.RunStatus
		output  string
	}{
		{approvals.ExpiryReject, approvals.RequestExpired, approvals.RunDone, rejected},
		{approvals.ExpiryCancel, approvals.RequestExpired, approvals.RunCancelled, ""},
		{approvals.ExpiryKeep, approvals.RequestPending, approvals.RunWaiting, ""},
		// What nobody has written down is the strict one.
		{"", approvals.RequestExpired, approvals.RunDone, rejected},
	} {
		t.Run(string(tt.how), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.policy.always(with(func(q *approvals.Requirement) { q.OnExpiry = tt.how }))
				b.start()
				id := b.submit()
				synctest.Wait()
				r := b.pending(id)[0]
				time.Sleep(59 * time.Minute)
				synctest.Wait()
				if got := b.request(r.ID); got.Status != approvals.RequestPending {
					t.Fatalf("settled early: %s", got.Status)
				}
				time.Sleep(time.Minute + time.Second)
				synctest.Wait()
				if got := b.request(r.ID); got.Status != tt.request {
					t.Errorf("request is %s", got.Status)
				}
				if got := b.run(id); got.Status != tt.run || got.Output != tt.output {
					t.Errorf("run is %s: %q", got.Status, got.Output)
				}
				if _, err := b.decide(r, bob, approvals.Approve, ""); (err == nil) != (tt.how == approvals.ExpiryKeep) {
					t.Errorf("a late answer: %v", err)
				}
				time.Sleep(time.Second) // a card that is brought up to date waits for company to be recorded with
				synctest.Wait()
				if n := len(b.effects.all()); (n == 1) != (tt.how == approvals.ExpiryKeep) {
					t.Errorf("%d effects", n)
				}
				b.invariants("after expiry")
				b.stop()
				b.store.Close()
			})
		})
	}
}

// TestExpiryIsFoundByTheClick has the click arrive before the job that would expire the request.
func TestExpiryIsFoundByTheClick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.pending(id)[0]
		if err := step(expireJob(r.ID)); !isRetry(err) {
			t.Errorf("a job that comes early: %v", err)
		}
		time.Sleep(time.Hour + time.Second)
		got, err := b.decide(r, bob, approvals.Approve, "")
		if !errors.Is(err, approvals.ErrExpired) || got.Status != approvals.RequestExpired {
			t.Fatalf("have %v, %s", err, got.Status)
		}
		if err := step(expireJob(r.ID)); err != nil {
			t.Errorf("the job afterwards: %v", err)
		}
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.run(id); got.Status != approvals.RunDone || len(b.effects.all()) != 0 {
			t.Errorf("run is %s, effects %v", got.Status, b.effects.all())
		}
		if n := b.count(approvals.AuditRequestExpired); n != 1 {
			t.Errorf("expired %d times", n)
		}
		b.stop()
		b.store.Close()
	})
}

// TestOverdueIsNotListed lets the time for an answer pass before anybody has settled the request.
func TestOverdueIsNotListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		step := b.step()
		if err := step(runJob(b.submit())); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{1, 0} {
			got, err := b.service.Pending(t.Context(), approvals.PendingQuery{Workspace: ws, Viewer: bob})
			if err != nil || len(got.Requests) != want {
				t.Errorf("%d requests, %v; want %d", len(got.Requests), err, want)
			}
			time.Sleep(time.Hour + time.Second)
		}
		b.stop()
		b.store.Close()
	})
}

// TestApprovalLapses lets an approval become too old before the call's turn comes.
func TestApprovalLapses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		first := b.pending(id)[0]
		b.must(first, bob, approvals.Approve, "")
		time.Sleep(time.Hour + time.Second)
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.request(first.ID); got.Status != approvals.RequestStale || len(b.effects.all()) != 0 {
			t.Fatalf("request is %s, effects %v", got.Status, b.effects.all())
		}
		second := b.pending(id)[0]
		b.must(second, bob, approvals.Approve, "")
		time.Sleep(time.Hour - time.Minute) // control: in time
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.run(id); got.Status != approvals.RunDone || len(b.effects.all()) != 1 {
			t.Errorf("run is %s, effects %v", got.Status, b.effects.all())
		}
		b.stop()
		b.store.Close()
	})
}

// TestPolicyIsAskedAgainAtTheIntent changes the policy between the decision and the call.
func TestPolicyIsAskedAgainAtTheIntent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	first := b.pending(id)[0]
	b.must(first, bob, approvals.Approve, "")
	b.policy.always(with(func(q *approvals.Requirement) {
		askOf(q, approvals.Approvers{Users: []approvals.UserID{cara}})
	}))
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if got := b.effects.all(); len(got) != 0 {
		t.Fatalf("ran %v", got)
	}
	second := b.question(id)
	if second.ID == first.ID || b.request(first.ID).Status != approvals.RequestStale {
		t.Errorf("the first request is %s", b.request(first.ID).Status)
	}
	b.must(second, cara, approvals.Approve, "")
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if n := len(b.effects.all()); n != 1 {
		t.Errorf("%d effects", n)
	}
}
