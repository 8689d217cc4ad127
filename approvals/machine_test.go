package approvals_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/raceflag"
	"countersign/internal/rapidtest"
)

// machine is the model-based test: people, time, workers and crashes in any order, and the invariants after each step.
type machine struct {
	*bench
	step     func(approvals.Job) error
	places   []approvals.Place
	version  int
	deciders []approvals.UserID                          // who answers
	acked    map[approvals.DecisionID]approvals.Decision // answers that people saw accepted
}

// witness is a testing.TB that reports failures to rapid, so that it finds the shortest story.
type witness struct {
	testing.TB
	t *rapid.T
}

func (w witness) Error(args ...any)                 { w.t.Error(args...) }
func (w witness) Errorf(format string, args ...any) { w.t.Errorf(format, args...) }
func (w witness) Fatal(args ...any)                 { w.t.Fatal(args...) }
func (w witness) Fatalf(format string, args ...any) { w.t.Fatalf(format, args...) }
func (w witness) Fail()                             { w.t.Fail() }
func (w witness) FailNow()                          { w.t.FailNow() }
func (w witness) Failed() bool                      { return w.t.Failed() }

// calls is what the model asks for in its first turn: three calls, the middle one without a gate.
func calls() []agent.Item {
	return []agent.Item{call("c1", "pay", `{"amount":1}`), call("c2", "note", `{}`), call("c3", "look", `{"amount":3}`)}
}

func newMachine(outer *testing.T, t *rapid.T) *machine {
	m := &machine{
		bench:    newBench(witness{outer, t}),
		deciders: []approvals.UserID{ann, bob, cara, guest},
		acked:    map[approvals.DecisionID]approvals.Decision{},
	}
	for i := range 2 {
		m.places = append(m.places, approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprint(i)})
	}
	m.policy.always(with(func(q *approvals.Requirement) {
		quorum(q, 2)
		q.ExpiresIn, q.ValidFor = 10*time.Minute, 15*time.Minute
	}))
	m.model(model(m.answer))
	m.bench.step()
	m.boot()
	return m
}

// answer is the model: it makes its calls once, and checks afterwards that each has exactly one output (I13).
func (m *machine) answer(req *agent.ModelRequest) ([]agent.Item, error) {
	seen := map[string]int{}
	for _, it := range req.Items {
		switch {
		case it.Type == agent.ItemMessage && it.Role == agent.RoleUser:
			clear(seen)
		case it.Type == agent.ItemFunctionCallOutput:
			seen[it.CallID]++
		}
	}
	if len(seen) == 0 {
		return calls(), nil
	}
	for _, c := range calls() {
		if seen[c.CallID] != 1 {
			m.Errorf("I13: the model got %d outputs for %s", seen[c.CallID], c.CallID)
		}
	}
	return []agent.Item{agent.AssistantMessage("done")}, nil
}

func (m *machine) boot() {
	m.stop()
	m.step = m.bench.step()
}

// submit has somebody write in a place, perhaps the same message again.
func (m *machine) submit(t *rapid.T) {
	by := rapid.SampledFrom([]approvals.UserID{ann, bob}).Draw(t, "by")
	in := m.submission(by, rapid.SampledFrom(m.places).Draw(t, "place"), "please")
	for range rapid.IntRange(1, 2).Draw(t, "deliveries") {
		if _, err := m.service.Submit(m.Context(), in); err != nil && !errors.Is(err, errDead) {
			t.Fatal(err)
		}
	}
}

// all returns the requests there are.
func (m *machine) all() (all []*approvals.Request) {
	for _, id := range m.known() {
		all = append(all, m.requests(id)...)
	}
	return all
}

// known returns the runs there are, those that followed others too.
func (m *machine) known() (all []approvals.RunID) {
	for _, e := range m.entries() {
		if e.Action == approvals.AuditRunSubmitted {
			all = append(all, e.Run)
		}
	}
	return all
}

func (m *machine) decideOne(t *rapid.T) {
	all := m.all()
	if open := slices.DeleteFunc(slices.Clone(all), func(r *approvals.Request) bool {
		return r.Status != approvals.RequestPending
	}); len(open) > 0 && rapid.IntRange(0, 9).Draw(t, "late") > 0 {
		all = open
	}
	if len(all) == 0 {
		t.Skip("nothing to decide")
	}
	r := rapid.SampledFrom(all).Draw(t, "request")
	verdicts := []approvals.Verdict{
		approvals.Approve, approvals.Approve, approvals.Approve, approvals.Reject,
		approvals.AlwaysApprove, approvals.AlwaysReject,
	}
	if r.Kind == agent.OutcomeUnknown {
		verdicts = []approvals.Verdict{approvals.Retry, approvals.MarkDone, approvals.GiveUp}
	}
	d := approvals.Decision{
		ID:        approvals.DecisionID(fmt.Sprintf("dec_%d", len(m.acked)+1000*m.surface.calls)),
		Workspace: ws, Request: r.ID, Digest: r.Digest,
		By:      rapid.SampledFrom(m.deciders).Draw(t, "by"),
		Verdict: rapid.SampledFrom(verdicts).Draw(t, "verdict"),
		Reason:  "because", Via: "button",
	}
	got, err := m.service.Decide(m.Context(), d)
	if err == nil {
		m.acked[d.ID] = d
		if got.Kind == agent.Confirm && got.Status == approvals.RequestApproved &&
			len(got.Decisions) < len(got.Requirement.Seats) {
			t.Fatalf("I2: approved by %d of %d", len(got.Decisions), len(got.Requirement.Seats))
		}
		return
	}
	for _, fine := range []error{
		errDead, approvals.ErrConflict, approvals.ErrUnauthorized, approvals.ErrExpired, approvals.ErrStale,
	} {
		if errors.Is(err, fine) {
			return
		}
	}
	t.Fatal(err)
}

