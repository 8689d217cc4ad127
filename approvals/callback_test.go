package approvals_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// deploying is a bench with a public URL whose run waits for the result of a deployment.
func deploying(t *testing.T) (*bench, approvals.RunID, *approvals.Request) {
	b := newBench(t)
	b.public = "https://bot.example"
	b.serve(b.mortal)
	b.agent(model(deploys), external())
	b.start()
	id := b.submit()
	return b, id, b.question(id)
}

// wish is the person's wish for a token.
func wish(r *approvals.Request, by approvals.UserID) approvals.CallbackIssue {
	return approvals.CallbackIssue{Workspace: ws, Request: r.ID, By: by, Via: "cli"}
}

func (b *bench) token(r *approvals.Request, by approvals.UserID) string {
	b.Helper()
	at, err := b.service.IssueCallback(b.Context(), wish(r, by))
	if err != nil {
		b.Fatal(err)
	}
	if want := "https://bot.example/callbacks/" + string(r.ID); at.URL != want || len(at.Token) < 43 {
		b.Fatalf("callback %q with a token of %d characters", at.URL, len(at.Token))
	}
	return at.Token
}

func (b *bench) provide(r *approvals.Request, token, result string) error {
	_, err := b.service.ProvideResult(b.Context(), approvals.CallbackResult{
		Workspace: ws, Request: r.ID, Token: token, Result: result,
	})
	return err
}

// TestCallbackProvidesOnce: the newest token provides the result once. The trail says who had it made, and never holds
// it; neither does the store.
func TestCallbackProvidesOnce(t *testing.T) {
	t.Parallel()
	b, id, r := deploying(t)
	old := b.token(r, bob)
	token := b.token(r, cara)
	for name, wrong := range map[string]string{"replaced": old, "none": "", "a guess": token[:len(token)-1] + "~"} {
		if err := b.provide(r, wrong, "green"); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("token %s: %v", name, err)
		}
	}
	if err := b.provide(r, token, " \n"); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("an empty result: %v", err)
	}
	if err := b.provide(r, token, strings.Repeat("x", approvals.MaxResult+1)); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("a long result: %v", err)
	}
	if err := b.provide(r, token, `all "green"`); err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{`all "green"`, "red", "", strings.Repeat("x", approvals.MaxResult+1)} {
		if err := b.provide(r, token, again); !errors.Is(err, approvals.ErrConflict) {
			t.Errorf("%s again: %v", again, err)
		}
	}
	const want = `The system that carries this call out reports, as data: "all \"green\""`
	if got := b.reaches(id, approvals.RunDone).Output; got != want {
		t.Errorf("the model was told %q", got)
	}
	d := b.request(r.ID).Decisions
	if len(d) != 1 || d[0].By != approvals.CallbackPrincipal(ws) || d[0].Via != "callback" || d[0].Issuer != cara {
		t.Errorf("decisions %+v", d)
	}
	b.tokenNowhere(token)
	b.saysIssuer(cara)
}

// tokenNowhere checks that the trail does not hold the token.
func (b *bench) tokenNowhere(token string) {
	b.Helper()
	if n := b.count(approvals.AuditCallbackIssued); n == 0 {
		b.Error("the trail says nothing of the token")
	}
	err := approvals.ExportAudit(b.Context(), b.store, "", func(e *approvals.AuditEntry) error {
		if strings.Contains(string(e.Data), token) || strings.Contains(e.Actor, token) {
			b.Errorf("the token is in the trail: %s", e.Data)
		}
		return nil
	})
	if err != nil {
		b.Error(err)
	}
}

// saysIssuer checks what the trail says of the result that was taken.
func (b *bench) saysIssuer(u approvals.UserID) {
	b.Helper()
	err := approvals.ExportAudit(b.Context(), b.store, "", func(e *approvals.AuditEntry) error {
		if e.Action == approvals.AuditDecision &&
			(e.Actor != "T1/callback" || fact(e, "via") != "callback" || fact(e, "person") != string(u)) {
			b.Errorf("the trail says %s %s", e.Actor, e.Data)
		}
		return nil
	})
	if err != nil {
		b.Error(err)
	}
}

