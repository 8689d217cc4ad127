package approvals_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// TestGrantEnds has a grant cover nothing once it is revoked or has lapsed, and while it is inert.
func TestGrantEnds(t *testing.T) {
	t.Parallel()
	const call = `{"amount":7,"to":"acme"}`
	for name, tt := range map[string]struct {
		change func(b *bench, g approvals.GrantID)
		undo   func(b *bench) // nil: it cannot be undone
		state  approvals.GrantState
		why    string
	}{
		"revoked by who gave it": {
			change: func(b *bench, g approvals.GrantID) { b.check(b.revoke(g, bob)) }, state: approvals.GrantRevoked,
		},
		"revoked by who could decide": {
			change: func(b *bench, g approvals.GrantID) { b.check(b.revoke(g, cara)) }, state: approvals.GrantRevoked,
		},
		"revoked by an operator": {
			change: func(b *bench, g approvals.GrantID) {
				_, err := approvals.RevokeGrant(b.Context(), b.store, approvals.Revocation{Workspace: ws, Grant: g})
				b.check(err)
			},
			state: approvals.GrantRevoked,
		},
		"its giver is deactivated": {
			change: func(b *bench, _ approvals.GrantID) { b.people.deactivate(bob) },
			undo: func(b *bench) {
				b.people.mu.Lock()
				defer b.people.mu.Unlock()
				b.people.persons[bob] = approvals.Person{ID: bob, Regular: true}
			},
			state: approvals.GrantInert, why: "could not approve this now",
		},
		"the policy asks for two": {
			change: func(b *bench, _ approvals.GrantID) {
				q := generous()
				quorum(&q, 2)
				b.policy.always(q)
			},
			undo:  func(b *bench) { b.policy.always(generous()) },
			state: approvals.GrantInert, why: "could not approve this now",
		},
		"the policy allows the scope no more": {
			change: func(b *bench, _ approvals.GrantID) { b.policy.always(lenient()) },
			undo:   func(b *bench) { b.policy.always(generous()) },
			state:  approvals.GrantInert, why: "allows no grants of scope channel now",
		},
		"the policy is frozen": {
			change: func(b *bench, _ approvals.GrantID) {
				q := generous()
				q.Freeze = []approvals.Freeze{{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}}
				b.policy.always(q)
			},
			undo:  func(b *bench) { b.policy.always(generous()) },
			state: approvals.GrantInert, why: "is frozen until",
		},
		"the policy is of high risk": {
			change: func(b *bench, _ approvals.GrantID) {
				q := generous()
				q.Risk = approvals.RiskHigh
				b.policy.always(q)
			},
			undo:  func(b *bench) { b.policy.always(generous()) },
			state: approvals.GrantInert, why: "allows no grants of scope channel now",
		},
		"the policy lets grants last less": {
			change: func(b *bench, _ approvals.GrantID) {
				q := generous()
				q.MaxTTL = time.Nanosecond
				b.policy.always(q)
			},
			undo:  func(b *bench) { b.policy.always(generous()) },
			state: approvals.GrantInert, why: "lets grants last 1ns at most now",
		},
		"the policy fails": {
			change: func(b *bench, _ approvals.GrantID) {
				b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
					if strings.Contains(string(r.Arguments), `"amount":7`) && r.ID == "" {
						return approvals.Requirement{}, errors.New("broken")
					}
					return generous(), nil
				})
			},
			undo:  func(b *bench) { b.policy.always(generous()) },
			state: approvals.GrantActive,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := granting(t)
			g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeChannel})
			b.unasked(thread2, call)
			tt.change(b, g.ID)
			state, why := b.state(g.ID)
			if state != tt.state || !strings.Contains(why, tt.why) {
				t.Errorf("the grant is %s: %s", state, why)
			}
			if strings.Contains(why, "authorized") || strings.Contains(why, ";") {
				t.Errorf("the grant is %s for a reason of answers: %s", state, why)
			}
			paid := len(b.effects.all())
			id := b.tries(thread2, call)
			if len(b.effects.all()) != paid {
				t.Fatal("the call ran all the same")
			}
			if tt.undo == nil {
				if len(b.pending(id)) != 1 {
					t.Error("nobody was asked")
				}
			} else {
				tt.undo(b)
				for _, r := range b.pending(id) {
					b.must(r, cara, approvals.Reject, "")
				}
				b.until("the run to end", func() bool { return b.run(id).Status.Ended() })
				b.unasked(thread2, call) // control: nothing else was in its way
			}
			b.trail()
		})
	}
}

func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// TestGrantTool has a grant become inert when the tool is defined otherwise.
func TestGrantTool(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
	tools := b.tools()
	tools[0].Version = "2"
	b.agent(asks(call("c1", "pay", `{"amount":5,"to":"acme"}`)), tools...)
	if state, why := b.state(g.ID); state != approvals.GrantInert || why != "the tool was changed" {
		t.Errorf("the grant is %s: %s", state, why)
	}
	id := b.submit()
	b.question(id)
	if n := len(b.effects.all()); n != 1 {
		t.Errorf("%d payments", n)
	}
}

