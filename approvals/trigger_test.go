package approvals_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// deploySystem carries deployments out: it takes calls, and answers as the test says.
type deploySystem struct {
	mu         sync.Mutex
	received   []received
	idempotent bool
	// answer is called with the number of calls received, this one included. Nil: it takes them.
	answer func(n int) approvals.TriggerAnswer
	// wait, where it is not nil, is called with the number of calls received before the answer is given.
	wait func(ctx context.Context, n int)
}

type received struct {
	key  string
	body struct {
		Effect    string                     `json:"effect_id"`
		Request   approvals.RequestID        `json:"request"`
		Tool      string                     `json:"tool"`
		Arguments json.RawMessage            `json:"arguments"`
		Callback  *approvals.CallbackAddress `json:"callback"`
	}
}

func (d *deploySystem) Trigger(agentName, tool string) approvals.Trigger {
	if agentName != "ops" || tool != "deploy" {
		return nil
	}
	return d
}

func (d *deploySystem) Target() string { return "https://ci.example" }

func (d *deploySystem) Idempotent() bool { return d.idempotent }

func (d *deploySystem) Send(ctx context.Context, key string, body []byte) approvals.TriggerAnswer {
	got := received{key: key}
	if err := json.Unmarshal(body, &got.body); err != nil {
		return approvals.TriggerAnswer{Text: err.Error()}
	}
	d.mu.Lock()
	d.received = append(d.received, got)
	n := len(d.received)
	d.mu.Unlock()
	if d.wait != nil {
		d.wait(ctx, n)
	}
	if d.answer != nil {
		return d.answer(n)
	}
	return approvals.TriggerAnswer{Taken: true, Text: "ci.example answered HTTP 202 Accepted"}
}

func (d *deploySystem) all() []received {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]received(nil), d.received...)
}

// triggering is a bench whose deployments are sent to a system.
func triggering(t *testing.T, tool agent.Tool) *bench {
	b := newBench(t)
	b.public, b.trigger = "https://bot.example", &deploySystem{}
	b.serve(b.mortal)
	b.agent(model(deploys), tool)
	return b
}

// awaits waits for the run's question for a result whose trigger has the status.
func (b *bench) awaits(id approvals.RunID, status approvals.TriggerStatus) *approvals.Request {
	b.Helper()
	var found *approvals.Request
	b.until("the call to be "+string(status), func() bool {
		for _, r := range b.requests(id) {
			if r.Trigger != nil && r.Trigger.Status == status {
				found = r
			}
		}
		return found != nil
	})
	return found
}

// TestTriggerSendsTheApprovedCall once it may be carried out and not before, with all that it takes to report the
// result; the system does.
func TestTriggerSendsTheApprovedCall(t *testing.T) {
	t.Parallel()
	tool := external()
	tool.NeedsApproval = agent.AlwaysAsk
	b := triggering(t, tool)
	b.start()
	id := b.submit()
	gate := b.question(id)
	if gate.Kind != agent.Confirm || len(b.trigger.all()) != 0 {
		t.Fatalf("before anybody has approved, %s was asked and %v sent", gate.Kind, b.trigger.all())
	}
	b.must(gate, bob, approvals.Approve, "")
	r := b.awaits(id, approvals.TriggerSent)
	got := b.trigger.all()
	if len(got) != 1 {
		t.Fatalf("sent %d times", len(got))
	}
	body := got[0].body
	if got[0].key == "" || body.Effect != got[0].key || body.Request != r.ID || body.Tool != "deploy" ||
		string(body.Arguments) != `{"ref":"v2"}` || body.Callback == nil ||
		body.Callback.URL != "https://bot.example/callbacks/"+string(r.ID) {
		t.Errorf("sent %+v", got[0])
	}
	if text := r.Sending(); !strings.Contains(text, "https://ci.example, which has taken it") {
		t.Errorf("people are told %q", text)
	}
	if err := b.provide(r, body.Callback.Token, "build 4711"); err != nil {
		t.Fatal(err)
	}
	if out := b.reaches(id, approvals.RunDone).Output; !strings.Contains(out, `reports, as data: "build 4711"`) {
		t.Errorf("the model was told %q", out)
	}
	if d := b.request(r.ID).Decisions; len(d) != 1 || d[0].Issuer != "" || d[0].Via != approvals.ViaCallback {
		t.Errorf("decisions %+v", d)
	}
	b.tokenNowhere(body.Callback.Token)
}