// TestCallbackIsForThoseWhoMay: a token is made for nobody who could not provide the result, and for no other question;
// nobody decides in the name of a callback.
func TestCallbackIsForThoseWhoMay(t *testing.T) {
	t.Parallel()
	b, _, r := deploying(t)
	for _, u := range []approvals.UserID{guest, out, user("nobody"), approvals.CallbackPrincipal(ws)} {
		if _, err := b.service.IssueCallback(b.Context(), wish(r, u)); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("%s: %v", u, err)
		}
	}
	if n := b.count(approvals.AuditCallbackRefused); n != 4 {
		t.Errorf("%d refusals in the trail, want 4", n)
	}
	b.refused(r, approvals.CallbackPrincipal(ws), approvals.ProvideResult, approvals.ErrInvalid)
	_, err := b.service.Decide(b.Context(), approvals.Decision{
		Workspace: ws, Request: r.ID, By: bob, Verdict: approvals.ProvideResult, Reason: "x", Digest: r.Digest,
		Via: approvals.ViaCallback,
	})
	if !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("a person by way of a callback: %v", err)
	}
	b.public = ""
	b.serve(b.mortal)
	_, err = b.service.IssueCallback(b.Context(), wish(r, bob))
	if !errors.Is(err, approvals.ErrInvalid) || !strings.Contains(err.Error(), "COUNTERSIGN_PUBLIC_URL") {
		t.Errorf("without a public URL: %v", err)
	}
}

// TestCallbackNeedsItsIssuer: a token is worth no more than the person who had it made. People are told once.
func TestCallbackNeedsItsIssuer(t *testing.T) {
	t.Parallel()
	b, id, r := deploying(t)
	token := b.token(r, bob)
	b.people.fail(errors.New("down"))
	if err := b.provide(r, token, "green"); !errors.Is(err, approvals.ErrUnavailable) {
		t.Errorf("while nobody can be looked up: %v", err)
	}
	b.people.fail(nil)
	b.people.deactivate(bob)
	for range 2 {
		if err := b.provide(r, token, "green"); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("of a leaver: %v", err)
		}
	}
	b.until("the notice", func() bool { return len(b.surface.texts(approvals.NotifyNotice)) > 0 })
	if got := b.surface.texts(approvals.NotifyNotice); len(got) != 1 || !strings.Contains(got[0], "was not taken") {
		t.Errorf("people were told %q", got)
	}
	b.must(r, cara, approvals.ProvideResult, "by hand")
	b.reaches(id, approvals.RunDone)
}

// TestLateCallback comes after another end. Nothing changes; where nobody knows what came of the call, people are told
// once what it says.
func TestLateCallback(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(b *bench, r *approvals.Request)
		told bool
	}{
		"a result by hand": {func(b *bench, r *approvals.Request) {
			b.must(r, bob, approvals.ProvideResult, "by hand")
		}, false},
		"the run was cancelled": {func(b *bench, r *approvals.Request) {
			if _, err := b.service.CancelRun(b.Context(), ws, r.Run, ann, ""); err != nil {
				b.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, r := deploying(t)
			token := b.token(r, bob)
			c.end(b, r)
			b.until("the end of the run", func() bool { return b.run(r.Run).Status.Ended() })
			before := b.request(r.ID)
			for range 2 {
				if err := b.provide(r, token, "green"); !errors.Is(err, approvals.ErrConflict) {
					t.Errorf("late: %v", err)
				}
			}
			if n := b.count(approvals.AuditDecisionRefused); n != 1 {
				t.Errorf("%d refusals in the trail, want one for the reason", n)
			}
			if after := b.request(r.ID); after.Status != before.Status || after.Outcome != before.Outcome ||
				len(after.Decisions) != len(before.Decisions) {
				t.Errorf("changed to %s, %s", after.Status, after.Outcome)
			}
			late := func() (n int) {
				for _, text := range b.surface.texts(approvals.NotifyNotice) {
					if strings.Contains(text, `It says: "green"`) {
						n++
					}
				}
				return n
			}
			if c.told {
				b.until("the late result to be told", func() bool { return late() > 0 })
			}
			if n := late(); (n == 1) != c.told {
				t.Errorf("told %d times", n)
			}
		})
	}
}

