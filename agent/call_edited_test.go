package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestSecretOfAToolThatIsGone has people fill in a secret and report the result when the agent has the tool no more:
// the model is told that arguments were changed, and not to what.
func TestSecretOfAToolThatIsGone(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"gone": true, "control": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transfer := agent.NewExternalTool[struct{ To, Pin string }]("transfer", "")
			transfer.NeedsApproval, transfer.Secret = agent.AlwaysAsk, []string{"Pin"}
			a := &agent.Agent{Name: "clerk", Tools: []agent.Tool{transfer}, Model: scripted.New(
				scripted.Calls(scripted.Call("c1", "transfer", `{"To":"Acme","Pin":"none"}`)), scripted.Say("Done."))}
			r := &agent.Runner{}
			res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
			must(t, err)
			must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{
				Arguments: json.RawMessage(`{"To":"Acme","Pin":"4711-hunter2"}`),
			}))
			res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
			must(t, err)
			data, err := res.State.MarshalJSON()
			must(t, err)
			if gone {
				a = &agent.Agent{Name: a.Name, Model: a.Model}
			}
			s, err := agent.DecodeRunState(data, a)
			if err != nil && !(gone && errors.Is(err, agent.ErrUnknownTool)) {
				t.Fatal(err)
			}
			must(t, s.Approve(s.Interruptions()[0], agent.ApproveOptions{Output: &agent.ToolOutput{Text: "sent"}}))
			res, err = r.Resume(t.Context(), a, s, agent.RunOptions{})
			must(t, err)
			for _, it := range res.NewItems {
				if strings.Contains(it.Output, "hunter2") {
					t.Errorf("the model reads %q", it.Output)
				}
				if it.IsOutput() && !(strings.HasPrefix(it.Output, "A person changed the arguments") &&
					strings.HasSuffix(it.Output, "sent")) {
					t.Errorf("the model reads %q", it.Output)
				}
			}
		})
	}
}
