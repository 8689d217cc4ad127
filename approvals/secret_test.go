package approvals_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

const canary = "canary-4711"

// secretly is a bench whose run asks for a payment with a secret memo.
func secretly(t *testing.T, q approvals.Requirement) (*bench, *approvals.Request) {
	b := newBench(t)
	b.policy.always(q)
	tools := b.tools()
	tools[0].Parameters = json.RawMessage(
		`{"type":"object","properties":{"amount":{"type":"number"},"memo":{"type":"string"}}}`)
	tools[0].Secret = []string{"memo"}
	tools[0].Explain = func(c *agent.ToolCall) []string { return []string{"explained: " + string(c.Arguments)} }
	b.agent(asks(call("c1", "pay", `{"amount":5,"memo":"`+canary+`"}`)), tools...)
	b.start()
	return b, b.question(b.submit())
}

// reveal has somebody shown the secret values of r.
func (b *bench) reveal(r *approvals.Request, by approvals.UserID) (*approvals.Request, error) {
	return b.service.Reveal(b.Context(), approvals.RevealIn{Workspace: ws, Request: r.ID, By: by, Via: "modal"})
}

// ofAction returns the entries of an action.
func (b *bench) ofAction(action approvals.AuditAction) (all []*approvals.AuditEntry) {
	for _, e := range b.entries() {
		if e.Action == action {
			all = append(all, e)
		}
	}
	return all
}

// TestSecretIsRevealed: the request says which arguments are secret, whoever may decide is shown them, the trail says
// to whom, and the tool gets them.
func TestSecretIsRevealed(t *testing.T) {
	t.Parallel()
	b, r := secretly(t, lenient())
	if diff := cmp.Diff([]string{"memo"}, r.Secret); diff != "" {
		t.Fatal(diff)
	}
	if shown := r.Shown(); shown != `{"amount":5,"memo":••• (11 characters)}` {
		t.Errorf("shown %s", shown)
	}
	raw, _ := json.Marshal(r.Mask())
	if strings.Contains(string(raw), canary) {
		t.Errorf("masked %s", raw)
	}
	for range 2 {
		whole, err := b.reveal(r, bob)
		if err != nil {
			t.Fatal(err)
		}
		if whole.Shown() != `{"amount":5,"memo":"`+canary+`"}` || len(whole.Explanation) != 1 || whole.Masked {
			t.Errorf("revealed %s", whole.Shown())
		}
	}
	entries := b.ofAction(approvals.AuditRequestRevealed)
	if len(entries) != 2 {
		t.Fatalf("%d entries for two revelations", len(entries))
	}
	e := entries[0]
	if e.Actor != string(bob) || e.Request != r.ID || fact(e, "secret") != `["memo"]` || fact(e, "via") != "modal" ||
		fact(e, "digest") != r.Digest.String() {
		t.Errorf("the trail says %+v: %s", e, e.Data)
	}
	if is := b.request(r.ID).Revelations; len(is) != 1 || is[0].By != bob {
		t.Errorf("revelations %v", is)
	}
	b.must(r, cara, approvals.Approve, "") // of normal risk: without having looked
	b.reaches(r.Run, approvals.RunDone)
	if ran := b.effects.all(); len(ran) != 1 || !strings.Contains(ran[0].arguments, canary) {
		t.Errorf("ran %v", ran)
	}
	for _, e := range b.entries() {
		if strings.Contains(string(e.Data), canary) {
			t.Errorf("the trail holds the value: %s", e.Data)
		}
	}
	if _, err := b.reveal(r, ann); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("after the decision: %v", err)
	}
}

