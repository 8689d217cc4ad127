package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// byGroup asks cara alone where the requester is in a group, or nobody can tell, and anybody otherwise.
func byGroup(b *bench) {
	b.policy.mu.Lock()
	defer b.policy.mu.Unlock()
	b.policy.reads = []approvals.Fact{approvals.FactRequesterGroups}
	b.policy.informed = func(_ *approvals.Request, known approvals.PolicyFacts) (approvals.Requirement, error) {
		if known.Knows(approvals.FactRequesterGroups) && !slices.Contains(known.RequesterGroups, "S9") {
			return lenient(), nil
		}
		return with(func(q *approvals.Requirement) {
			askOf(q, approvals.Approvers{Users: []approvals.UserID{cara}})
		}), nil
	}
}

// TestPolicyFactsAreOfTheMoment asks for the requester's groups when the call is asked about, when somebody decides and
// when the call is about to run: what was demanded before must be satisfied as well.
func TestPolicyFactsAreOfTheMoment(t *testing.T) {
	t.Parallel()
	waits := func(t *testing.T, groups ...approvals.UserID) (*bench, approvals.RunID, func(approvals.Job) error) {
		b := newBench(t)
		byGroup(b)
		b.people.setGroup("S9", groups...)
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		return b, id, step
	}
	t.Run("joins before the decision", func(t *testing.T) {
		t.Parallel()
		b, id, _ := waits(t)
		b.people.setGroup("S9", ann)
		r := b.question(id)
		began := time.Now()
		b.refused(r, bob, approvals.Approve, approvals.ErrUnauthorized)
		b.people.mu.Lock()
		last := b.people.asksGroups[len(b.people.asksGroups)-1]
		b.people.mu.Unlock()
		if last.Before(began) {
			t.Errorf("an answer of %s would have done for a decision of %s", last, began)
		}
		b.must(r, cara, approvals.Approve, "")
	})
	t.Run("leaves before the decision", func(t *testing.T) {
		t.Parallel()
		b, id, _ := waits(t, ann)
		b.people.setGroup("S9")
		b.refused(b.question(id), bob, approvals.Approve, approvals.ErrUnauthorized)
	})
	t.Run("joins before the call runs", func(t *testing.T) {
		t.Parallel()
		b, id, step := waits(t)
		first := b.question(id)
		b.must(first, bob, approvals.Approve, "")
		b.people.setGroup("S9", ann)
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.request(first.ID); got.Status != approvals.RequestStale || len(b.effects.all()) != 0 {
			t.Errorf("%s, ran %v", got.Status, b.effects.all())
		}
	})
	t.Run("control: nothing changes", func(t *testing.T) {
		t.Parallel()
		b, id, step := waits(t)
		b.must(b.question(id), bob, approvals.Approve, "")
		if err := step(runJob(id)); err != nil || len(b.effects.all()) != 1 {
			t.Errorf("%v, ran %v", err, b.effects.all())
		}
	})
	t.Run("the directory cannot tell", func(t *testing.T) {
		t.Parallel()
		b, id, _ := waits(t)
		r := b.question(id)
		b.people.failGroups(errors.New("down"))
		b.refused(r, bob, approvals.Approve, approvals.ErrUnauthorized)
		b.must(r, cara, approvals.Approve, "")
	})
}

// TestFactsAreAskedForWhenTheyAreRead asks no question for a policy that reads nothing.
func TestFactsAreAskedForWhenTheyAreRead(t *testing.T) {
	t.Parallel()
	b, r := asked(t, lenient())
	b.must(r, bob, approvals.Approve, "")
	b.people.mu.Lock()
	defer b.people.mu.Unlock()
	if n := len(b.people.asksGroups); n != 0 {
		t.Errorf("%d questions", n)
	}
}

// TestPolicyThatNeverHasEnough ends as a policy that fails.
func TestPolicyThatNeverHasEnough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(func(*approvals.Request) (approvals.Requirement, error) {
		return approvals.Requirement{}, &approvals.MissingFactsError{Facts: []approvals.Fact{approvals.FactChannel}}
	})
	b.start()
	id := b.submit()
	b.reaches(id, approvals.RunDone)
	if len(b.requests(id)) != 0 || len(b.effects.all()) != 0 {
		t.Errorf("%d requests, effects %v", len(b.requests(id)), b.effects.all())
	}
}

