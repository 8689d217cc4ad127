package agent_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestClone answers and resumes a copy of every state of the corpus; the original stays as it was, and can be resumed
// after it.
func TestClone(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus, "v*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no states", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			must(t, err)
			root := rootOf(data)
			s, err := agent.DecodeRunState(data, root)
			must(t, err)
			before := marshalled(t, s)
			own := s.Clone()
			if diff := gocmp.Diff(before, marshalled(t, own)); diff != "" {
				t.Fatal("the copy is another one", diff)
			}
			finish := func(s *agent.RunState) {
				root := rootOf(data) // models remember what they were asked
				for range 20 {
					for _, in := range s.Undecided() {
						must(t, s.Approve(in, frozenAnswer(in)))
					}
					_, _ = new(agent.Runner).Resume(t.Context(), root, s, agent.RunOptions{MaxTurns: 10})
				}
			}
			finish(own)
			if diff := gocmp.Diff(before, marshalled(t, s)); diff != "" {
				t.Error("what happened to the copy happened to the state", diff)
			}
			finish(s)
			if diff := gocmp.Diff(marshalled(t, own), marshalled(t, s)); diff != "" {
				t.Error("the copy and the state ended differently", diff)
			}
		})
	}
	if (*agent.RunState)(nil).Clone() != nil {
		t.Error("a copy of nothing")
	}
}

func marshalled(t *testing.T, s *agent.RunState) string {
	t.Helper()
	data, err := s.MarshalJSON()
	must(t, err)
	return string(data)
}

// TestMarshalAndDecode goes through encoding/json, which escapes what it embeds: the state is the same, and its items
// mean the same. Reading without the agent is refused.
func TestMarshalAndDecode(t *testing.T) {
	t.Parallel()
	a := corpusAgent()
	s := begin(t, a, new(runs))
	must(t, s.AddInput(agent.UserMessage("a < b && \u2028 > c")))
	data, err := json.Marshal(struct{ State *agent.RunState }{s})
	must(t, err)
	var kept struct{ State json.RawMessage }
	must(t, json.Unmarshal(data, &kept))
	again, err := agent.DecodeRunState(kept.State, a)
	must(t, err)
	var want, got any
	must(t, json.Unmarshal([]byte(marshalled(t, s)), &want))
	must(t, json.Unmarshal([]byte(marshalled(t, again)), &got))
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var into struct{ State agent.RunState }
	if err := json.Unmarshal(data, &into); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("read without an agent: %v", err)
	}
}

// TestEmbeddedStateOfAHostedTool embeds a state whose question is bound to how a server listed its tool, in characters
// that encoding/json escapes: the tool has not changed.
func TestEmbeddedStateOfAHostedTool(t *testing.T) {
	t.Parallel()
	item := func(raw string) agent.Item {
		it, err := agent.ParseItem(json.RawMessage(raw))
		must(t, err)
		return it
	}
	wiki := agent.NewHostedTool(
		agent.KindHostedMCP, "wiki", json.RawMessage(`{"type":"mcp","server_label":"wiki"}`), nil)
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{wiki}, Model: scripted.New(scripted.Calls(
		agent.Item{Type: agent.ItemReasoning, Text: "Look."},
		item(`{"type":"mcp_list_tools","id":"l1","server_label":"wiki",`+
			`"tools":[{"name":"ask","description":"a < b & c > d  "}]}`),
		item(`{"type":"mcp_approval_request","id":"r1","server_label":"wiki","name":"ask","arguments":"{}"}`),
	), scripted.Say("Done."))}
	res, err := new(agent.Runner).Run(t.Context(), a, nil, agent.RunOptions{})
	must(t, err)
	data, err := json.Marshal(struct{ State *agent.RunState }{res.State})
	must(t, err)
	var kept struct{ State json.RawMessage }
	must(t, json.Unmarshal(data, &kept))
	s, err := agent.DecodeRunState(kept.State, a)
	must(t, err)
	must(t, s.Approve(s.Undecided()[0], agent.ApproveOptions{}))
	if res, err = new(agent.Runner).Resume(t.Context(), a, s, agent.RunOptions{}); err != nil || !res.State.Finished() {
		t.Errorf("got %+v, %v", res, err)
	}
}
