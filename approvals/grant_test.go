package approvals_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// granting is a bench whose policy allows grants of every scope, and that has asked about a payment of 5 to acme.
func granting(t *testing.T) (*bench, *approvals.Request) {
	t.Helper()
	b := newBench(t)
	b.policy.always(generous())
	b.start()
	b.pays(`{"amount":5,"to":"acme"}`)
	run := b.submit()
	return b, b.question(run)
}

// generous is lenient, with grants of every scope that last two hours at most.
func generous() approvals.Requirement {
	q := lenient()
	q.Always = []approvals.Scope{
		approvals.ScopeRun, approvals.ScopeThread, approvals.ScopeChannel, approvals.ScopeWorkspace,
	}
	q.MaxTTL = 2 * time.Hour
	return q
}

// pays has the agent call pay once for each of the arguments.
func (b *bench) pays(arguments ...string) {
	var calls []agent.Item
	for i, a := range arguments {
		calls = append(calls, call(fmt.Sprintf("c%d", i+1), "pay", a))
	}
	b.model(asks(calls...))
}

// grant decides with the terms of a grant.
func (b *bench) grant(
	r *approvals.Request, by approvals.UserID, v approvals.Verdict, terms approvals.GrantTerms,
) error {
	b.Helper()
	_, err := b.service.Decide(b.Context(), approvals.Decision{
		Workspace: r.Workspace, Request: r.ID, By: by, Verdict: v, Digest: r.Digest, Via: "cli", Grant: &terms,
	})
	return err
}

// granted is grant that must be taken, and returns the grant it has made.
func (b *bench) granted(
	r *approvals.Request, by approvals.UserID, v approvals.Verdict, terms approvals.GrantTerms,
) approvals.GrantView {
	b.Helper()
	before := len(b.grants())
	if err := b.grant(r, by, v, terms); err != nil {
		b.Fatal(err)
	}
	all := b.grants()
	if len(all) != before+1 {
		b.Fatalf("%d grants after the decision, and %d before", len(all), before)
	}
	b.reaches(r.Run, approvals.RunDone)
	return all[before]
}

func (b *bench) grants() []approvals.GrantView {
	b.Helper()
	all, next, err := b.service.Grants(b.Context(), ws, "", 50)
	if err != nil || next != "" {
		b.Fatal(err, next)
	}
	return all
}

// state returns how the grant stands, and why.
func (b *bench) state(id approvals.GrantID) (approvals.GrantState, string) {
	b.Helper()
	all := b.grants()
	i := slices.IndexFunc(all, func(g approvals.GrantView) bool { return g.ID == id })
	if i < 0 {
		b.Fatalf("no grant %s", id)
	}
	return all[i].State, all[i].Why
}

// unasked has a run pay, and fails the test unless it does without a question.
func (b *bench) unasked(at approvals.Place, arguments string) approvals.RunID {
	b.Helper()
	id := b.tries(at, arguments)
	if asked := b.requests(id); len(asked) > 0 || b.run(id).Status != approvals.RunDone {
		b.Fatalf("%s in %s was asked about: %d requests, run is %s", arguments, at.Thread, len(asked), b.run(id).Status)
	}
	return id
}

// asked has a run pay, and fails the test unless people are asked. They reject it.
func (b *bench) asked(at approvals.Place, arguments string) *approvals.Request {
	b.Helper()
	paid := len(b.effects.all())
	id := b.tries(at, arguments)
	all := b.pending(id)
	if len(all) != 1 || len(b.effects.all()) != paid {
		b.Fatalf("%s in %s was not asked about: %d questions, %d payments", arguments, at.Thread, len(all),
			len(b.effects.all())-paid)
	}
	b.must(all[0], bob, approvals.Reject, "no")
	b.reaches(id, approvals.RunDone)
	return all[0]
}

// tries has a run pay, and waits until it is done or people are asked.
func (b *bench) tries(at approvals.Place, arguments string) approvals.RunID {
	b.Helper()
	b.pays(arguments)
	id := b.submitAt(at)
	b.until("the run to be done or to wait", func() bool {
		s := b.run(id).Status
		return s == approvals.RunDone || s == approvals.RunWaiting || s == approvals.RunFailed
	})
	return id
}