// TestGrantDenies rejects calls by a grant, which goes before one that allows, and holds when who gave it has left.
func TestGrantDenies(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeChannel})
	b.unasked(thread2, `{"amount":7,"to":"evil"}`)
	b.pays(`{"amount":5,"to":"evil"}`)
	other := b.submitAt(channel2)
	deny := b.granted(b.question(other), cara, approvals.AlwaysReject, approvals.GrantTerms{
		Scope: approvals.ScopeWorkspace, Same: []string{"to"},
	})
	b.people.deactivate(cara)
	paid := len(b.effects.all())
	run := b.unasked(thread2, `{"amount":7,"to":"evil"}`)
	if len(b.effects.all()) != paid {
		t.Error("the call ran")
	}
	out := b.run(run).Output
	if !strings.Contains(out, "rejected all such calls") || !strings.Contains(out, string(deny.ID)) {
		t.Errorf("the model was told %q", out)
	}
	b.until("the notice", func() bool {
		return slices.ContainsFunc(b.surface.texts(approvals.NotifyNotice), func(text string) bool {
			return text == fmt.Sprintf("pay was not carried out: grant %s rejects such calls.", deny.ID)
		})
	})
	b.unasked(thread2, `{"amount":7,"to":"acme"}`) // control: others are allowed as before
	if len(b.effects.all()) != paid+1 || b.count(approvals.AuditGrantDenied) != 1 {
		t.Errorf("%d payments, %d denials", len(b.effects.all())-paid, b.count(approvals.AuditGrantDenied))
	}
	_, err := approvals.RevokeGrant(t.Context(), b.store, approvals.Revocation{Workspace: ws, Grant: deny.ID})
	b.check(err)
	b.unasked(thread2, `{"amount":7,"to":"evil"}`)
	if len(b.effects.all()) != paid+2 {
		t.Error("the call did not run after the rejection was revoked")
	}
}

// TestGrantDeniesStanding has a rejection go before an answer for all calls of a run.
func TestGrantDeniesStanding(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(generous())
	b.start()
	gate := make(chan struct{})
	b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		switch told := outputs(req); len(told) {
		case 0:
			return []agent.Item{call("c1", "pay", `{"amount":5}`)}, nil
		case 1:
			<-gate
			return []agent.Item{call("c2", "pay", `{"amount":6}`)}, nil
		default:
			return []agent.Item{agent.AssistantMessage(told["c2"])}, nil
		}
	}))
	run := b.submit()
	b.must(b.question(run), bob, approvals.AlwaysApprove, "")
	b.until("the first payment", func() bool { return len(b.effects.all()) == 1 })
	m := b.agentOf("ops")
	b.pays(`{"amount":9}`)
	other := b.submitAt(thread2)
	b.granted(b.question(other), bob, approvals.AlwaysReject, approvals.GrantTerms{Scope: approvals.ScopeWorkspace})
	b.agents.set(m)
	close(gate)
	b.reaches(run, approvals.RunDone)
	if paid := b.effects.all(); len(paid) != 1 || !strings.Contains(b.run(run).Output, "rejected all such calls") {
		t.Errorf("%d payments, and the model was told %q", len(paid), b.run(run).Output)
	}
}

func (b *bench) agentOf(name string) approvals.AgentConfig {
	b.Helper()
	c, err := b.agents.Agent(name)
	b.check(err)
	return c
}

// TestGrantQuorum asks for two: the narrowest of what they ask for counts, and different conditions make no grant.
func TestGrantQuorum(t *testing.T) {
	t.Parallel()
	terms := func(s approvals.Scope, ttl time.Duration, uses int, same ...string) *approvals.GrantTerms {
		return &approvals.GrantTerms{Scope: s, TTL: ttl, Uses: uses, Same: same}
	}
	for name, tt := range map[string]struct {
		bob, cara *approvals.GrantTerms
		once      bool // cara approves this call alone
		want      *approvals.GrantTerms
	}{
		"the narrowest": {
			bob:  terms(approvals.ScopeWorkspace, time.Hour, 0, "to", "amount"),
			cara: terms(approvals.ScopeThread, 0, 7, "/amount", "to"),
			want: terms(approvals.ScopeThread, time.Hour, 7, "/amount", "/to"),
		},
		"as long as the policy lets it": {
			bob: terms(approvals.ScopeChannel, 0, 0), cara: terms(approvals.ScopeChannel, 0, 0),
			want: terms(approvals.ScopeChannel, 2*time.Hour, 0),
		},
		"with one for the run": {
			bob: terms(approvals.ScopeChannel, 0, 3), want: terms(approvals.ScopeRun, 2*time.Hour, 3),
		},
		"other conditions":  {bob: terms(approvals.ScopeThread, 0, 0, "to"), cara: terms(approvals.ScopeThread, 0, 0)},
		"one for this call": {bob: terms(approvals.ScopeThread, 0, 0), once: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			q := generous()
			quorum(&q, 2)
			b.policy.always(q)
			b.start()
			b.pays(`{"amount":5,"to":"acme"}`)
			run := b.submit()
			r := b.question(run)
			b.check(b.grant(r, bob, approvals.AlwaysApprove, *tt.bob))
			if len(b.grants()) > 0 {
				t.Error("one person alone has made a grant")
			}
			d := approvals.Decision{
				Workspace: ws, Request: r.ID, By: cara, Verdict: approvals.AlwaysApprove, Digest: r.Digest,
				Grant: tt.cara,
			}
			if tt.once {
				d.Verdict = approvals.Approve
			}
			_, err := b.service.Decide(t.Context(), d)
			b.check(err)
			b.reaches(run, approvals.RunDone)
			all := b.grants()
			if tt.want == nil {
				if len(all) > 0 {
					t.Errorf("a grant was made: %+v", all[0])
				}
				return
			}
			g := all[0]
			var same []string
			for _, c := range g.Condition {
				same = append(same, c.Pointer)
			}
			if g.Scope != tt.want.Scope || g.Uses != tt.want.Uses || g.Expires.Sub(g.Created) != tt.want.TTL ||
				!slices.Equal(same, tt.want.Same) || !slices.Equal(g.Grantors, []approvals.UserID{bob, cara}) {
				t.Errorf("the grant is %+v, for %s", g.Grant, g.Expires.Sub(g.Created))
			}
			b.trail()
		})
	}
}
