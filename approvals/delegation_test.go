package approvals_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// onLeave has one person decide for each of the people for a day.
func onLeave(to approvals.UserID, from ...approvals.UserID) (all []approvals.Delegation) {
	for _, u := range from {
		all = append(all, approvals.Delegation{From: u, To: to, Until: time.Now().Add(24 * time.Hour)})
	}
	return all
}

// named demands n of these people, of whom the requester is none that decides.
func named(n int, users ...approvals.UserID) approvals.Requirement {
	return with(func(q *approvals.Requirement) {
		q.SelfApproval = false
		q.Seats = approvals.Quorum(n, approvals.Approvers{Users: users})
	})
}

// onBehalf has somebody approve for another one.
func (b *bench) onBehalf(r *approvals.Request, by, on approvals.UserID) (*approvals.Request, error) {
	return b.service.Decide(b.Context(), approvals.Decision{
		Workspace: ws, Request: r.ID, Digest: r.Digest, By: by, For: on, Verdict: approvals.Approve, Via: "cli",
	})
}

// waitingFor is a bench with a request under the requirement, people who are away, and no worker.
func waitingFor(t *testing.T, q approvals.Requirement, all ...approvals.Delegation) (*bench, *approvals.Request) {
	b := newBench(t)
	withDan(b)
	b.policy.always(q)
	b.policy.delegates(all...)
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	return b, b.pending(id)[0]
}

// TestDelegateCountsAsThePrincipal has a delegate approve, with and without saying for whom: the answer is the absent
// person's, and the trail names both.
func TestDelegateCountsAsThePrincipal(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]approvals.UserID{"said": bob, "found": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := waitingFor(t, named(1, bob), onLeave(user("dan"), bob)...)
			if err := b.service.MayDecide(t.Context(), r, user("dan")); err != nil {
				t.Errorf("the delegate may not decide: %v", err)
			}
			page, err := b.service.Pending(t.Context(),
				approvals.PendingQuery{Workspace: ws, Viewer: user("dan"), Mine: true})
			if err != nil || len(page.Requests) != 1 {
				t.Errorf("the delegate's list: %+v, %v", page, err)
			}
			got, err := b.onBehalf(r, user("dan"), on)
			if err != nil || got.Status != approvals.RequestApproved || got.Settler().For != bob {
				t.Fatalf("%+v, %v", got, err)
			}
			if said := b.decisionEntry(); said.Actor != string(user("dan")) || said.For != string(bob) {
				t.Errorf("the trail says %+v", said)
			}
			b.trail()
			b.forge(r.ID, func(r *approvals.Request) { r.Decisions[0].For = "" })
			if _, err := b.service.VerifyAudit(t.Context()); err == nil {
				t.Error("control: that the answer was for somebody else is not verified")
			}
			b.stop()
		})
	}
}

type decisionEntry struct {
	Actor string
	For   string `json:"for"`
}

// decisionEntry returns what the trail says of the newest decision.
func (b *bench) decisionEntry() (said decisionEntry) {
	b.Helper()
	err := approvals.ExportAudit(b.Context(), b.store, ws, func(e *approvals.AuditEntry) error {
		if e.Action != approvals.AuditDecision {
			return nil
		}
		said.Actor = e.Actor
		return json.Unmarshal(e.Data, &said)
	})
	if err != nil {
		b.Fatal(err)
	}
	return said
}

// TestDelegateTakesOneSeat lets neither a person and their delegate take two seats, nor one person take one of their
// own and one for somebody else.
func TestDelegateTakesOneSeat(t *testing.T) {
	t.Parallel()
	dan := user("dan")
	type answer struct{ by, on approvals.UserID }
	for name, order := range map[string][2]answer{
		"the principal, then the delegate":      {{bob, ""}, {dan, bob}},
		"the delegate, then the principal":      {{dan, bob}, {bob, ""}},
		"the delegate's own, then for them":     {{dan, ""}, {dan, bob}},
		"for them, then the delegate's own":     {{dan, bob}, {dan, ""}},
		"for two people":                        {{dan, bob}, {dan, cara}},
		"for them, then for the delegate":       {{dan, bob}, {cara, dan}},
		"for the delegate, then as a delegate":  {{cara, dan}, {dan, bob}},
		"two delegates of one person":           {{dan, bob}, {cara, bob}},
		"the principal, then another delegate":  {{bob, ""}, {cara, bob}},
		"the delegate, then the same once more": {{dan, bob}, {dan, bob}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := append(onLeave(dan, bob, cara), onLeave(cara, dan, bob)...)
			b, r := waitingFor(t, named(2, bob, cara, dan), all...)
			if _, err := b.onBehalf(r, order[0].by, order[0].on); err != nil {
				t.Fatal(err)
			}
			got, err := b.onBehalf(r, order[1].by, order[1].on)
			if !errors.Is(err, approvals.ErrConflict) || got.Status != approvals.RequestPending {
				t.Errorf("%s, %v", got.Status, err)
			}
			b.stop()
		})
	}
	b, r := waitingFor(t, named(2, bob, cara, dan), onLeave(dan, bob)...)
	if _, err := b.onBehalf(r, dan, bob); err != nil {
		t.Fatal(err)
	}
	if got := b.must(r, cara, approvals.Approve, ""); got.Status != approvals.RequestApproved {
		t.Errorf("control, dan for bob and cara: %s", got.Status)
	}
	b.stop()
}