func (b *bench) revoke(g approvals.GrantID, by approvals.UserID) error {
	b.Helper()
	_, err := b.service.RevokeGrant(b.Context(), approvals.Revocation{
		Workspace: ws, Grant: g, By: by, Reason: "too wide", Via: "command",
	})
	return err
}

var (
	thread2  = approvals.Place{Surface: "slack", Channel: "C1", Thread: "2.1"}
	channel2 = approvals.Place{Surface: "slack", Channel: "C2", Thread: "3.1"}
)

// TestGrantScopes gives a grant of each scope and tries calls near and far.
func TestGrantScopes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scope   approvals.Scope
		unasked []approvals.Place
		asked   []approvals.Place
	}{
		{approvals.ScopeRun, nil, []approvals.Place{place, thread2, channel2}},
		{approvals.ScopeThread, []approvals.Place{place}, []approvals.Place{thread2, channel2}},
		{approvals.ScopeChannel, []approvals.Place{place, thread2}, []approvals.Place{channel2}},
		{approvals.ScopeWorkspace, []approvals.Place{place, thread2, channel2}, nil},
	} {
		t.Run(string(tt.scope), func(t *testing.T) {
			t.Parallel()
			b, r := granting(t)
			g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{
				Scope: tt.scope, Same: []string{"to"}, TTL: time.Hour,
			})
			if lasts := g.Expires.Sub(g.Created); lasts != time.Hour || g.State != approvals.GrantActive {
				t.Errorf("the grant lasts %s and is %s", lasts, g.State)
			}
			for _, p := range tt.unasked {
				b.unasked(p, `{"amount":7,"to":"acme"}`)
			}
			for _, p := range tt.asked {
				b.asked(p, `{"amount":7,"to":"acme"}`)
			}
			for _, p := range tt.unasked { // control: the condition counts
				b.asked(p, `{"amount":7,"to":"evil"}`)
				b.asked(p, `{"amount":7}`)
			}
			if n := b.count(approvals.AuditGrantUsed); n != len(tt.unasked) {
				t.Errorf("the trail has %d uses, want %d", n, len(tt.unasked))
			}
		})
	}
}

// TestGrantInRun gives a grant with a condition for the run itself: later calls of the run that differ are asked about.
func TestGrantInRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		switch told := outputs(req); len(told) {
		case 0:
			return []agent.Item{call("c1", "pay", `{"amount":5,"to":"acme"}`)}, nil
		case 1:
			return []agent.Item{call("c2", "pay", `{"amount":6,"to":"acme"}`),
				call("c3", "pay", `{"amount":6,"to":"evil"}`)}, nil
		}
		return []agent.Item{agent.AssistantMessage("done")}, nil
	}))
	run := b.submit()
	terms := approvals.GrantTerms{Scope: approvals.ScopeRun, Same: []string{"/to"}}
	r := b.question(run)
	if err := b.grant(r, bob, approvals.AlwaysApprove, terms); err != nil {
		t.Fatal(err)
	}
	var left []*approvals.Request
	b.until("a question about the other payee", func() bool {
		left = b.pending(run)
		return len(left) == 1 && left[0].ID != r.ID
	})
	if got := string(left[0].Arguments); got != `{"amount":6,"to":"evil"}` {
		t.Errorf("asked about %s", got)
	}
	if paid := b.effects.all(); len(paid) != 2 {
		t.Errorf("%d payments, want 2: %v", len(paid), paid)
	}
	b.must(left[0], bob, approvals.Reject, "")
	b.reaches(run, approvals.RunDone)
}

// TestGrantUses counts: calls that run, and waiting ones that the grant approves at once.
func TestGrantUses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(generous())
	b.start()
	b.pays(`{"amount":1,"to":"acme"}`, `{"amount":2,"to":"acme"}`, `{"amount":3,"to":"evil"}`)
	run := b.submit()
	b.until("three questions", func() bool { return len(b.pending(run)) == 3 })
	first := b.pending(run)[0]
	terms := approvals.GrantTerms{Scope: approvals.ScopeThread, Same: []string{"to"}, Uses: 3}
	if err := b.grant(first, bob, approvals.AlwaysApprove, terms); err != nil {
		t.Fatal(err)
	}
	left := b.pending(run)
	if len(left) != 1 || !strings.Contains(string(left[0].Arguments), "evil") {
		t.Fatalf("%d questions are left", len(left))
	}
	b.must(left[0], bob, approvals.Reject, "")
	b.reaches(run, approvals.RunDone)
	if g := b.grants()[0]; g.Used != 1 {
		t.Errorf("used %d times, want 1: by the call that waited", g.Used)
	}
	b.unasked(place, `{"amount":7,"to":"acme"}`)
	b.unasked(place, `{"amount":7,"to":"acme"}`)
	if g := b.grants()[0]; g.State != approvals.GrantUsedUp || g.Used != 3 {
		t.Errorf("the grant is %s after %d uses", g.State, g.Used)
	}
	b.asked(place, `{"amount":7,"to":"acme"}`)
	b.count(approvals.AuditGrantUsed)
}

