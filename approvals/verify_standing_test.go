package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// standingRun takes a run through a call that is approved for all later ones and loses its process, what people then
// say of it, and a later call under the standing answer. It returns the first request.
func standingRun(t *testing.T, b *bench, said approvals.Verdict) *approvals.Request {
	t.Helper()
	tools := b.tools()
	work, times := tools[0].Invoke, 0
	tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		out, err := work(ctx, c)
		if times++; times == 1 {
			b.mortal.kill()
		}
		if c.ID == "c2" && said != approvals.GiveUp {
			return agent.ToolOutput{Text: "refused", Failed: true}, nil
		}
		return out, err
	}
	b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		switch len(outputs(req)) {
		case 0:
			return []agent.Item{call("c1", "pay", `{"amount":5}`)}, nil
		case 1:
			return []agent.Item{call("c2", "pay", `{"amount":6}`)}, nil
		}
		return []agent.Item{agent.AssistantMessage("done")}, nil
	}), tools...)
	b.start()
	r := b.question(b.submit())
	b.must(r, bob, approvals.AlwaysApprove, "")
	b.crashed()
	q := b.question(r.Run)
	b.reaches(r.Run, approvals.RunWaiting)
	b.must(q, cara, said, "receipt 7")
	b.reaches(r.Run, approvals.RunDone)
	return r
}

// TestVerifyAfterStandingAnswer has a call run under the standing answer to a question about another call: what became
// of it is not what became of that other call.
func TestVerifyAfterStandingAnswer(t *testing.T) {
	t.Parallel()
	for _, v := range []approvals.Verdict{approvals.MarkDone, approvals.GiveUp, approvals.Retry} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := standingRun(t, b, v)
			if _, err := b.service.VerifyAudit(t.Context()); err != nil {
				t.Errorf("a healthy store does not verify: %v; outcome %q", err, b.request(r.ID).Outcome)
			}
			b.stop()
		})
	}
}

// TestVerifyTrailsThatDoNotTellStandingAnswers has a trail as earlier versions wrote it. The control is the same store
// with an outcome that the newer trail shows to be wrong.
func TestVerifyTrailsThatDoNotTellStandingAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := standingRun(t, b, approvals.MarkDone)
	b.stop()
	earlier := tampered{b.store, func(all []*approvals.AuditEntry) []*approvals.AuditEntry {
		for _, e := range all {
			e.Data = without(t, e.Data, "standing")
		}
		return approvals.Relink(all)
	}}
	if _, err := approvals.VerifyAudit(t.Context(), earlier, approvals.VerifyOptions{}); err != nil {
		t.Errorf("a trail of an earlier version does not verify: %v", err)
	}
	b.forge(r.ID, func(r *approvals.Request) { r.Outcome = approvals.OutcomeNotRun })
	_, err := approvals.VerifyAudit(t.Context(), b.store, approvals.VerifyOptions{})
	if bad, found := errors.AsType[*approvals.AuditError](err); !found || bad.Request != r.ID {
		t.Errorf("control: a wrong outcome is not noticed: %v", err)
	}
}

// without returns the object without one of its members.
func without(t *testing.T, data json.RawMessage, name string) json.RawMessage {
	t.Helper()
	if len(data) == 0 {
		return data
	}
	var said map[string]json.RawMessage
	if err := json.Unmarshal(data, &said); err != nil {
		t.Fatal(err)
	}
	delete(said, name)
	left, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// TestVerifyNoticesAnOutcomeThatIsGone takes back what a request says of its call.
func TestVerifyNoticesAnOutcomeThatIsGone(t *testing.T) {
	t.Parallel()
	b := told(t)
	var id approvals.RequestID
	for _, e := range b.entries() {
		if e.Action == approvals.AuditRequestCreated {
			id = e.Request
		}
	}
	if _, err := b.service.VerifyAudit(t.Context()); err != nil {
		t.Errorf("control: %v", err)
	}
	b.forge(id, func(r *approvals.Request) { r.Outcome = approvals.OutcomeNone })
	_, err := b.service.VerifyAudit(t.Context())
	if bad, found := errors.AsType[*approvals.AuditError](err); !found || bad.Request != id {
		t.Errorf("not noticed: %v", err)
	}
}
