package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/scripted"
)

// wikiAt is an MCP server that the provider talks to.
func wikiAt(url string) agent.Tool {
	return agent.NewHostedTool(agent.KindHostedMCP, "wiki",
		json.RawMessage(`{"type":"mcp","server_label":"wiki","server_url":"`+url+`"}`), nil)
}

func asksWiki(t *testing.T, id string) agent.Item {
	it, err := agent.ParseItem(json.RawMessage(
		`{"type":"mcp_approval_request","id":"` + id + `","server_label":"wiki","name":"ask","arguments":"{}"}`))
	must(t, err)
	return it
}

// TestGuardrailAfterACut: the answer was lost while the provider carried a call out, and a guardrail objects when the
// same process goes on. Nobody reads that the call was not carried out.
func TestGuardrailAfterACut(t *testing.T) {
	t.Parallel()
	objects := false
	server := wikiAt("https://x")
	server.InputGuardrails = []agent.ToolInputGuardrail{{Name: "g",
		Check: func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
			if objects {
				return guardrail.Verdict{Action: guardrail.Replace, Message: "not allowed"}, nil
			}
			return guardrail.Verdict{}, nil
		}}}
	f := &failAt{Model: scripted.New(scripted.Calls(asksWiki(t, "scripted_0_0")), scripted.Say("Done."))}
	a := &agent.Agent{Name: "ops", Model: f, Tools: []agent.Tool{server}}
	var r agent.Runner
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
	f.left = 1
	if res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{}); err == nil {
		t.Fatal("the answer was not lost")
	}
	objects = true
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	must(t, err)
	if len(res.Interruptions) != 1 || res.Interruptions[0].Kind != agent.OutcomeUnknown {
		t.Errorf("asked %+v; the model was told %q", res.Interruptions, res.State.Items()[2].Output)
	}
}

// TestServerMovesBeforeTheRequest: a toolset has another server under the name between the approval and the request.
// The provider is not told that a call of that one is approved.
func TestServerMovesBeforeTheRequest(t *testing.T) {
	t.Parallel()
	looks := 0
	moved := 100
	told := ""
	a := &agent.Agent{Name: "ops", Toolsets: []agent.Toolset{toolsetFunc(func() []agent.Tool {
		looks++
		if looks >= moved {
			return []agent.Tool{wikiAt("https://y")}
		}
		return []agent.Tool{wikiAt("https://x")}
	})}}
	a.Model = modelFunc(func(req *agent.ModelRequest) (*agent.ModelResponse, error) {
		if len(req.OpenApprovals()) > 0 {
			told = string(req.Tools[0].Hosted)
			return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("Done.")}}, nil
		}
		return &agent.ModelResponse{Items: []agent.Item{asksWiki(t, "m1")}}, nil
	})
	var r agent.Runner
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
	moved = looks + 2
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	must(t, err)
	if told != "" || len(res.Interruptions) != 1 {
		t.Errorf("told with %q, asked again %d times", told, len(res.Interruptions))
	}
}

type toolsetFunc func() []agent.Tool

func (f toolsetFunc) Name() string { return "servers" }

func (f toolsetFunc) Tools(context.Context) ([]agent.Tool, error) { return f(), nil }

// TestHandoffShowsApprovals: whoever follows the run sees the approval also where another agent takes over.
func TestHandoffShowsApprovals(t *testing.T) {
	t.Parallel()
	second := &agent.Agent{Name: "second", Model: scripted.New(scripted.Say("Done."))}
	a := &agent.Agent{
		Name: "ops", Tools: []agent.Tool{wikiAt("https://x")}, Handoffs: []agent.Handoff{{Agent: second}},
		Model: scripted.New(scripted.Calls(asksWiki(t, "m1"), scripted.Call("h", "transfer_to_second", "{}")))}
	var r agent.Runner
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
	s := r.StreamResume(t.Context(), a, res.State, agent.RunOptions{})
	var seen []agent.ItemType
	for e := range s.Events() {
		if added, ok := e.(agent.ItemAdded); ok {
			seen = append(seen, added.Item.Type)
		}
	}
	if !slices.Contains(seen, agent.ItemMCPApprovalResponse) {
		t.Errorf("seen: %v", seen)
	}
}

// TestHandoffToAnotherServer: the agent that takes over has another server under the name. Its request does not say
// that a call of that one is approved.
func TestHandoffToAnotherServer(t *testing.T) {
	t.Parallel()
	told := ""
	second := &agent.Agent{Name: "second", Tools: []agent.Tool{wikiAt("https://y")}}
	second.Model = modelFunc(func(req *agent.ModelRequest) (*agent.ModelResponse, error) {
		if len(req.OpenApprovals()) > 0 {
			told = string(req.Tools[0].Hosted)
		}
		return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("Done.")}}, nil
	})
	a := &agent.Agent{
		Name: "ops", Tools: []agent.Tool{wikiAt("https://x")}, Handoffs: []agent.Handoff{{Agent: second}},
		Model: scripted.New(scripted.Calls(asksWiki(t, "m1"), scripted.Call("h", "transfer_to_second", "{}")))}
	var r agent.Runner
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
	_, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	must(t, err)
	if strings.Contains(told, "https://y") {
		t.Errorf("told with %s", told)
	}
}