// TestGrantUsesWaiting has more calls wait than the grant has uses: those it does not reach wait on.
func TestGrantUsesWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(generous())
	b.start()
	b.pays(`{"amount":1}`, `{"amount":2}`, `{"amount":3}`, `{"amount":4}`)
	run := b.submit()
	b.until("four questions", func() bool { return len(b.pending(run)) == 4 })
	first := b.pending(run)[0]
	b.check(b.grant(first, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread, Uses: 2}))
	if n := len(b.pending(run)); n != 1 {
		t.Errorf("%d calls wait on, want 1", n)
	}
	if g := b.grants()[0]; g.Used != 2 || g.State != approvals.GrantUsedUp {
		t.Errorf("the grant is %s, used %d times", g.State, g.Used)
	}
	b.trail()
}

// TestGrantUsesAtOnce has more runs at once than the grant has uses.
func TestGrantUsesAtOnce(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	const uses, runs = 3, 8
	g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeChannel, Uses: uses})
	paid := len(b.effects.all())
	var all []approvals.RunID
	for i := range runs {
		all = append(all, b.submitAt(approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprintf("7.%d", i)}))
	}
	waiting := 0
	for _, id := range all {
		b.until("the run to end or wait", func() bool {
			return b.run(id).Status == approvals.RunDone || b.run(id).Status == approvals.RunWaiting
		})
		if b.run(id).Status == approvals.RunWaiting {
			waiting++
		}
	}
	if n := len(b.effects.all()) - paid; n != uses || waiting != runs-uses {
		t.Errorf("%d payments under a grant for %d, %d runs wait", n, uses, waiting)
	}
	if state, _ := b.state(g.ID); state != approvals.GrantUsedUp {
		t.Errorf("the grant is %s", state)
	}
	b.count(approvals.AuditGrantUsed)
}