// TestTriggerWithoutCallback sends what needs no approval at once; without a public URL a person provides the result.
func TestTriggerWithoutCallback(t *testing.T) {
	t.Parallel()
	b := triggering(t, external())
	b.public = ""
	b.serve(b.mortal)
	b.start()
	id := b.submit()
	r := b.awaits(id, approvals.TriggerSent)
	if got := b.trigger.all(); len(got) != 1 || got[0].body.Callback != nil {
		t.Errorf("sent %+v", got)
	}
	b.must(r, bob, approvals.ProvideResult, "done")
	b.reaches(id, approvals.RunDone)
}

// TestTriggerThatFails is told, and people can still provide the result, or reject the call.
func TestTriggerThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer approvals.TriggerAnswer
		status approvals.TriggerStatus
		told   string
		end    approvals.Verdict
	}{
		"an error": {approvals.TriggerAnswer{Text: "ci.example answered HTTP 500 Internal Server Error"},
			approvals.TriggerFailed, "not taken by https://ci.example: ci.example answered HTTP 500", approvals.Reject},
		"silence": {approvals.TriggerAnswer{Unknown: true, Text: "ci.example did not answer: timed out"},
			approvals.TriggerUnknown,
			"unknown whether https://ci.example has taken the call: ci.example did not answer",
			approvals.ProvideResult},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := triggering(t, external())
			b.trigger.answer = func(int) approvals.TriggerAnswer { return c.answer }
			b.start()
			id := b.submit()
			r := b.awaits(id, c.status)
			b.until("the notice", func() bool { return len(b.surface.texts(approvals.NotifyNotice)) > 0 })
			if got := b.surface.texts(approvals.NotifyNotice)[0]; !strings.Contains(got, c.told) {
				t.Errorf("people were told %q", got)
			}
			if !strings.Contains(r.Sending(), c.told) {
				t.Errorf("the card says %q", r.Sending())
			}
			b.must(r, bob, c.end, "as it is")
			b.reaches(id, approvals.RunDone)
			if n := len(b.trigger.all()); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// TestTriggerTriesAgain where that is safe, under the same key, with a new token each time.
func TestTriggerTriesAgain(t *testing.T) {
	t.Parallel()
	b := triggering(t, external())
	b.trigger.answer = func(n int) approvals.TriggerAnswer {
		return approvals.TriggerAnswer{Taken: n > 1, Again: n == 1, Text: "ci.example could not be reached"}
	}
	b.start()
	id := b.submit()
	r := b.awaits(id, approvals.TriggerSent)
	got := b.trigger.all()
	if len(got) != 2 || got[0].key != got[1].key || r.Trigger.Attempt != 2 {
		t.Fatalf("sent %+v", got)
	}
	if err := b.provide(r, got[0].body.Callback.Token, "x"); err == nil {
		t.Error("the first token still counts")
	}
	if err := b.provide(r, got[1].body.Callback.Token, "x"); err != nil {
		t.Error(err)
	}
	b.reaches(id, approvals.RunDone)
}

// TestTriggerWithheld: what had allowed the call holds no more when it is its turn. Nothing is sent.
func TestTriggerWithheld(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench, tool agent.Tool){
		"the gate asks now": func(b *bench, tool agent.Tool) {
			tool.NeedsApproval = agent.AlwaysAsk
			b.agent(model(deploys), tool)
		},
		"the tool is another": func(b *bench, tool agent.Tool) {
			tool.Version = "2"
			b.agent(model(deploys), tool)
		},
		"the tool is gone": func(b *bench, _ agent.Tool) { b.agent(model(deploys)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := triggering(t, external())
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			change(b, external())
			r := b.pending(id)[0]
			for range 2 {
				if err := step(triggerJob(r.ID)); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.request(r.ID); got.Trigger.Status != approvals.TriggerWithheld || len(b.trigger.all()) != 0 {
				t.Errorf("%s, sent %v", got.Sending(), b.trigger.all())
			}
		})
	}
}

// TestTriggerWithheldAfterACrash: nothing is sent again that is not allowed any more, and nobody is told that it was
// not sent, which the process that died may have done.
func TestTriggerWithheldAfterACrash(t *testing.T) {
	t.Parallel()
	b := triggering(t, external())
	b.trigger.idempotent = true
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	r := b.pending(id)[0]
	b.mortal.dieAt(2, false) // the record of what came of it
	_ = step(triggerJob(r.ID))
	b.reopen()
	tool := external()
	tool.NeedsApproval = agent.AlwaysAsk
	b.agent(model(deploys), tool)
	if err := b.step()(triggerJob(r.ID)); err != nil {
		t.Fatal(err)
	}
	got := b.request(r.ID)
	if len(b.trigger.all()) != 1 || got.Trigger.Status != approvals.TriggerUnknown {
		t.Errorf("sent %d times; people are told %q", len(b.trigger.all()), got.Sending())
	}
	b.must(got, bob, approvals.Reject, "")
	if got = b.request(r.ID); got.Outcome != approvals.OutcomeUnknown {
		t.Errorf("the call of which nobody knows whether it was sent is told to be %q", got.Outcome)
	}
}

// TestTriggerPastItsDeadline has the job that sends a call come before the timer of its request, as after a stop of the
// program that lasted longer than there was time for the result. A call whose result nobody takes any more is not sent,
// nor sent again; where it may have been sent before, nobody says that it was not, or that it is being sent.
func TestTriggerPastItsDeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dies bool // while it is sent, for the first time
		sent int
		says string
	}{
		"not sent yet":    {false, 0, "The call was not sent to https://ci.example."},
		"sent, as it may": {true, 1, "It is unknown whether https://ci.example has taken the call."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := triggering(t, external())
				b.trigger.idempotent = true
				step := b.step()
				id := b.submit()
				if err := step(runJob(id)); err != nil {
					t.Fatal(err)
				}
				r := b.pending(id)[0]
				if c.dies {
					b.mortal.dieAt(2, false) // the record of what came of it
					_ = step(triggerJob(r.ID))
					b.reopen()
					step = b.step()
				}
				time.Sleep(time.Until(r.Expires))
				for range 2 {
					if err := step(triggerJob(r.ID)); err != nil {
						t.Fatal(err)
					}
				}
				got := b.request(r.ID)
				if n := len(b.trigger.all()); n != c.sent || got.Status != approvals.RequestExpired ||
					!strings.HasPrefix(got.Sending(), c.says) {
					t.Errorf("sent %d times; it is %s: %q", n, got.Status, got.Sending())
				}
				b.trail()
				b.stop()
				b.store.Close()
			})
		})
	}
}

