package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// emergency is a bench with a request of ann's, which bob and cara decide together, and a glass that dan and ann may
// break.
func emergency(t *testing.T, others ...approvals.UserID) (*bench, *approvals.Request) {
	b, r := waitingFor(t, named(2, bob, cara))
	b.stop()
	b.policy.glass = approvals.Emergency{
		People: approvals.Approvers{Users: append([]approvals.UserID{user("dan"), ann}, others...)}, Notify: "C9",
	}
	return b, r
}

func (b *bench) breakGlass(r *approvals.Request, by approvals.UserID) (*approvals.Request, error) {
	return b.decide(r, by, approvals.BreakGlass, "checkout is down")
}

// TestBreakGlass has one person let a call run past its policy: everybody is told, the effect and the trail name the
// decision, and somebody else has to review it.
func TestBreakGlass(t *testing.T) {
	t.Parallel()
	b, r := emergency(t)
	got, err := b.breakGlass(r, user("dan"))
	if err != nil || got.Status != approvals.RequestApproved || got.Settler().Verdict != approvals.BreakGlass ||
		!got.AwaitsReview() {
		t.Fatalf("%+v, %v", got, err)
	}
	b.policy.always(named(3, bob, cara, user("dan"))) // which counts as little as the one before
	b.start()
	b.reaches(r.Run, approvals.RunDone)
	b.until("delivered", b.delivered)
	effects := b.recorded(r.Run)
	if len(b.effects.all()) != 1 || len(effects) != 1 || effects[0].BreakGlass != got.Settler().ID {
		t.Errorf("effects %+v", effects)
	}
	told := map[string]string{}
	for _, p := range b.surface.all() {
		if p.kind == approvals.NotifyNotice && strings.Contains(p.text, "broke the glass") {
			told[p.place.Channel] = p.text
		}
	}
	for _, channel := range []string{"C1", "C9"} {
		if !strings.Contains(told[channel], "checkout is down") || !strings.Contains(told[channel], string(r.ID)) {
			t.Errorf("%s is told %q", channel, told[channel])
		}
	}
	b.trail()
	b.stop()
}