// TestGrantTold reads what the thread says: one sentence for the calls of a turn, with the grant's id.
func TestGrantTold(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
	b.pays(`{"amount":1}`, `{"amount":2}`)
	run := b.submit()
	b.reaches(run, approvals.RunDone)
	want := fmt.Sprintf("Nobody was asked about 2 calls of pay under grant %s.", g.ID)
	b.until("the notice", func() bool { return slices.Contains(b.surface.texts(approvals.NotifyNotice), want) })
	given := slices.IndexFunc(b.surface.texts(approvals.NotifyNotice), func(text string) bool {
		return strings.Contains(text, string(g.ID)) && strings.Contains(text, "in this thread")
	})
	if given < 0 {
		t.Errorf("nobody was told of the grant: %q", b.surface.texts(approvals.NotifyNotice))
	}
	err := b.store.View(t.Context(), func(tx approvals.Tx) error {
		all, err := tx.EffectsOfRun(ws, run)
		for _, e := range all {
			if e.Grant != g.ID || e.Request != "" {
				t.Errorf("effect %s ran under %+v", e.ID, e.Authority)
			}
		}
		if len(all) != 2 {
			t.Errorf("%d effects", len(all))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGrantRefused lists what makes no grant, and revokes none.
func TestGrantRefused(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	thread := approvals.GrantTerms{Scope: approvals.ScopeThread}
	type terms = approvals.GrantTerms
	const yes, no, s = approvals.AlwaysApprove, approvals.AlwaysReject, approvals.ScopeThread
	for name, tt := range map[string]struct {
		by    approvals.UserID
		v     approvals.Verdict
		terms approvals.GrantTerms
		want  error
	}{
		"a guest":           {guest, yes, thread, approvals.ErrUnauthorized},
		"a stranger":        {out, yes, thread, approvals.ErrUnauthorized},
		"nobody":            {user("gone"), yes, thread, approvals.ErrUnauthorized},
		"an answer once":    {bob, approvals.Approve, thread, approvals.ErrInvalid},
		"an unknown scope":  {bob, yes, terms{Scope: "world"}, approvals.ErrInvalid},
		"no scope":          {bob, yes, terms{}, approvals.ErrInvalid},
		"longer than may":   {bob, yes, terms{Scope: s, TTL: 3 * time.Hour}, approvals.ErrInvalid},
		"a moment":          {bob, yes, terms{Scope: s, TTL: 1}, approvals.ErrInvalid},
		"fewer than none":   {bob, yes, terms{Scope: s, Uses: -1}, approvals.ErrInvalid},
		"a counted no":      {bob, no, terms{Scope: s, Uses: 1}, approvals.ErrInvalid},
		"a bad pointer":     {bob, yes, terms{Scope: s, Same: []string{"/a~2"}}, approvals.ErrInvalid},
		"no name":           {bob, yes, terms{Scope: s, Same: []string{""}}, approvals.ErrInvalid},
		"a name twice":      {bob, yes, terms{Scope: s, Same: []string{"to", "/to"}}, approvals.ErrInvalid},
		"a misspelt name":   {bob, yes, terms{Scope: s, Same: []string{"payee"}}, approvals.ErrInvalid},
		"without what is":   {bob, yes, terms{Scope: s, Without: []string{"to"}}, approvals.ErrInvalid},
		"at most of a text": {bob, yes, terms{Scope: s, AtMost: []string{"to"}}, approvals.ErrInvalid},
	} {
		if err := b.grant(r, tt.by, tt.v, tt.terms); !errors.Is(err, tt.want) {
			t.Errorf("%s: have %v, want %v", name, err, tt.want)
		}
	}
	b.policy.always(lenient())
	if err := b.grant(r, bob, approvals.AlwaysApprove, thread); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("a scope that the policy of today does not name: %v", err)
	}
	b.policy.always(generous())
	if n := len(b.grants()); n > 0 {
		t.Errorf("%d grants were made", n)
	}
	g := b.granted(r, bob, approvals.AlwaysApprove, thread) // control: the same request takes one
	for _, by := range []approvals.UserID{guest, out, user("gone"), "T2/bob"} {
		err := b.revoke(g.ID, by)
		if !errors.Is(err, approvals.ErrUnauthorized) && !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("revoked by %s: %v", by, err)
		}
	}
	b.people.deactivate(bob)
	if err := b.revoke(g.ID, bob); !errors.Is(err, approvals.ErrUnauthorized) {
		t.Errorf("revoked by a leaver who gave it: %v", err)
	}
	b.people.fail(errors.New("Slack is away"))
	if err := b.revoke(g.ID, cara); !errors.Is(err, approvals.ErrUnavailable) {
		t.Errorf("revoked while nobody can be looked up: %v", err)
	}
	b.people.fail(nil)
	if err := b.revoke("grant_none", cara); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("revoked what is not there: %v", err)
	}
	if n := b.count(approvals.AuditGrantRefused); n != 4 {
		t.Errorf("%d refusals in the trail, want 4", n)
	}
	if state, _ := b.state(g.ID); state == approvals.GrantRevoked {
		t.Error("it was revoked")
	}
	b.check(b.revoke(g.ID, cara))
	if err := b.revoke(g.ID, cara); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("revoked twice: %v", err)
	}
}

// TestGrantLimit fills a tool's grants up.
func TestGrantLimit(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	err := b.store.Update(t.Context(), func(tx approvals.Tx) (err error) {
		for i := range 100 {
			err = errors.Join(err, tx.PutGrant(&approvals.Grant{
				Workspace: ws, ID: approvals.GrantID(fmt.Sprintf("grant_%03d", i)), Scope: approvals.ScopeRun,
				Agent: "ops", Tool: "pay", Created: tx.Now(), Expires: tx.Now().Add(time.Hour),
			}))
		}
		return err
	})
	b.check(err)
	terms := approvals.GrantTerms{Scope: approvals.ScopeThread}
	if err := b.grant(r, bob, approvals.AlwaysApprove, terms); !errors.Is(err, approvals.ErrLimit) {
		t.Fatalf("have %v, want ErrLimit", err)
	}
	if got := b.request(r.ID); len(got.Decisions) > 0 {
		t.Error("the refused answer is recorded")
	}
	_, err = approvals.RevokeGrant(t.Context(), b.store, approvals.Revocation{Workspace: ws, Grant: "grant_050"})
	b.check(err)
	b.check(b.grant(r, bob, approvals.AlwaysApprove, terms))
	b.reaches(r.Run, approvals.RunDone)
}

