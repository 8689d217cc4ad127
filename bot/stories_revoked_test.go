package bot

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
)

// TestRevokedCardSaysWhy revokes a grant while a call that was approved with it waits for its turn. Nothing about the
// call has changed: its card says that the answer was revoked, and in the end that it is asked again.
func TestRevokedCardSaysWhy(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	work := agent.Tool{
		Name: "work", Description: "Works.", NeedsApproval: agent.AlwaysAsk,
		Parameters: json.RawMessage(`{"type":"object"}`), Validate: func(json.RawMessage) error { return nil },
		Invoke: func(ctx context.Context, _ *agent.ToolCall) (agent.ToolOutput, error) {
			select {
			case <-over:
			case <-ctx.Done():
			}
			return agent.ToolOutput{Text: "done"}, ctx.Err()
		},
	}
	w := startWorld(t, &world{
		policy: demands(func(_ *approvals.Request, q *approvals.Requirement) {
			q.MaxTTL, q.Always = time.Hour, []approvals.Scope{approvals.ScopeRun, approvals.ScopeThread}
		}),
		tools: []agent.Tool{work},
		script: script{scripted.Calls(
			scripted.Call("call_1", "work", `{}`),
			scripted.Call("call_2", "transfer_funds", `{"to":"acme","amount":10}`),
			scripted.Call("call_3", "transfer_funds", `{"to":"acme","amount":20}`),
		), scripted.Say("All done.")},
	})
	thread := w.mention("U0ANN", "work and pay", "")
	first, second, third := w.card(thread, 1), w.card(thread, 2), w.card(thread, 3)
	if err := w.click("U0BEN", first, "approve"); err != nil {
		t.Fatal(err)
	}
	w.shown(first, "running")
	w.always("U0BEN", second, "always_approve", "thread")
	w.shown(third, "Approved by @U0BEN", "waits for its turn")
	grants, _, err := w.engine.GrantsFor(w.ctx(), user("U0BEN"), 10)
	if err != nil || len(grants) != 1 {
		t.Fatalf("grants %+v, %v", grants, err)
	}
	revocation := approvals.Revocation{
		Workspace: grants[0].Workspace, Grant: grants[0].ID, By: user("U0BEN"), Via: "slack",
	}
	if _, err := w.engine.RevokeGrant(w.ctx(), revocation); err != nil {
		t.Fatal(err)
	}
	w.shown(third, "Stale", "was revoked before the call began", "not run", "not:what would run")
	close(over)
	fourth := w.card(thread, 4)
	w.shown(third, "Stale", "the call is the same", "Asked again")
	if err := w.click("U0BEN", fourth, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "All done.")
}