// TestWhoIsNoDelegate refuses everybody who may not decide for somebody else.
func TestWhoIsNoDelegate(t *testing.T) {
	t.Parallel()
	dan, eve := user("dan"), user("eve")
	yesterday := []approvals.Delegation{{From: bob, To: dan, Until: time.Now().Add(-time.Minute)}}
	for name, tt := range map[string]struct {
		away   []approvals.Delegation
		by, on approvals.UserID
		change func(*bench)
	}{
		"nobody has said so":            {nil, dan, bob, nil},
		"of somebody else":              {onLeave(dan, cara), dan, bob, nil},
		"the other way round":           {onLeave(dan, bob), bob, dan, nil},
		"it has ended":                  {yesterday, dan, bob, nil},
		"a chain":                       {append(onLeave(eve, bob), onLeave(dan, eve)...), dan, eve, nil},
		"a chain to the end":            {append(onLeave(eve, bob), onLeave(dan, eve)...), dan, bob, nil},
		"the requester":                 {onLeave(ann, bob), ann, bob, nil},
		"of the requester":              {onLeave(dan, ann), dan, ann, nil},
		"who is not asked":              {onLeave(dan, cara), dan, cara, nil},
		"a guest":                       {onLeave(dan, bob), dan, bob, irregular(dan, "guest")},
		"a bot":                         {onLeave(dan, bob), dan, bob, irregular(dan, "bot")},
		"a leaver":                      {onLeave(dan, bob), dan, bob, irregular(dan, "deactivated")},
		"of a leaver":                   {onLeave(dan, bob), dan, bob, irregular(bob, "deactivated")},
		"a stranger":                    {onLeave(user("zoe"), bob), user("zoe"), bob, nil},
		"of another workspace's person": {onLeave(dan, bob), dan, approvals.NewUserID("T9", "bob"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := waitingFor(t, named(1, bob, ann), tt.away...)
			b.people.persons[eve] = approvals.Person{ID: eve, Regular: true}
			if tt.change != nil {
				tt.change(b)
			}
			for _, on := range []approvals.UserID{tt.on, ""} {
				if on == "" && (tt.by == bob || tt.on.Workspace() != ws) { // which is another answer, and allowed
					continue
				}
				if _, err := b.onBehalf(r, tt.by, on); !errors.Is(err, approvals.ErrUnauthorized) &&
					!errors.Is(err, approvals.ErrInvalid) {
					t.Errorf("for %q: %v", on, err)
				}
			}
			b.stop()
		})
	}
	b, r := waitingFor(t, named(1, bob, ann), onLeave(dan, bob)...)
	if got, err := b.onBehalf(r, dan, bob); err != nil || got.Status != approvals.RequestApproved {
		t.Errorf("control: %v", err)
	}
	b.stop()
}

func irregular(u approvals.UserID, why string) func(*bench) {
	return func(b *bench) { b.people.put(approvals.Person{ID: u, Why: why}) }
}