// TestExpiredCallback: the token ends with the time for an answer, also before somebody has noticed that, and whatever
// is sent with it: the request is said to have expired.
func TestExpiredCallback(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{"a result": "green", "nothing that could be one": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, r := deploying(t)
			token := b.token(r, bob)
			b.stop()
			b.change(b.request(r.ID), func(r *approvals.Request) { r.Expires = time.Now().Add(-time.Second) })
			answered, err := b.service.ProvideResult(b.Context(), approvals.CallbackResult{
				Workspace: ws, Request: r.ID, Token: token, Result: result,
			})
			if !errors.Is(err, approvals.ErrConflict) || answered == nil ||
				answered.Status != approvals.RequestExpired {
				t.Errorf("too late: %+v, %v", answered, err)
			}
			if got := b.request(r.ID); got.Status != approvals.RequestExpired || got.Kind != agent.ExternalResult {
				t.Errorf("the request is %s", got.Status)
			}
		})
	}
}

// TestTokenOfAnEarlierSending: a system that knows a call by its key goes by the sending that it has taken, whichever
// that was. A token that a person has made replaces all of them.
func TestTokenOfAnEarlierSending(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		idempotent, replaced bool
		sending              int
		want                 error
	}{
		"the first":              {true, false, 0, nil},
		"the last":               {true, false, 1, nil},
		"replaced":               {true, true, 0, approvals.ErrUnauthorized},
		"nothing was sent first": {false, false, 0, approvals.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := triggering(t, external())
			b.trigger.idempotent = c.idempotent
			b.trigger.answer = func(n int) approvals.TriggerAnswer {
				return approvals.TriggerAnswer{Taken: n > 1, Again: n == 1, Unknown: n == 1 && c.idempotent}
			}
			b.start()
			r := b.awaits(b.submit(), approvals.TriggerSent)
			if c.replaced {
				b.token(r, bob)
			}
			token := b.trigger.all()[c.sending].body.Callback.Token
			if err := b.provide(r, token, "green"); !errors.Is(err, c.want) {
				t.Errorf("provided: %v", err)
			}
			if err := b.provide(r, token, "green"); err == nil {
				t.Error("provided twice")
			}
			b.trail()
			b.stop()
		})
	}
}

// TestNoTokenWhileTheCallIsSent: the one that goes with the call would replace it unsaid.
func TestNoTokenWhileTheCallIsSent(t *testing.T) {
	t.Parallel()
	b := triggering(t, external())
	b.trigger.answer = func(int) approvals.TriggerAnswer { return approvals.TriggerAnswer{Taken: true} }
	b.start()
	r := b.awaits(b.submit(), approvals.TriggerSent)
	b.stop()
	issue := func(s approvals.TriggerStatus) error {
		b.change(b.request(r.ID), func(r *approvals.Request) { r.Trigger.Status = s })
		_, err := b.service.IssueCallback(b.Context(), approvals.CallbackIssue{
			Workspace: ws, Request: r.ID, By: bob, Via: "cli",
		})
		return err
	}
	for _, s := range []approvals.TriggerStatus{approvals.TriggerPlanned, approvals.TriggerSending} {
		if err := issue(s); !errors.Is(err, approvals.ErrConflict) {
			t.Errorf("%s: %v", s, err)
		}
	}
	if err := issue(approvals.TriggerSent); err != nil {
		t.Errorf("sent: %v", err)
	}
}
