package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
)

// digests is a journal that keeps the digests of what began.
type digests struct{ begun []agent.Digest }

func (d *digests) Intent(_ context.Context, e agent.Effect) (agent.Prior, error) {
	d.begun = append(d.begun, e.Digest)
	return agent.Prior{}, nil
}

func (*digests) Done(context.Context, agent.Effect, agent.ToolOutput) error { return nil }

// asksOnce returns an agent that makes one call of the tool, and the state that asks about it.
func asksOnce(t *testing.T, tool agent.Tool, arguments string) (*agent.Agent, *agent.RunState, agent.Interruption) {
	t.Helper()
	turn := 0
	a := &agent.Agent{Name: "a", Tools: []agent.Tool{tool}}
	a.Model = modelFunc(func(*agent.ModelRequest) (*agent.ModelResponse, error) {
		if turn++; turn > 1 {
			return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("done")}}, nil
		}
		call := agent.Item{Type: agent.ItemFunctionCall, CallID: "c1", Name: tool.Name, Arguments: arguments}
		return &agent.ModelResponse{Items: []agent.Item{call}}, nil
	})
	result, err := (&agent.Runner{}).Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	if err != nil || len(result.Interruptions) != 1 {
		t.Fatalf("asked %v, %v", result, err)
	}
	return a, result.State, result.Interruptions[0]
}

func payTool() agent.Tool {
	tool := agent.NewTool("pay", "Pays.", func(_ context.Context, in struct {
		Amount int    `json:"amount"`
		To     string `json:"to"`
	}) (int, error) {
		return in.Amount, nil
	})
	tool.Preconditions = func(_ context.Context, c *agent.ToolCall) ([]string, error) {
		return []string{"balance after " + string(c.Arguments)}, nil
	}
	return tool
}

// TestPreviewIsWhatRuns compares the digest of a preview with that of the effect which an approval with the same
// arguments, or the same fields, leads to.
func TestPreviewIsWhatRuns(t *testing.T) {
	t.Parallel()
	edited, filled := payTool(), payTool()
	edited.NeedsApproval = agent.AlwaysAsk
	filled.Fields, filled.Proposed = []string{"to"}, []string{"amount"}
	for _, tt := range []struct {
		tool agent.Tool
		opts agent.ApproveOptions
		was  string
	}{
		{
			edited, agent.ApproveOptions{Arguments: json.RawMessage(`{"to":"x", "amount": 20 }`)},
			`{"amount":5,"to":"y"}`,
		},
		{filled, agent.ApproveOptions{Fields: json.RawMessage(`{"to":"x","amount":20}`)}, `{"amount":5}`},
	} {
		a, state, in := asksOnce(t, tt.tool, tt.was)
		next, err := state.Preview(t.Context(), in, tt.opts)
		if err != nil {
			t.Fatal(err)
		}
		if string(next.Call.Arguments) != `{"amount":20,"to":"x"}` || string(next.Original) != tt.was ||
			next.Digest == in.Digest {
			t.Errorf("previewed %s of %s", next.Call.Arguments, next.Original)
		}
		if diff := cmp.Diff(in, state.Interruptions()[0]); diff != "" {
			t.Errorf("the state has changed:\n%s", diff)
		}
		if err := state.Approve(in, tt.opts); err != nil {
			t.Fatal(err)
		}
		var ran digests
		if _, err := (&agent.Runner{Journal: &ran}).Resume(t.Context(), a, state, agent.RunOptions{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]agent.Digest{next.Digest}, ran.begun); diff != "" {
			t.Errorf("what ran is not what was previewed:\n%s", diff)
		}
	}
}

// TestPreviewRefuses has it refuse what Approve would, and a tool that cannot say what the call depends on.
func TestPreviewRefuses(t *testing.T) {
	t.Parallel()
	tool := payTool()
	tool.NeedsApproval = agent.AlwaysAsk
	_, state, in := asksOnce(t, tool, `{"amount":5,"to":"y"}`)
	for why, tt := range map[string]struct {
		in   func(*agent.Interruption)
		opts agent.ApproveOptions
		want error
	}{
		"nothing is changed": {opts: agent.ApproveOptions{}, want: agent.ErrConfig},
		"not a JSON object":  {opts: agent.ApproveOptions{Arguments: json.RawMessage(`[1]`)}, want: agent.ErrConfig},
		"a key twice": {
			opts: agent.ApproveOptions{Arguments: json.RawMessage(`{"amount":1,"amount":2,"to":"x"}`)},
			want: agent.ErrConfig,
		},
		"not valid under the schema": {
			opts: agent.ApproveOptions{Arguments: json.RawMessage(`{"amount":"1","to":"x"}`)}, want: agent.ErrConfig,
		},
		"fields of a question that asks for none": {
			opts: agent.ApproveOptions{Fields: json.RawMessage(`{}`)}, want: agent.ErrConfig,
		},
		"another question": {
			in:   func(in *agent.Interruption) { in.ID = "other" },
			opts: agent.ApproveOptions{Arguments: json.RawMessage(`{}`)}, want: agent.ErrUnknownInterruption,
		},
		"another call": {
			in:   func(in *agent.Interruption) { in.Digest[0]++ },
			opts: agent.ApproveOptions{Arguments: json.RawMessage(`{}`)}, want: agent.ErrStale,
		},
	} {
		asked := in
		if tt.in != nil {
			tt.in(&asked)
		}
		if _, err := state.Preview(t.Context(), asked, tt.opts); !errors.Is(err, tt.want) {
			t.Errorf("%s: have %v, want %v", why, err, tt.want)
		}
	}
}

// TestPreviewSurvivesPanic has the tool's code panic outside a run.
func TestPreviewSurvivesPanic(t *testing.T) {
	t.Parallel()
	tool, asked := payTool(), 0
	tool.NeedsApproval = agent.AlwaysAsk
	tool.Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) {
		if asked++; asked > 1 {
			panic("no")
		}
		return nil, nil
	}
	_, state, in := asksOnce(t, tool, `{"amount":5,"to":"y"}`)
	opts := agent.ApproveOptions{Arguments: json.RawMessage(`{"amount":6,"to":"y"}`)}
	if _, err := state.Preview(t.Context(), in, opts); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("have %v", err)
	}
}