// TestDelegateOfSeveral has somebody stand in for two people: they find the request, and their answer counts once they
// say for whom.
func TestDelegateOfSeveral(t *testing.T) {
	t.Parallel()
	dan := user("dan")
	b, r := waitingFor(t, named(1, bob, cara), onLeave(dan, bob, cara)...)
	for who, want := range map[approvals.UserID]int{dan: 1, user("eve"): 0} {
		page, err := b.service.Pending(t.Context(), approvals.PendingQuery{Workspace: ws, Viewer: who, Mine: true})
		if err != nil || len(page.Requests) != want {
			t.Errorf("the list of %s: %+v, %v", who, page, err)
		}
	}
	if err := b.service.MayDecide(t.Context(), r, dan); !errors.Is(err, approvals.ErrUnauthorized) {
		t.Errorf("for whom was not said, and dan may: %v", err)
	}
	if _, err := b.onBehalf(r, dan, ""); !errors.Is(err, approvals.ErrUnauthorized) {
		t.Errorf("for whom was not said: %v", err)
	}
	if got, err := b.onBehalf(r, dan, cara); err != nil || got.Settler().For != cara {
		t.Errorf("for cara: %v", err)
	}
	b.stop()
	b, r = waitingFor(t, named(1, bob, dan), onLeave(dan, bob)...)
	if got, err := b.onBehalf(r, dan, ""); err != nil || got.Settler().For != "" {
		t.Errorf("somebody with a right of their own answers for themselves: %v", err)
	}
	b.stop()
}

// TestDelegateOfSeveralOfWhomOneHasAnswered: a press counts for whoever has no answer yet, and a delegate who has
// answered is told of that rather than asked for whom.
func TestDelegateOfSeveralOfWhomOneHasAnswered(t *testing.T) {
	t.Parallel()
	dan := user("dan")
	b, r := waitingFor(t, named(2, bob, cara), onLeave(dan, bob, cara)...)
	if _, err := b.onBehalf(r, dan, cara); err != nil {
		t.Fatal(err)
	}
	if _, err := b.onBehalf(r, dan, ""); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("dan once more: %v", err)
	}
	b.stop()
	b, r = waitingFor(t, named(2, bob, cara), onLeave(dan, bob, cara)...)
	b.must(r, bob, approvals.Approve, "")
	if got, err := b.onBehalf(r, dan, ""); err != nil || got.Settler().For != cara {
		t.Errorf("dan, after bob himself: %v", err)
	}
	b.stop()
}

// TestDelegatesAreCalled: who decides for somebody whom the policy names is called beside them, where they see the card
// or by themselves, and nobody who may not decide.
func TestDelegatesAreCalled(t *testing.T) {
	t.Parallel()
	dan := user("dan")
	ended := approvals.Delegation{From: bob, To: dan, Until: time.Now().Add(-time.Minute)}
	for name, tt := range map[string]struct {
		set    approvals.Approvers
		all    []approvals.Delegation
		copies []approvals.Copy
		users  []approvals.UserID
	}{
		"of a person": {
			approvals.Approvers{Users: []approvals.UserID{bob}}, onLeave(dan, bob),
			[]approvals.Copy{approvals.CopyFor(dan)}, []approvals.UserID{bob},
		},
		"who sees the card": {
			approvals.Approvers{Users: []approvals.UserID{bob}}, onLeave(cara, bob), nil,
			[]approvals.UserID{bob, cara},
		},
		"of a member of a group": {
			approvals.Approvers{Groups: []string{"S1"}}, onLeave(dan, bob),
			[]approvals.Copy{approvals.CopyFor(dan)}, nil,
		},
		"whose time is over": {
			approvals.Approvers{Users: []approvals.UserID{bob}}, []approvals.Delegation{ended}, nil,
			[]approvals.UserID{bob},
		},
		"who asked": {
			approvals.Approvers{Users: []approvals.UserID{bob}}, onLeave(ann, bob), nil, []approvals.UserID{bob},
		},
		"of several": {
			approvals.Approvers{Users: []approvals.UserID{bob, cara}}, onLeave(dan, bob, cara),
			[]approvals.Copy{approvals.CopyFor(dan)}, []approvals.UserID{bob, cara},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.people.put(approvals.Person{ID: dan, Name: "dan", Regular: true})
			b.people.setGroup("S1", bob)
			b.policy.always(with(func(q *approvals.Requirement) {
				q.SelfApproval = false
				askOf(q, tt.set)
			}))
			b.policy.delegates(tt.all...)
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			r := b.pending(id)[0]
			if !slices.Equal(r.Called.Copies, tt.copies) || !slices.Equal(r.Called.Users, tt.users) {
				t.Errorf("called are %+v", r.Called)
			}
			who, err := b.service.Awaited(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range tt.all {
				could := d.To != ann && d.Until.After(time.Now())
				if slices.Contains(who.Users, d.To) != could {
					t.Errorf("a reminder is for %+v", who)
				}
			}
			b.stop()
		})
	}
}