// TestWhoIsNotRevealedTo: nobody is shown secret values who may not decide, and the trail says that they asked.
func TestWhoIsNotRevealedTo(t *testing.T) {
	t.Parallel()
	q := lenient()
	q.SelfApproval, q.Seats = false, approvals.Quorum(2, approvals.Approvers{ChannelMembers: true})
	b, r := secretly(t, q)
	b.must(r, cara, approvals.Approve, "")
	for _, c := range []struct {
		name string
		who  approvals.UserID
		want error
	}{
		{"the requester", ann, approvals.ErrUnauthorized}, {"a guest", guest, approvals.ErrUnauthorized},
		{"somebody outside", out, approvals.ErrUnauthorized}, {"who has answered", cara, approvals.ErrConflict},
	} {
		got, err := b.reveal(r, c.who)
		if got != nil || !errors.Is(err, c.want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	if n := len(b.ofAction(approvals.AuditRevealRefused)); n != 4 {
		t.Errorf("%d refusals in the trail, want 4", n)
	}
	if n := b.count(approvals.AuditRequestRevealed); n != 0 || len(b.request(r.ID).Revelations) != 0 {
		t.Errorf("%d revelations", n)
	}
	if _, err := b.reveal(r, approvals.NewUserID("T2", "bob")); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("somebody of another workspace: %v", err)
	}
	b.people.fail(errors.New("no answer"))
	if _, err := b.reveal(r, bob); !errors.Is(err, approvals.ErrUnavailable) {
		t.Errorf("while the directory fails: %v", err)
	}
	b.people.fail(nil)
	if _, err := b.reveal(r, bob); err != nil {
		t.Errorf("control: %v", err)
	}
}

// TestNothingIsRevealedUnwritten: without the entry in the trail nobody is shown anything.
func TestNothingIsRevealedUnwritten(t *testing.T) {
	t.Parallel()
	b, r := secretly(t, lenient())
	b.stop()
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := b.reveal(r, bob); got != nil || err == nil {
		t.Errorf("revealed %v without a store", got)
	}
	b.open()
	if n := b.count(approvals.AuditRequestRevealed); n != 0 {
		t.Errorf("%d entries", n)
	}
}

// TestHighRiskIsNotApprovedUnseen: under a policy of high risk whoever approves has been shown the secret values.
func TestHighRiskIsNotApprovedUnseen(t *testing.T) {
	t.Parallel()
	q := lenient()
	q.Risk = approvals.RiskHigh
	b, r := secretly(t, q)
	if !r.RevealFirst() {
		t.Error("the request does not say so")
	}
	b.refused(r, bob, approvals.Approve, approvals.ErrInvalid)
	if _, err := b.reveal(r, cara); err != nil {
		t.Fatal(err)
	}
	b.refused(r, bob, approvals.Approve, approvals.ErrInvalid) // it was shown to somebody else
	if _, err := b.reveal(r, bob); err != nil {
		t.Fatal(err)
	}
	b.must(r, bob, approvals.Approve, "")
	b.reaches(r.Run, approvals.RunDone)

	b, r = secretly(t, q)
	b.must(r, bob, approvals.Reject, "") // rejecting takes no look
	b.reaches(r.Run, approvals.RunDone)
}

// TestVerifyKnowsRevelations: a revelation that the trail does not know is found, and one that the request does not.
func TestVerifyKnowsRevelations(t *testing.T) {
	t.Parallel()
	b, r := secretly(t, lenient())
	if _, err := b.reveal(r, bob); err != nil {
		t.Fatal(err)
	}
	b.trail() // sealed
	if _, err := b.service.VerifyAudit(t.Context()); err != nil {
		t.Fatal(err)
	}
	is := b.request(r.ID).Revelations
	for name, forged := range map[string][]approvals.Revelation{
		"taken out": nil, "put in": append(is, approvals.Revelation{By: cara, At: is[0].At}),
		"of another": {{By: cara, At: is[0].At}},
	} {
		b.forge(r.ID, func(r *approvals.Request) { r.Revelations = forged })
		if _, err := b.service.VerifyAudit(t.Context()); err == nil {
			t.Errorf("a revelation %s is not found", name)
		}
	}
	b.forge(r.ID, func(r *approvals.Request) { r.Revelations = is })
	if _, err := b.service.VerifyAudit(t.Context()); err != nil {
		t.Errorf("control: %v", err)
	}
}

// TestNoGrantOnASecret: a condition of a grant never holds a secret value.
func TestNoGrantOnASecret(t *testing.T) {
	t.Parallel()
	b, r := secretly(t, generous())
	for _, terms := range []approvals.GrantTerms{
		{Scope: approvals.ScopeThread, Same: []string{"memo"}}, {Scope: approvals.ScopeThread, Same: []string{"/memo"}},
		{Scope: approvals.ScopeThread, AtMost: []string{"memo"}},
	} {
		err := b.grant(r, bob, approvals.AlwaysApprove, terms)
		if !errors.Is(err, approvals.ErrInvalid) || !strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", terms, err)
		}
	}
	if err := b.grant(r, bob, approvals.AlwaysApprove,
		approvals.GrantTerms{Scope: approvals.ScopeThread, Same: []string{"amount"}}); err != nil {
		t.Errorf("control: %v", err)
	}
}