func triggerJob(id approvals.RequestID) approvals.Job {
	return approvals.Job{Workspace: ws, Kind: approvals.JobTrigger, ID: string(id)}
}

// TestTriggerAfterACrash: a call is sent at most once unless it may be sent again, whatever moment the program dies at,
// and what is not known is told.
func TestTriggerAfterACrash(t *testing.T) {
	t.Parallel()
	const intent, record = 1, 2 // the writes of a sending
	for name, c := range map[string]struct {
		write      int
		behind     bool
		idempotent bool
		sent       int
		status     approvals.TriggerStatus
	}{
		"before the intent":             {intent, false, false, 1, approvals.TriggerSent},
		"between intent and sending":    {intent, true, false, 0, approvals.TriggerUnknown},
		"between sending and record":    {record, false, false, 1, approvals.TriggerUnknown},
		"behind the record":             {record, true, false, 1, approvals.TriggerSent},
		"idempotent, before sending":    {intent, true, true, 1, approvals.TriggerSent},
		"idempotent, before the record": {record, false, true, 2, approvals.TriggerSent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := triggering(t, external())
			b.trigger.idempotent = c.idempotent
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			r := b.pending(id)[0]
			b.mortal.dieAt(c.write, c.behind)
			_ = step(triggerJob(r.ID)) // the process dies in it
			b.reopen()
			b.start()
			r = b.awaits(id, c.status)
			got := b.trigger.all()
			if len(got) != c.sent {
				t.Errorf("sent %d times, want %d", len(got), c.sent)
			}
			for _, each := range got {
				if each.key != got[0].key {
					t.Errorf("sent under the keys %s and %s", got[0].key, each.key)
				}
			}
			if c.status == approvals.TriggerUnknown && !strings.Contains(r.Sending(), "the program was stopped") {
				t.Errorf("people are told %q", r.Sending())
			}
			b.must(r, bob, approvals.ProvideResult, "found out")
			b.reaches(id, approvals.RunDone)
		})
	}
}

// TestCancelledWhileTheSystemWorks says in the thread that nobody stops the system, and what it reports after that.
func TestCancelledWhileTheSystemWorks(t *testing.T) {
	t.Parallel()
	b := triggering(t, external())
	b.start()
	id := b.submit()
	r := b.awaits(id, approvals.TriggerSent)
	if _, err := b.service.CancelRun(b.Context(), ws, id, ann, ""); err != nil {
		t.Fatal(err)
	}
	if err := b.provide(r, b.trigger.all()[0].body.Callback.Token, "build 4711"); err == nil {
		t.Error("the result was taken")
	}
	b.until("two notices", func() bool { return len(b.surface.texts(approvals.NotifyNotice)) == 2 })
	got := b.surface.texts(approvals.NotifyNotice)
	if !strings.Contains(got[0], "has the call and may go on with it") ||
		!strings.Contains(got[1], `It says: "build 4711"`) {
		t.Errorf("people were told %q", got)
	}
	if r := b.request(r.ID); r.Outcome != approvals.OutcomeUnknown {
		t.Errorf("the outcome is %q", r.Outcome)
	}
}