// TestSelfApprovalByADelegate is the requester's where the policy lets them.
func TestSelfApprovalByADelegate(t *testing.T) {
	t.Parallel()
	q := named(1, ann, bob)
	q.SelfApproval = true
	for _, d := range [][2]approvals.UserID{{user("dan"), ann}, {ann, bob}} {
		b, r := waitingFor(t, q, onLeave(d[0], d[1])...)
		if _, err := b.onBehalf(r, d[0], d[1]); err != nil {
			t.Errorf("%s for %s: %v", d[0], d[1], err)
		}
		b.stop()
	}
}

// TestEndOfADelegation has a delegate's answer count no longer when the delegation has ended before the last answer.
func TestEndOfADelegation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := named(2, bob, cara, ann)
		q.OnExpiry = approvals.ExpiryKeep
		b, r := waitingFor(t, q, onLeave(user("dan"), bob)...)
		if _, err := b.onBehalf(r, user("dan"), bob); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour)
		got := b.must(r, cara, approvals.Approve, "")
		if got.Status != approvals.RequestPending || got.Decisions[0].Void == "" {
			t.Errorf("%s, %+v", got.Status, got.Decisions)
		}
		if got = b.must(r, bob, approvals.Approve, ""); got.Status != approvals.RequestApproved {
			t.Errorf("bob himself: %s", got.Status)
		}
		b.stop()
		b.store.Close()
	})
}

// TestDelegationIsLookedAtAtTheIntent withdraws the delegation and changes the policy before the call: it is asked
// again.
func TestDelegationIsLookedAtAtTheIntent(t *testing.T) {
	t.Parallel()
	for name, withdraw := range map[string]bool{"withdrawn": true, "control": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := waitingFor(t, named(1, bob), onLeave(user("dan"), bob)...)
			b.stop()
			if _, err := b.onBehalf(r, user("dan"), bob); err != nil {
				t.Fatal(err)
			}
			if withdraw {
				b.policy.delegates()
			}
			b.policy.always(named(1, bob, cara))
			b.start()
			b.until("its end", func() bool { return b.request(r.ID).Applied || b.request(r.ID).Outcome != "" })
			b.until("no work", func() bool { return b.run(r.Run).Status != approvals.RunRunning })
			if ran := len(b.effects.all()) == 1; ran == withdraw {
				t.Errorf("it ran: %v", ran)
			}
			b.stop()
		})
	}
}

// TestDelegateGivesNoGrant refuses the terms of a grant to somebody who decides for another person. The plain answer
// for all calls of the run stays theirs to give.
func TestDelegateGivesNoGrant(t *testing.T) {
	t.Parallel()
	q := named(1, bob)
	q.Always = []approvals.Scope{approvals.ScopeRun, approvals.ScopeThread}
	b, r := waitingFor(t, q, onLeave(user("dan"), bob)...)
	d := approvals.Decision{
		Workspace: ws, Request: r.ID, Digest: r.Digest, By: user("dan"), Verdict: approvals.AlwaysApprove, Via: "cli",
		Grant: &approvals.GrantTerms{Scope: approvals.ScopeThread},
	}
	if _, err := b.service.Decide(b.Context(), d); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("a grant for somebody else: %v", err)
	}
	d.Grant = nil
	if got, err := b.service.Decide(b.Context(), d); err != nil || got.Status != approvals.RequestApproved {
		t.Errorf("%+v, %v", got, err)
	}
	if n := len(b.grants()); n > 0 {
		t.Errorf("%d grants", n)
	}
	b.stop()
}

// TestNoGrantWithADelegate: where one of two decides for somebody else no grant is made, and the request says so too.
func TestNoGrantWithADelegate(t *testing.T) {
	t.Parallel()
	q := named(2, bob, cara)
	q.Always = []approvals.Scope{approvals.ScopeRun, approvals.ScopeThread}
	b, r := waitingFor(t, q, onLeave(user("dan"), bob)...)
	b.must(r, user("dan"), approvals.AlwaysApprove, "")
	err := b.grant(r, cara, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
	if err != nil {
		t.Fatal(err)
	}
	got := b.request(r.ID)
	if n := len(b.grants()); got.Status != approvals.RequestApproved || n != 0 || got.Granted() || got.Lasting() {
		t.Errorf("%s, %d grants; granted %v, lasting %v", got.Status, n, got.Granted(), got.Lasting())
	}
	b.stop()
}