// TestGrantSeen says who learns of a grant.
func TestGrantSeen(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
	for by, want := range map[approvals.UserID]int{ann: 1, bob: 1, cara: 1, guest: 0, out: 0, user("gone"): 0} {
		page, _, err := b.service.GrantsFor(t.Context(), by, 10)
		if err != nil || len(page) != want {
			t.Errorf("%s sees %d grants: %v", by, len(page), err)
		}
	}
}

// TestGrantsInForceGoFirst lists a grant that is in force behind more that have ended than are listed or read at once.
func TestGrantsInForceGoFirst(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
	b.check(b.store.Update(t.Context(), func(tx approvals.Tx) (err error) {
		for i := range 1200 {
			err = errors.Join(err, tx.PutGrant(&approvals.Grant{
				Workspace: ws, ID: approvals.GrantID(fmt.Sprintf("grant_0000%04d", i)), Scope: approvals.ScopeRun,
				Agent: "ops", Tool: "pay", Place: place, Created: tx.Now(), Expires: tx.Now().Add(-time.Hour),
			}))
		}
		return err
	}))
	for _, tt := range []struct {
		by   approvals.UserID
		most int
		want []approvals.GrantID
	}{
		{bob, 1, []approvals.GrantID{g.ID}},
		{bob, 3, []approvals.GrantID{g.ID, "grant_00001199", "grant_00001198"}},
		{bob, 1201, nil},
		{guest, 3, []approvals.GrantID{}},
	} {
		list, more, err := b.service.GrantsFor(t.Context(), tt.by, tt.most)
		var got []approvals.GrantID
		for i := range list {
			got = append(got, list[i].ID)
		}
		switch {
		case err != nil || more != (tt.most < 1201):
			t.Errorf("%s, at most %d: more %t, %v", tt.by, tt.most, more, err)
		case tt.want == nil && (len(got) != 1201 || got[0] != g.ID || got[1200] != "grant_00000000"):
			t.Errorf("all of them: %d, from %s", len(got), got[0])
		case tt.want != nil && !slices.Equal(got, tt.want):
			t.Errorf("%s sees %v, want %v", tt.by, got, tt.want)
		}
	}
}

// TestGrantAudit changes a grant and its uses behind the trail's back.
func TestGrantAudit(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread, Uses: 9})
	b.unasked(place, `{"amount":7}`)
	sound, err := b.service.Grant(t.Context(), ws, g.ID)
	b.check(err)
	for _, tt := range []struct {
		name   string
		change func(*approvals.Grant)
	}{
		{"used less", func(g *approvals.Grant) { g.Used = 0 }},
		{"wider", func(g *approvals.Grant) { g.Scope = approvals.ScopeWorkspace }},
		{"longer", func(g *approvals.Grant) { g.Expires = g.Expires.Add(time.Hour) }},
		{"more uses", func(g *approvals.Grant) { g.Uses = 99 }},
		{"by another", func(g *approvals.Grant) { g.Grantors[0] = cara }},
		{"for less", func(g *approvals.Grant) {
			g.Condition = []approvals.ArgumentBound{{Pointer: "/x", Absent: true}}
		}},
		{"ended", func(g *approvals.Grant) { g.Revoked = g.Created }},
		{"made up", func(g *approvals.Grant) { g.ID = "grant_made_up" }}, // it stays, so it is the last one
	} {
		b.trail() // control: without the change it verifies
		forged := *sound
		forged.Grantors = slices.Clone(sound.Grantors)
		tt.change(&forged)
		b.check(b.store.Update(t.Context(), func(tx approvals.Tx) error { return tx.PutGrant(&forged) }))
		_, err := b.service.VerifyAudit(t.Context())
		if _, ok := errors.AsType[*approvals.AuditError](err); !ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		b.check(b.store.Update(t.Context(), func(tx approvals.Tx) error { return tx.PutGrant(sound) }))
	}
	b2, r2 := granting(t)
	g2 := b2.granted(r2, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
	run := b2.unasked(place, `{"amount":7}`)
	b2.check(b2.store.Update(t.Context(), func(tx approvals.Tx) error {
		all, err := tx.EffectsOfRun(ws, run)
		all[0].Grant = g2.ID + "0"
		return cmp.Or(err, tx.PutEffect(all[0]))
	}))
	if _, err := b2.service.VerifyAudit(t.Context()); err == nil {
		t.Error("an effect names another grant than the trail")
	}
}