func (m *machine) cancel(t *rapid.T) {
	all := m.known()
	if len(all) == 0 || rapid.IntRange(0, 4).Draw(t, "really") > 0 {
		t.Skip("nothing to cancel")
	}
	_, err := m.service.CancelRun(m.Context(), ws, rapid.SampledFrom(all).Draw(t, "run"), ann, "enough")
	if err != nil && !errors.Is(err, errDead) &&
		!errors.Is(err, approvals.ErrEnded) && !errors.Is(err, approvals.ErrUnauthorized) {
		t.Fatal(err)
	}
}

func (m *machine) pass(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 25).Draw(t, "minutes")) * time.Minute)
}

// work hands a worker one job, due or not: jobs may come at any time and any number of times.
func (m *machine) work(t *rapid.T) {
	var jobs []approvals.Job
	for _, id := range m.known() {
		jobs = append(jobs, runJob(id))
		if !m.run(id).Status.Ended() { // more often what matters
			jobs = append(jobs, runJob(id), runJob(id), runJob(id))
		}
	}
	for _, p := range m.places {
		jobs = append(jobs, deliverJob(p))
	}
	for _, r := range m.all() {
		if r.Status == approvals.RequestPending {
			jobs = append(jobs, expireJob(r.ID))
		}
	}
	m.step(rapid.SampledFrom(jobs).Draw(t, "job")) //nolint:errcheck // whatever it says, the records must hold
}

// doomed has the process die at one of the next writes, and starts another one.
func (m *machine) doomed(t *rapid.T) {
	m.mortal.dieAt(rapid.IntRange(1, 4).Draw(t, "write"), rapid.Bool().Draw(t, "behind"))
	for range rapid.IntRange(1, 3).Draw(t, "jobs") {
		m.work(t)
		if m.mortal.dead.Load() {
			break
		}
	}
	m.mortal.kill()
	m.reopen()
	m.boot()
}

// deploy changes what the gated tools are.
func (m *machine) deploy(*rapid.T) {
	m.version++
	tools := m.tools()
	for i := range tools {
		tools[i].Version = fmt.Sprint(m.version / 2)
	}
	m.agent(model(m.answer), tools...)
}

// check is what must hold at every moment.
func (m *machine) check(t *rapid.T) {
	synctest.Wait() // the watcher may be in the middle of what the last step's time made due
	trail := m.entries()
	requests := map[approvals.RequestID]*approvals.Request{}
	for _, r := range m.all() {
		requests[r.ID] = r
	}
	for id, d := range m.acked {
		r := requests[d.Request]
		if !slices.ContainsFunc(r.Decisions, func(o approvals.Decision) bool {
			return o.ID == id && o.By == d.By && o.Verdict == d.Verdict
		}) {
			t.Fatalf("I1: decision %s was accepted and is lost", id)
		}
		if !sameDecisionAudited(trail, d) {
			t.Fatalf("I1: decision %s is not in the audit", id)
		}
	}
	m.gated("step", trail, requests)
	m.moves("step", trail, requests)
	intents, seen := map[string]int{}, map[string]int{}
	for _, e := range trail {
		if e.Action == approvals.AuditEffectIntent {
			intents[fact(e, "effect")]++
		}
	}
	for _, e := range m.effects.all() {
		seen[e.id]++
		if seen[e.id] > intents[e.id] {
			t.Fatalf("I2: %s happened %d times with %d intents", e.tool, seen[e.id], intents[e.id])
		}
		if seen[e.id] > 1 && e.tool != "look" && !retried(requests, trail, e.id) {
			t.Fatalf("I3: %s happened %d times", e.tool, seen[e.id])
		}
	}
	m.onePerPlace(t)
	if m.Failed() {
		t.FailNow()
	}
}

// onePerPlace checks that a place has at most one run under way.
func (m *machine) onePerPlace(t *rapid.T) {
	active := map[approvals.Place]int{}
	for _, id := range m.known() {
		if r := m.run(id); !r.Status.Ended() {
			if active[r.Place]++; active[r.Place] > 1 {
				t.Fatalf("two runs in place %s", r.Place.Key())
			}
		}
	}
}

// settle lets everything come to rest by the store's own jobs, and checks that nothing is left in limbo (I4, I5).
func (m *machine) settle(t *rapid.T) {
	m.stop()
	m.start()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	m.stop()
	m.invariants("at rest")
	m.boot()
}

// TestMachine drives the domain with random steps. Each sequence lives in virtual time.
func TestMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(outer *testing.T) {
		few := 20
		if raceflag.Enabled {
			few = 6
		}
		hidden := struct{ rapid.TB }{outer} // hides the deadline, which a bubble does not have
		rapidtest.CheckFew(hidden, sequences(few), func(t *rapid.T) {
			m := newMachine(outer, t)
			defer func() {
				m.stop()
				m.store.Close()
			}()
			t.Repeat(map[string]func(*rapid.T){
				"submit": m.submit, "cancel": m.cancel, "time passes": m.pass, "rest": m.settle,
				"crash": m.doomed, "new version": m.deploy, "": m.check,
				"decide": m.decideOne, "decide 2": m.decideOne, "decide 3": m.decideOne, "decide 4": m.decideOne,
				"work": m.work, "work 2": m.work, "work 3": m.work,
			})
		})
	})
}