// TestGateReadsFacts lets a gate depend on the requester's groups; what cannot be told asks.
func TestGateReadsFacts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		members []approvals.UserID
		err     error
		asks    bool
	}{
		"in the group":     {[]approvals.UserID{ann}, nil, false},
		"not in the group": {[]approvals.UserID{bob}, nil, true},
		"down":             {[]approvals.UserID{ann}, errors.New("down"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.people.setGroup("S1", c.members...)
			tools := b.tools()
			i := slices.IndexFunc(tools, func(tool agent.Tool) bool { return tool.Name == "pay" })
			tools[i].NeedsApproval = func(ctx context.Context, call *agent.ToolCall) (bool, error) {
				b.people.failGroups(c.err)
				run, _ := call.Run.Value.(*approvals.Run)
				known := approvals.FindFacts(ctx, run, []approvals.Fact{approvals.FactRequesterGroups})
				return !slices.Contains(known.RequesterGroups, "S1"), known.Told[approvals.FactRequesterGroups]
			}
			b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if asked := len(b.pending(id)) == 1; asked != c.asks || len(b.effects.all()) == 1 == c.asks {
				t.Errorf("asked %v, ran %v", asked, b.effects.all())
			}
		})
	}
}

// TestPolicyEvidence records with the question and with each answer which policy demanded what. A policy that demands
// the same under another hash asks nobody twice.
func TestPolicyEvidence(t *testing.T) {
	t.Parallel()
	under := func(hash byte, version string) approvals.Requirement {
		return with(func(q *approvals.Requirement) {
			q.Hash, q.Version = agent.Digest{hash}, version
			q.Vars = []approvals.PolicyVar{{Name: "place", Value: `"<here>"`}, {Name: "limit", Value: "1000"}}
			quorum(q, 2)
		})
	}
	b := newBench(t)
	b.policy.always(under(1, "v1"))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	r := b.question(id)
	b.must(r, bob, approvals.Approve, "")
	b.policy.always(under(2, "v2"))
	if p, err := b.service.Progress(t.Context(), b.request(r.ID)); err != nil || p.Changed {
		t.Errorf("another hash changes what is asked: %+v, %v", p, err)
	}
	b.must(r, cara, approvals.Approve, "")
	if err := step(runJob(id)); err != nil || len(b.effects.all()) != 1 {
		t.Fatalf("%v, ran %v", err, b.effects.all())
	}
	var versions []string
	for _, e := range b.entries() {
		var data map[string]string
		if json.Unmarshal(e.Data, &data) != nil || data["policy_version"] == "" {
			var mixed map[string]any
			if err := json.Unmarshal(e.Data, &mixed); len(e.Data) > 0 && err != nil {
				t.Fatal(err)
			}
			data = map[string]string{}
			for name := range maps.Keys(mixed) {
				data[name], _ = mixed[name].(string)
			}
		}
		if data["policy_version"] == "" {
			continue
		}
		versions = append(versions, string(e.Action)+" "+data["policy_version"]+" "+data["policy_hash"][:2])
		if data["policy_vars"] != `{"limit":1000,"place":"\u003chere\u003e"}` {
			t.Errorf("%s: vars %s", e.Action, data["policy_vars"])
		}
	}
	want := "request.created v1 01, decision.recorded v1 01, decision.recorded v2 02, effect.intent v2 02"
	if got := strings.Join(versions, ", "); got != want {
		t.Errorf("recorded %s; want %s", got, want)
	}
}

// TestHighRisk refuses a standing answer, also where only one of the two requirements is of high risk.
func TestHighRisk(t *testing.T) {
	t.Parallel()
	high := with(func(q *approvals.Requirement) { q.Risk = approvals.RiskHigh })
	for _, policies := range [][2]approvals.Requirement{{high, high}, {high, lenient()}, {lenient(), high}} {
		b, r := asked(t, policies[0])
		b.policy.always(policies[1])
		b.refused(r, bob, approvals.AlwaysApprove, approvals.ErrInvalid)
		b.refused(r, bob, approvals.AlwaysReject, approvals.ErrInvalid)
		b.must(r, bob, approvals.Approve, "")
	}
}

// TestUnmetAdvice says what to do, once for several calls.
func TestUnmetAdvice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(with(func(q *approvals.Requirement) { q.Policy = "large"; quorum(q, 2) }))
	b.model(asks(call("c1", "pay", `{"amount":5}`), call("c2", "pay", `{"amount":6}`)))
	b.start()
	id := b.submitAt(approvals.Place{Surface: "slack", Channel: "D1", Thread: "1", Direct: true})
	b.reaches(id, approvals.RunDone)
	b.until("both notices", func() bool { return len(b.surface.texts(approvals.NotifyNotice)) == 2 })
	all := strings.Join(b.surface.texts(approvals.NotifyNotice), "\n")
	if strings.Count(all, `policy "large" needs 2 approvers, and 1 can be asked.`) != 2 ||
		strings.Count(all, "Ask in a channel") != 1 {
		t.Errorf("people were told %q", all)
	}
}
