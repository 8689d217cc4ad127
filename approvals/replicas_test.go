package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/storetest"
)

// cluster is several processes on one database that does to them what it may: it delivers jobs late, twice and out of
// order, calls every closure twice, and loses commits and the news of commits.
type cluster struct {
	testing.TB
	data    *storetest.Memory
	bench   *bench // people, policy, agents, surface, effects
	service []*approvals.Service
	shown   map[approvals.NotificationID]int
	// stopWorking ends the workers, stop also closes the stores.
	stopWorking, stop func()
}

func newCluster(t testing.TB, replicas int, chaos storetest.Chaos) *cluster {
	t.Helper()
	return newClusterOn(t, storetest.NewMemory(), replicas, chaos)
}

func newClusterOn(t testing.TB, data *storetest.Memory, replicas int, chaos storetest.Chaos) *cluster {
	t.Helper()
	c := &cluster{TB: t, shown: map[approvals.NotificationID]int{}, data: data, bench: &bench{
		TB: t, people: newDirectory(), policy: &policy{}, agents: &agents{all: map[string]approvals.AgentConfig{}},
		surface: &surface{}, effects: &effects{}, log: slog.New(slog.DiscardHandler),
	}}
	c.bench.policy.always(lenient())
	c.bench.surface.intercept = func(n *approvals.Notification) error {
		if c.shown[n.ID]++; c.shown[n.ID] > 1 {
			t.Errorf("%s %s is shown again", n.Kind, n.ID)
		}
		return nil
	}
	c.data.Unreliable(chaos)
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	var stores []approvals.Store
	for range replicas {
		st := c.data.Open()
		stores = append(stores, st)
		c.bench.serve(st)
		c.bench.worker.Notifier = slowly{c.bench.surface}
		c.service = append(c.service, c.bench.service)
		w, err := approvals.NewWorker(c.bench.worker)
		if err != nil {
			t.Fatal(err)
		}
		workers.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	c.stopWorking = func() {
		cancel()
		workers.Wait()
	}
	c.stop = func() {
		c.stopWorking()
		for _, st := range stores {
			st.Close()
		}
	}
	return c
}

// slowly is a surface that takes its time.
type slowly struct{ approvals.Notifier }

func (s slowly) Notify(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	time.Sleep(700 * time.Millisecond)
	return s.Notifier.Notify(ctx, n)
}

// leisurely makes the agent answer with m, and have model and tools take their time, so that what happens twice
// overlaps.
func (c *cluster) leisurely(m model) {
	tools := c.bench.tools()
	for i := range tools {
		work := tools[i].Invoke
		tools[i].Invoke = func(ctx context.Context, call *agent.ToolCall) (agent.ToolOutput, error) {
			out, err := work(ctx, call)
			time.Sleep(3 * time.Second)
			return out, err
		}
	}
	c.bench.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		time.Sleep(time.Second)
		return m(req)
	}), tools...)
}

// view reads the data as it is.
func (c *cluster) view(fn func(tx approvals.Tx) error) {
	c.Helper()
	st := c.data.Open()
	defer st.Close()
	if err := st.View(c.Context(), fn); err != nil {
		c.Fatal(err)
	}
}

// again repeats what the store could not promise, as a surface does that Slack delivers an event to once more.
func (c *cluster) again(what string, do func() error) {
	c.Helper()
	for range 50 {
		err := do()
		if err == nil {
			return
		}
		if !errors.Is(err, approvals.ErrCommitUnknown) && !errors.Is(err, approvals.ErrUnavailable) {
			c.Fatalf("%s: %v", what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.Fatalf("%s: in vain", what)
}

// TestReplicasShareAnUnreliableStore runs the domain in three processes at once: nothing runs undecided or twice,
// every decision that was accepted is kept, every run comes to its end, every card and the audit trail tell the truth.
func TestReplicasShareAnUnreliableStore(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 3, storetest.Havoc(seed))
				c.leisurely(asks(
					call("c1", "pay", `{"amount":1}`), call("c2", "note", `{}`), call("c3", "look", `{"amount":3}`),
				))
				const runs = 8
				accepted := c.play(runs)
				time.Sleep(10 * time.Minute)
				c.data.Unreliable(storetest.Chaos{})
				time.Sleep(10 * time.Minute)
				c.check(runs, accepted)
				c.stop()
			})
		})
	}
}

// play submits the runs and answers what they ask, through whichever process. It returns the decisions that were
// accepted.
func (c *cluster) play(runs int) []approvals.Decision {
	c.Helper()
	for i := range runs {
		in := c.bench.submission(ann, approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprintf("%d.1", i)},
			"please")
		c.again("submit", func() error {
			_, err := c.service[i%len(c.service)].Submit(c.Context(), in)
			return err
		})
	}
	var accepted []approvals.Decision
	decided := map[approvals.RequestID]bool{}
	for range 200 {
		time.Sleep(2 * time.Second)
		for _, r := range c.pending() {
			if decided[r.ID] {
				continue
			}
			d := approvals.Decision{
				ID: approvals.DecisionID("dec_" + string(r.ID)), Workspace: ws, Request: r.ID, Digest: r.Digest,
				By: bob, Verdict: approvals.Approve, Via: "button",
			}
			if r.Kind == agent.OutcomeUnknown {
				c.Fatalf("asked what became of a call although nobody has died")
			}
			var err error
			c.again("decide", func() error {
				_, err = c.service[len(accepted)%len(c.service)].Decide(c.Context(), d)
				if errors.Is(err, approvals.ErrConflict) || errors.Is(err, approvals.ErrStale) ||
					errors.Is(err, approvals.ErrExpired) {
					return nil // withdrawn meanwhile
				}
				return err
			})
			decided[r.ID] = true
			if err == nil {
				accepted = append(accepted, d)
			}
		}
	}
	return accepted
}