// recorded lists the effects of a run.
func (b *bench) recorded(run approvals.RunID) (all []*approvals.EffectRecord) {
	b.Helper()
	err := b.store.View(b.Context(), func(tx approvals.Tx) (err error) {
		all, err = tx.EffectsOfRun(ws, run)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// TestWhoBreaksNoGlass refuses everybody else, and a person who does not say why.
func TestWhoBreaksNoGlass(t *testing.T) {
	t.Parallel()
	eve := user("eve")
	for name, tt := range map[string]struct {
		by     approvals.UserID
		change func(*bench)
	}{
		"the requester, though named":  {ann, nil},
		"an approver who is not named": {bob, nil},
		"a guest":                      {eve, irregular(eve, "guest")},
		"a bot":                        {eve, irregular(eve, "bot")},
		"a leaver":                     {user("dan"), irregular(user("dan"), "deactivated")},
		"a stranger":                   {eve, nil},
		"nobody may":                   {user("dan"), func(b *bench) { b.policy.glass = approvals.Emergency{} }},
		"the directory is down":        {user("dan"), func(b *bench) { b.people.fail(errors.New("down")) }},
		"an answer without a reason":   {user("dan"), nil},
		"another call":                 {user("dan"), nil},
		"for somebody else":            {user("dan"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := emergency(t, eve)
			if tt.change != nil {
				tt.change(b)
			}
			d := approvals.Decision{
				Workspace: ws, Request: r.ID, Digest: r.Digest,
				By: tt.by, Verdict: approvals.BreakGlass, Reason: "fire",
			}
			switch name {
			case "an answer without a reason":
				d.Reason = "  "
			case "another call":
				d.Digest = agent.Digest{1}
			case "for somebody else":
				d.For = bob
			}
			if _, err := b.service.Decide(t.Context(), d); err == nil {
				t.Error("the glass is broken")
			}
			if got := b.request(r.ID); got.Status != approvals.RequestPending || len(got.Decisions) != 0 {
				t.Errorf("it is %s, %+v", got.Status, got.Decisions)
			}
		})
	}
}

// TestReviewOfAnEmergency takes one review, of somebody who may decide and has not taken part.
func TestReviewOfAnEmergency(t *testing.T) {
	t.Parallel()
	b, r := emergency(t)
	dan, eve := user("dan"), user("eve")
	review := func(by approvals.UserID, why string) error {
		_, err := b.service.Review(t.Context(), ws, r.ID,
			approvals.Review{By: by, Verdict: approvals.ReviewObject, Reason: why, Via: "cli"})
		return err
	}
	if err := review(bob, "why"); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("a review of what waits: %v", err)
	}
	if _, err := b.breakGlass(r, dan); err != nil {
		t.Fatal(err)
	}
	waits := func() int {
		var n int
		err := b.store.View(t.Context(), func(tx approvals.Tx) error {
			page, _, err := tx.QueryRequests(approvals.RequestQuery{Workspace: ws, Unreviewed: true, Limit: 10})
			n = len(page)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if waits() != 1 {
		t.Error("it is not listed")
	}
	b.people.put(approvals.Person{ID: eve, Why: "guest"})
	b.policy.always(named(2, bob, cara, dan, eve, ann))
	for _, by := range []approvals.UserID{dan, ann, eve, user("zoe")} {
		if err := review(by, "fine"); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("%s: %v", by, err)
		}
	}
	b.policy.delegates(onLeave(user("fay"), bob)...)
	b.people.put(approvals.Person{ID: user("fay"), Regular: true})
	if err := review(user("fay"), "for bob"); !errors.Is(err, approvals.ErrUnauthorized) {
		t.Errorf("a delegate: %v", err)
	}
	if err := review(bob, " "); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("without a reason: %v", err)
	}
	for range 2 { // the same again is none
		if err := review(bob, "could have waited"); err != nil {
			t.Fatal(err)
		}
	}
	if err := review(cara, "fine"); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("a second one: %v", err)
	}
	if got := b.request(r.ID); got.AwaitsReview() || got.Review.By != bob || waits() != 0 {
		t.Errorf("it says %+v", got.Review)
	}
	if n := b.count(approvals.AuditRequestReviewed); n != 1 {
		t.Errorf("%d reviews in the trail", n)
	}
	b.trail()
	b.forge(r.ID, func(r *approvals.Request) { r.Review.Verdict = approvals.ReviewAccept })
	_, err := b.service.VerifyAudit(t.Context())
	if forged, ok := errors.AsType[*approvals.AuditError](err); !ok || !strings.Contains(forged.Reason, "review") {
		t.Errorf("control: %v", err)
	}
}

// TestBrokenGlassIsHeardOfElsewhere has the channel take nothing: that becomes a dead letter, and the call runs.
func TestBrokenGlassIsHeardOfElsewhere(t *testing.T) {
	t.Parallel()
	b, r := emergency(t)
	b.surface.intercept = func(n *approvals.Notification) error {
		if n.Place.Channel == "C9" {
			return approvals.ErrUndeliverable
		}
		return nil
	}
	if _, err := b.breakGlass(r, user("dan")); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.reaches(r.Run, approvals.RunDone)
	b.until("a dead letter", func() bool {
		dead, err := b.service.DeadLetters(t.Context(), ws, "", 0)
		return err == nil && len(dead) == 1 && dead[0].Place.Channel == "C9"
	})
	b.stop()
}

// TestBrokenGlassWhileThePolicyFails: a call runs that somebody has let run past the policy, whatever the policy says,
// and also when it says nothing. An approval does not suffice then.
func TestBrokenGlassWhileThePolicyFails(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"broken": true, "control": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := emergency(t)
			if !broken {
				b.must(r, bob, approvals.Approve, "")
				b.must(r, cara, approvals.Approve, "")
			}
			b.policy.set(func(*approvals.Request) (approvals.Requirement, error) {
				return approvals.Requirement{}, errors.New("no such variable")
			})
			if broken {
				if _, err := b.breakGlass(r, user("dan")); err != nil {
					t.Fatal(err)
				}
			}
			b.start()
			b.reaches(r.Run, approvals.RunDone)
			if ran := len(b.effects.all()) == 1; ran != broken {
				t.Errorf("it ran: %v", ran)
			}
			b.trail()
			b.stop()
		})
	}
}