// TestTriggerAskedAgain sends a call no second time because it is asked about again.
func TestTriggerAskedAgain(t *testing.T) {
	t.Parallel()
	b := triggering(t, external())
	b.agent(asks(call("c1", "deploy", `{"ref":"v2"}`), call("c2", "pay", `{"amount":1}`)),
		append(b.tools(), external())...)
	b.start()
	id := b.submit()
	first := b.awaits(id, approvals.TriggerSent)
	changed := external()
	changed.Version = "2"
	b.agent(asks(call("c1", "deploy", `{"ref":"v2"}`), call("c2", "pay", `{"amount":1}`)),
		append(b.tools(), changed)...)
	for _, r := range b.pending(id) {
		if r.Tool.Name == "pay" {
			b.must(r, bob, approvals.Approve, "")
		}
	}
	var again *approvals.Request
	b.until("the call to be asked about again", func() bool {
		for _, r := range b.pending(id) {
			if r.Tool.Name == "deploy" && r.ID != first.ID {
				again = r
			}
		}
		return again != nil
	})
	if again.Trigger.Earlier != first.ID || again.Trigger.Status != approvals.TriggerSent ||
		!strings.Contains(again.Sending(), "before it was asked again") {
		t.Errorf("the new request says %q", again.Sending())
	}
	b.must(again, bob, approvals.ProvideResult, "done")
	b.reaches(id, approvals.RunDone)
	if n := len(b.trigger.all()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// TestRejectedWhileTheSystemWorks: nobody says that a call was not carried out which a system has taken, and what the
// system reports after the rejection is told.
func TestRejectedWhileTheSystemWorks(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"", "too risky"} {
		b := triggering(t, external())
		b.start()
		id := b.submit()
		r := b.awaits(id, approvals.TriggerSent)
		b.must(r, bob, approvals.Reject, words)
		if out := b.reaches(id, approvals.RunDone).Output; !strings.Contains(out, "after it was sent") ||
			!strings.Contains(out, words) {
			t.Errorf("the model was told %q", out)
		}
		if got := b.request(r.ID); got.Outcome != approvals.OutcomeUnknown {
			t.Errorf("the outcome is %q; %s", got.Outcome, got.Sending())
		}
		if err := b.provide(r, b.trigger.all()[0].body.Callback.Token, "build 4711"); err == nil {
			t.Error("the result was taken")
		}
		b.until("what came late to be told", func() bool {
			told := strings.Join(b.surface.texts(approvals.NotifyNotice), "\n")
			return strings.Contains(told, `It says: "build 4711"`)
		})
		b.trail()
		b.stop()
	}
}

// TestNobodyKnowsOfAnEarlierSending: where a sending was not answered and the call is to be sent again, nobody says of
// the call that it was not sent or not taken: while it waits, when its run is cancelled, or when the next sending fails
// or is withheld.
func TestNobodyKnowsOfAnEarlierSending(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause time.Duration
		then  func(b *bench, r *approvals.Request)
	}{
		"it waits": {time.Hour, func(*bench, *approvals.Request) {}},
		"cancelled": {time.Hour, func(b *bench, r *approvals.Request) {
			run, err := b.service.CancelRun(b.Context(), ws, r.Run, ann, "")
			if err != nil || !strings.Contains(run.Failure, "it is unknown whether https://ci.example has the call") {
				b.Errorf("the end says %q, %v", run.Failure, err)
			}
		}},
		"the next fails": {0, func(b *bench, r *approvals.Request) { b.awaits(r.Run, approvals.TriggerUnknown) }},
		"withheld": {0, func(b *bench, r *approvals.Request) {
			b.agent(model(deploys))
			b.awaits(r.Run, approvals.TriggerUnknown)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := triggering(t, external())
			b.trigger.idempotent = true
			b.trigger.answer = func(n int) approvals.TriggerAnswer {
				return approvals.TriggerAnswer{Again: n == 1, Unknown: n == 1, After: c.pause, Text: "silence"}
			}
			b.start()
			r := b.awaits(b.submit(), approvals.TriggerPlanned)
			b.until("the first sending", func() bool { return b.request(r.ID).Trigger.Text != "" })
			c.then(b, r)
			got := b.request(r.ID).Sending()
			if !strings.Contains(got, "unknown whether https://ci.example has taken") {
				t.Errorf("people are told %q", got)
			}
			b.stop()
		})
	}
}