// TestChangedSecret: the request about a changed call masks the same arguments, and the model is not told the value
// that a person has put in.
func TestChangedSecret(t *testing.T) {
	t.Parallel()
	b, r := secretly(t, lenient())
	next := b.edited(r, bob, `{"amount":6,"memo":"changed-815"}`)
	if got := next.Shown(); got != `{"amount":6,"memo":••• (11 characters)}` {
		t.Errorf("shown %s", got)
	}
	b.must(next, cara, approvals.Approve, "")
	told := b.reaches(r.Run, approvals.RunDone).Output
	if strings.Contains(told, "changed-815") || !strings.Contains(told, `they are now {"amount":6}`) {
		t.Errorf("the model was told %q", told)
	}
	if ran := b.effects.all(); len(ran) != 1 || !strings.Contains(ran[0].arguments, "changed-815") {
		t.Errorf("ran %v", ran)
	}
}

// TestSecretIsNotShownFromAnAnswer: a system to which a call is sent says a secret value in its answer, which people
// are told without it; the system got it.
func TestSecretIsNotShownFromAnAnswer(t *testing.T) {
	t.Parallel()
	for _, secret := range []bool{true, false} {
		tool := external()
		tool.Secret = map[bool][]string{true: {"ref"}}[secret]
		b := triggering(t, tool)
		b.trigger.answer = func(int) approvals.TriggerAnswer {
			return approvals.TriggerAnswer{Text: "ci.example answered HTTP 400 no " + canary}
		}
		b.agent(asks(call("c1", "deploy", `{"ref":"`+canary+`"}`)), tool)
		b.start()
		r := b.awaits(b.submit(), approvals.TriggerFailed)
		if got := strings.Contains(r.Sending(), canary); got == secret {
			t.Errorf("secret %v: people are told %q", secret, r.Sending())
		}
		if got := b.trigger.all(); len(got) != 1 || !strings.Contains(string(got[0].body.Arguments), canary) {
			t.Errorf("sent %v", got)
		}
		for _, p := range b.surface.all() {
			if strings.Contains(p.text, canary) && secret {
				t.Errorf("posted %q", p.text)
			}
		}
	}
}

// TestSecretIsNotShownFromAResult: a system that carries a call out says a secret value in the result that it reports,
// in time or too late, which people are shown without it. The model reads what was reported, as of every tool.
func TestSecretIsNotShownFromAResult(t *testing.T) {
	t.Parallel()
	for _, secret := range []bool{true, false} {
		tool := external()
		tool.Secret = map[bool][]string{true: {"ref"}}[secret]
		b := triggering(t, tool)
		b.agent(asks(call("c1", "deploy", `{"ref":"`+canary+`"}`)), tool)
		b.start()
		id := b.submit()
		r := b.awaits(id, approvals.TriggerSent)
		if err := b.provide(r, b.trigger.all()[0].body.Callback.Token, "deployed "+canary); err != nil {
			t.Fatal(err)
		}
		if out := b.reaches(id, approvals.RunDone).Output; !strings.Contains(out, canary) {
			t.Errorf("secret %v: the model was told %q", secret, out)
		}
		if got := b.request(r.ID).Mask().Decisions[0].Reason; strings.Contains(got, canary) == secret {
			t.Errorf("secret %v: people are shown %q", secret, got)
		}

		late := b.awaits(b.submit(), approvals.TriggerSent)
		if _, err := b.service.CancelRun(b.Context(), ws, late.Run, ann, ""); err != nil {
			t.Fatal(err)
		}
		if b.provide(late, b.trigger.all()[1].body.Callback.Token, "deployed "+canary) == nil {
			t.Error("the result was taken")
		}
		var told string
		b.until("what came late to be told", func() bool {
			told = strings.Join(b.surface.texts(approvals.NotifyNotice), "\n")
			return strings.Contains(told, "It says: ")
		})
		if strings.Contains(told, canary) == secret {
			t.Errorf("secret %v: people are told %q", secret, told)
		}
	}
}