// pending lists the pending requests of the workspace.
func (c *cluster) pending() (all []*approvals.Request) {
	c.view(func(tx approvals.Tx) error {
		all = nil
		q := approvals.RequestQuery{Workspace: ws, Status: approvals.RequestPending, Limit: 100}
		for {
			heads, next, err := tx.QueryRequests(q)
			if err != nil {
				return err
			}
			var ids []approvals.RequestID
			for _, h := range heads {
				ids = append(ids, h.ID)
			}
			page, err := tx.Requests(ws, ids)
			if err != nil {
				return err
			}
			all = append(all, page...)
			if q.After = next; next == "" {
				return nil
			}
		}
	})
	return all
}

// check is what must hold once everything has come to rest.
func (c *cluster) check(runs int, accepted []approvals.Decision) {
	c.Helper()
	st := c.data.Open()
	defer st.Close()
	report, err := approvals.VerifyAudit(c.Context(), st, approvals.VerifyOptions{})
	if err != nil {
		c.Fatal(err)
	}
	if report.Workspaces[0].Unsealed != 0 {
		c.Errorf("%d entries were never sealed", report.Workspaces[0].Unsealed)
	}
	done := 0
	permits := map[string]int{}
	var ended []approvals.RunID
	err = approvals.ExportAudit(c.Context(), st, ws, func(e *approvals.AuditEntry) error {
		switch e.Action {
		case approvals.AuditRunDone:
			done++
			ended = append(ended, e.Run)
		case approvals.AuditEffectIntent:
			permits[fact(e, "effect")]++
			if fact(e, "tool") == "pay" && e.Request == "" {
				c.Errorf("an effect of pay began without a request")
			}
		}
		return nil
	})
	if err != nil || done != runs {
		c.Errorf("%d of %d runs are done, %v", done, runs, err)
	}
	seen := map[string]int{}
	for _, e := range c.bench.effects.all() {
		if seen[e.id]++; seen[e.id] > 1 {
			c.Errorf("%s happened %d times, with %d intents", e.tool, seen[e.id], permits[e.id])
		}
	}
	c.view(func(tx approvals.Tx) error {
		for _, d := range accepted {
			r, err := tx.RequestHead(ws, d.Request)
			if err != nil {
				return err
			}
			same := func(o approvals.Decision) bool { return o.ID == d.ID && o.By == d.By }
			if !slices.ContainsFunc(r.Decisions, same) {
				c.Errorf("decision %s was accepted and is lost", d.ID)
			}
		}
		for _, id := range ended {
			all, err := tx.RequestsOfRun(ws, id)
			if err != nil {
				return err
			}
			for _, r := range all {
				if shown := c.bench.surface.status(r.ID); shown != r.Status {
					c.Errorf("the card of %s shows %s, it is %s", r.ID, shown, r.Status)
				}
				if shown := c.bench.surface.outcome(r.ID); shown != r.Outcome || r.Outcome == approvals.OutcomeNone ||
					r.Outcome == approvals.OutcomeRunning {
					c.Errorf("the card of %s shows %q, the call %q", r.ID, shown, r.Outcome)
				}
			}
		}
		return nil
	})
}

// TestLostJobsAreFound loses jobs until they are enqueued again: looking for work without a job is enough to bring
// every run to its end.
func TestLostJobsAreFound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 2, storetest.Chaos{
					Seed: seed, Lose: 0.5, LoseKinds: []approvals.JobKind{approvals.JobRun, approvals.JobDeliver},
				})
				c.leisurely(asks(call("c1", "pay", `{"amount":1}`)))
				accepted := c.play(4)
				time.Sleep(10 * time.Minute)
				c.check(4, accepted)
				c.stop()
			})
		})
	}
}

// TestListAndDecisionAgreeOnTime moves the store's clock: the list, the right to decide and the decision go by it
// alike, and none by the clock of this process.
func TestListAndDecisionAgreeOnTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		move func(m *storetest.Memory)
		left bool
	}{
		"as it was":                     {func(*storetest.Memory) {}, true},
		"two hours pass":                {func(m *storetest.Memory) { m.Advance(2 * time.Hour) }, false},
		"the clock is set two hours on": {func(m *storetest.Memory) { m.Step(2 * time.Hour) }, true}, // not believed
		"the clock is set a year back":  {func(m *storetest.Memory) { m.Step(-365 * 24 * time.Hour) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cl := newCluster(t, 1, storetest.Chaos{})
				cl.bench.model(asks(call("c1", "pay", `{"amount":1}`)))
				if _, err := cl.service[0].Submit(t.Context(), cl.bench.submission(ann, place, "please")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				r := cl.pending()[0]
				cl.stopWorking()
				c.move(cl.data)
				page, err := cl.service[0].Pending(t.Context(), approvals.PendingQuery{Workspace: ws, Viewer: bob})
				if err != nil || (len(page.Requests) == 1) != c.left {
					t.Errorf("listed: %d, %v", len(page.Requests), err)
				}
				if err := cl.service[0].MayDecide(t.Context(), r, bob); (err == nil) != c.left {
					t.Errorf("may decide: %v", err)
				}
				_, err = cl.service[0].Decide(t.Context(), approvals.Decision{
					Workspace: ws, Request: r.ID, By: bob, Verdict: approvals.Approve, Digest: r.Digest, Via: "button",
				})
				if (err == nil) != c.left || err != nil && !errors.Is(err, approvals.ErrExpired) {
					t.Errorf("decided: %v", err)
				}
				cl.stop()
			})
		})
	}
}