// TestProviderTriesTwice: a call that failed and was tried again by the provider has been carried out.
func TestProviderTriesTwice(t *testing.T) {
	t.Parallel()
	n := 0
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{wikiAt("https://x")}}
	raw := func(id, rest string) agent.Item {
		it, err := agent.ParseItem([]byte(`{"type":"mcp_call","id":"` + id + `","approval_request_id":"m1",` +
			`"name":"ask","server_label":"wiki","arguments":"{}",` + rest + `}`))
		must(t, err)
		return it
	}
	a.Model = modelFunc(func(req *agent.ModelRequest) (*agent.ModelResponse, error) {
		if n++; n == 1 {
			return &agent.ModelResponse{Items: []agent.Item{asksWiki(t, "m1")}}, nil
		}
		return &agent.ModelResponse{Items: []agent.Item{
			raw("c1", `"status":"failed","error":"flaky"`), raw("c2", `"status":"completed","output":"ok"`),
			agent.AssistantMessage("Done.")}}, nil
	})
	rec := &doneJournal{}
	r := agent.Runner{Journal: rec}
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
	_, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	must(t, err)
	if len(rec.done) != 1 || rec.done[0].Failed {
		t.Errorf("recorded %+v", rec.done)
	}
}

// doneJournal keeps the outputs.
type doneJournal struct{ done []agent.ToolOutput }

func (j *doneJournal) Intent(context.Context, agent.Effect) (agent.Prior, error) {
	return agent.Prior{}, nil
}

func (j *doneJournal) Done(_ context.Context, _ agent.Effect, out agent.ToolOutput) error {
	j.done = append(j.done, out)
	return nil
}

// brokenJournal fails once, at the n-th intent.
type brokenJournal struct {
	n    int
	open map[string]bool
}

func (j *brokenJournal) Intent(_ context.Context, e agent.Effect) (agent.Prior, error) {
	if j.n--; j.n == 0 {
		return agent.Prior{}, errFailAt
	}
	if j.open[e.ID] && !e.Idempotent {
		return agent.Prior{}, agent.ErrOutcomeUnknown
	}
	j.open[e.ID] = true
	return agent.Prior{}, nil
}

func (j *brokenJournal) Done(context.Context, agent.Effect, agent.ToolOutput) error { return nil }

// TestJournalBreaksBetweenTwo: of two calls, the intent of one is recorded, and then the journal fails. The provider
// was told of neither, and nobody is asked what became of them.
func TestJournalBreaksBetweenTwo(t *testing.T) {
	t.Parallel()
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{wikiAt("https://x")},
		Model: scripted.New(scripted.Calls(asksWiki(t, "scripted_0_0"), asksWiki(t, "scripted_0_1")),
			scripted.Say("Done."))}
	r := agent.Runner{Journal: &brokenJournal{n: 2, open: make(map[string]bool)}}
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	for _, in := range res.Interruptions {
		must(t, res.State.Approve(in, agent.ApproveOptions{}))
	}
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	if err == nil || len(res.NotTaken) != 1 {
		t.Errorf("not taken %q, %v", res.NotTaken, err)
	}
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	must(t, err)
	if len(res.Interruptions) > 0 || res.FinalOutput != "Done." {
		t.Errorf("asked %+v", res.Interruptions)
	}
}

// TestServerGoneBeforeTheRequest: of two calls, the intent of one is recorded, and then the server of the other is no
// longer there. The provider was told of neither.
func TestServerGoneBeforeTheRequest(t *testing.T) {
	t.Parallel()
	looks, gone := 0, 100
	other := agent.NewHostedTool(agent.KindHostedMCP, "other",
		json.RawMessage(`{"type":"mcp","server_label":"other","server_url":"https://z"}`), nil)
	asksOther, err := agent.ParseItem(json.RawMessage(
		`{"type":"mcp_approval_request","id":"m2","server_label":"other","name":"ask","arguments":"{}"}`))
	must(t, err)
	a := &agent.Agent{Name: "ops", Model: scripted.New(scripted.Calls(asksWiki(t, "m1"), asksOther)),
		Toolsets: []agent.Toolset{toolsetFunc(func() []agent.Tool {
			if looks++; looks >= gone {
				return []agent.Tool{wikiAt("https://x")}
			}
			return []agent.Tool{wikiAt("https://x"), other}
		})}}
	var r agent.Runner
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	for _, in := range res.Interruptions {
		must(t, res.State.Approve(in, agent.ApproveOptions{}))
	}
	gone = looks + 2
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	if !errors.Is(err, agent.ErrUnknownTool) || len(res.NotTaken) != 1 {
		t.Errorf("not taken %q, %v", res.NotTaken, err)
	}
}