// TestRevocationAudit changes who revoked a grant, when and why, behind the trail's back.
func TestRevocationAudit(t *testing.T) {
	t.Parallel()
	for _, by := range []approvals.UserID{cara, ""} {
		b, r := granting(t)
		g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
		v := approvals.Revocation{Workspace: ws, Grant: g.ID, By: by, Reason: "too wide", Via: "button"}
		revoke := b.service.RevokeGrant
		if by == "" {
			revoke = func(ctx context.Context, v approvals.Revocation) (*approvals.Grant, error) {
				return approvals.RevokeGrant(ctx, b.store, v)
			}
		}
		sound, err := revoke(t.Context(), v)
		b.check(err)
		for name, change := range map[string]func(*approvals.Grant){
			"who":  func(g *approvals.Grant) { g.RevokedBy = ann },
			"when": func(g *approvals.Grant) { g.Revoked = g.Revoked.Add(-time.Minute) },
			"why":  func(g *approvals.Grant) { g.RevokedReason = "" },
		} {
			b.trail() // control: without the change it verifies
			forged := *sound
			change(&forged)
			b.check(b.store.Update(t.Context(), func(tx approvals.Tx) error { return tx.PutGrant(&forged) }))
			_, err := b.service.VerifyAudit(t.Context())
			if bad, ok := errors.AsType[*approvals.AuditError](err); !ok || bad.Grant != g.ID {
				t.Errorf("revoked by %q, %s: %v", by, name, err)
			}
			b.check(b.store.Update(t.Context(), func(tx approvals.Tx) error { return tx.PutGrant(sound) }))
		}
	}
}

// TestGrantTermsFrozen has the conditions be those of the recorded call, whatever a client says.
func TestGrantTermsFrozen(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	g := b.granted(r, bob, approvals.AlwaysApprove, approvals.GrantTerms{
		Scope: approvals.ScopeThread, Same: []string{"to"}, AtMost: []string{"amount"}, Without: []string{"memo"},
	})
	got, err := json.Marshal(g.Condition)
	b.check(err)
	want := `[{"pointer":"/amount","at_most":5},{"pointer":"/memo","absent":true},{"pointer":"/to","equal":"acme"}]`
	if string(got) != want {
		t.Errorf("the condition is %s, want %s", got, want)
	}
	b.unasked(place, `{"amount":5,"to":"acme"}`)
	b.unasked(place, `{"amount":-1.5,"to":"acme"}`)
	b.asked(place, `{"amount":5.01,"to":"acme"}`)
	b.asked(place, `{"amount":"5","to":"acme"}`)
	b.asked(place, `{"amount":5,"to":"acme","memo":null}`)
}

// TestGrantOfExternalCalls: nothing is executed here that could be counted as a use, so people see to each call. They
// may still say no to later ones.
func TestGrantOfExternalCalls(t *testing.T) {
	t.Parallel()
	b, r := granting(t)
	kind := r.Tool.Kind
	thread := approvals.GrantTerms{Scope: approvals.ScopeThread}
	set := func(k agent.ToolKind) {
		b.check(b.store.Update(b.Context(), func(tx approvals.Tx) error {
			head, err := tx.RequestHead(ws, r.ID)
			if err != nil {
				return err
			}
			head.Tool.Kind = k
			return tx.PutRequestHead(head)
		}))
	}
	set(agent.KindExternal)
	if err := b.grant(r, bob, approvals.AlwaysApprove, thread); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("granted: %v", err)
	}
	set(kind)
	b.check(b.grant(r, bob, approvals.AlwaysApprove, thread))
}
