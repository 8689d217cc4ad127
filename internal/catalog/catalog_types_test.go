package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/internal/agentsfile"
)

// twoAgents is a file whose agent ops has the tool, beside an agent billing.
func twoAgents(tool string) string {
	return head + "      - { " + tool + " }\n  billing: { instructions: Help., model: m }\ndefault_agent: ops\n" +
		policy
}

// made is what a test compares of a tool.
type made struct {
	Kind     agent.ToolKind
	Wire     agent.WireForm
	Asks     bool
	Audit    bool
	Repeats  bool
	External bool
	Hosted   string
	Binding  []string
}

// pathDigest is what a directory that is written with a variable is bound to beside the text.
var pathDigest = regexp.MustCompile(` \(path sha256:[0-9a-f]{16}…\)$`)

// TestTypes makes a tool of every type that is not the server's of somebody else.
func TestTypes(t *testing.T) {
	t.Parallel()
	shell := []string{"workdir ${DIR}", "shell /bin/sh", "env HOME", "env LANG", "env PATH"}
	deepwiki := func(require string) string {
		return `{"type":"mcp","server_label":"w","server_url":"https://w/mcp","require_approval":` + require + `}`
	}
	for _, c := range []struct {
		tool  string
		want  made
		words string // of check
		call  string
	}{
		{"type: shell, workdir: \"${DIR}\"", made{Kind: agent.KindShell, Asks: true, Binding: shell}, "always asks",
			"${DIR}"},
		{"type: shell, workdir: \"${DIR}\", env: { TOKEN: \"${TOKEN}\" }", made{
			Kind: agent.KindShell, Asks: true, Binding: []string{"workdir ${DIR}", "shell /bin/sh", "env HOME",
				"env LANG", "env PATH", "env TOKEN"},
		}, "always asks", "${DIR}"},
		{"type: shell, workdir: \"${DIR}\", native: true, needs_approval: false",
			made{Kind: agent.KindShell, Wire: agent.WireShell, Binding: shell}, "never asks", "${DIR}"},
		{"type: shell, workdir: \"${DIR}\", approval: audit",
			made{Kind: agent.KindShell, Asks: true, Audit: true, Binding: shell}, "records every call", "${DIR}"},
		{"type: shell, workdir: \"${DIR}\", approval: audit, needs_approval: has(args.script)",
			made{Kind: agent.KindShell, Asks: true, Audit: true,
				Binding: shell}, "records if has(args.script)", "${DIR}"},
		{"type: apply_patch, root: \"${DIR}\", allow: [\"*.md\"]",
			made{Kind: agent.KindApplyPatch, Asks: true,
				Binding: []string{"root ${DIR}", "allow *.md"}}, "always asks", "${DIR}"},
		{"type: apply_patch, root: \"${DIR}\", native: true",
			made{Kind: agent.KindApplyPatch, Wire: agent.WireApplyPatch, Asks: true,
				Binding: []string{"root ${DIR}"}}, "always asks", "${DIR}"},
		{"type: agent, agent: billing, description: D", made{Kind: agent.KindAgent, Binding: []string{"billing"}},
			"never asks", "agent billing"},
		{"type: agent, agent: billing, description: D, needs_approval: true",
			made{Kind: agent.KindAgent, Asks: true, Binding: []string{"billing"}}, "always asks", "agent billing"},
		{"type: web_search", made{Kind: agent.KindWebSearch, Wire: agent.WireHosted, Repeats: true,
			Hosted: `{"type":"web_search"}`}, "never asks", ""},
		{"type: external, name: x, description: D", made{Kind: agent.KindExternal, Asks: true, External: true},
			"always asks, then waits for the result", ""},
		{"type: external, name: x, description: D, needs_approval: false",
			made{Kind: agent.KindExternal, External: true}, "waits for the result", ""},
		{"type: hosted_mcp, server_label: w, server_url: https://w/mcp",
			made{Kind: agent.KindHostedMCP, Wire: agent.WireHosted, Asks: true,
				Hosted: deepwiki(`"always"`)}, "always asks", "https://w/mcp"},
		{"type: hosted_mcp, server_label: w, server_url: https://w/mcp, " +
			"headers: { Authorization: \"Bearer ${TOKEN}\" }", made{
			Kind: agent.KindHostedMCP, Wire: agent.WireHosted, Asks: true, Hosted: deepwiki(`"always"`),
			Binding: []string{"header Authorization"},
		}, "always asks", "https://w/mcp"},
		{"type: hosted_mcp, server_label: w, server_url: https://w/mcp, require_approval: never",
			made{Kind: agent.KindHostedMCP, Wire: agent.WireHosted,
				Hosted: deepwiki(`"never"`)}, "never asks", "https://w/mcp"},
		{"type: hosted_mcp, server_label: w, server_url: https://w/mcp, " +
			"require_approval: { never: { toolNames: [a] } }", made{
			Kind: agent.KindHostedMCP, Wire: agent.WireHosted, Asks: true,
			Hosted: deepwiki(`{"never":{"tool_names":["a"]}}`),
		}, "asks as require_approval says", "https://w/mcp"},
		{"type: hosted_mcp, server_label: w, server_url: https://w/mcp, require_approval: { a: never, b: always }",
			made{
				Kind: agent.KindHostedMCP, Wire: agent.WireHosted, Asks: true,
				Hosted: deepwiki(`{"never":{"tool_names":["a"]}}`),
			}, "asks as require_approval says", "https://w/mcp"},
		{"type: hosted_mcp, server_label: w, server_url: https://w/mcp, " +
			"require_approval: { always: { tool_names: [a] } }", made{
			Kind: agent.KindHostedMCP, Wire: agent.WireHosted, Asks: true, Hosted: deepwiki(`"always"`),
		}, "asks as require_approval says", "https://w/mcp"},
		{"type: hosted_mcp, server_label: w, server_url: https://w/mcp, " +
			"require_approval: { always: { toolNames: [drop] }, never: { readOnly: true } }", made{
			Kind: agent.KindHostedMCP, Wire: agent.WireHosted, Asks: true,
			Hosted: deepwiki(`{"always":{"tool_names":["drop"]},"never":{"read_only":true}}`),
		}, "asks as require_approval says", "https://w/mcp"},
		{"type: hosted_mcp, server_label: w, server_url: https://w/mcp, needs_approval: false",
			made{Kind: agent.KindHostedMCP, Wire: agent.WireHosted,
				Hosted: deepwiki(`"always"`)}, "the provider asks, and nobody is", "https://w/mcp"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			got, err := buildCatalog(t, twoAgents(c.tool))
			if err != nil {
				t.Fatal(err)
			}
			tool := got.agents["ops"].Agent.Tools[0]
			for i, part := range tool.Attributes { // the directory is another one in each test
				tool.Attributes[i] = pathDigest.ReplaceAllString(part, "")
			}
			have := made{tool.Kind, tool.Wire, asks(t, &tool), tool.Audit, tool.Idempotent, tool.External,
				string(tool.Hosted()), tool.Attributes}
			if diff := cmp.Diff(c.want, have); diff != "" {
				t.Errorf("tool (-want +have):\n%s", diff)
			}
			row := got.rows[0]
			if row.Gate != c.words || row.Call != c.call || row.Agent != "ops" || row.Tool != tool.Name {
				t.Errorf("check says %+v", row)
			}
			shown := fmt.Sprint(row, tool.Name, tool.Description, string(tool.Parameters), string(tool.Hosted()),
				tool.Attributes)
			if strings.Contains(shown, canary) {
				t.Errorf("a value of the environment is in what is stored or shown: %s", shown)
			}
			if sent := sentAs(t, tool); strings.Contains(c.tool, "headers") && !strings.Contains(sent, canary) {
				t.Errorf("the header is not sent: %s", sent)
			}
		})
	}
}

// sentAs returns how the provider is told about the tool.
func sentAs(t *testing.T, tool agent.Tool) string {
	t.Helper()
	model := scripted.New(scripted.Say("Done."))
	a := &agent.Agent{Name: "any", Model: model, Tools: []agent.Tool{tool}}
	if _, err := new(agent.Runner).Run(t.Context(), a, nil, agent.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	return string(model.Requests()[0].Tools[0].Hosted)
}

// asks reports whether the tool's gate asks about a call of a script, or cannot say.
func asks(t *testing.T, tool *agent.Tool) bool {
	if tool.NeedsApproval == nil {
		return false
	}
	yes, err := tool.NeedsApproval(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{"script":"x"}`)})
	return yes || err != nil
}

// TestHostedCalls runs an agent whose hosted server's provider asks about a call: people are asked, unless the file
// says that they are not.
func TestHostedCalls(t *testing.T) {
	t.Parallel()
	for gate, asks := range map[string]int{"": 1, ", needs_approval: true": 1, ", needs_approval: false": 0,
		`, needs_approval: "args.n > 1"`: 0} {
		c, err := buildCatalog(t, twoAgents("type: hosted_mcp, server_label: w, server_url: https://w/mcp"+gate))
		if err != nil {
			t.Fatal(err)
		}
		a := c.agents["ops"].Agent
		request, err := agent.ParseItem(json.RawMessage(`{"type":"mcp_approval_request","id":"mcpr_1",
			"server_label":"w","name":"search","arguments":"{\"n\":1}"}`))
		if err != nil {
			t.Fatal(err)
		}
		a.Model = once(request)
		res, err := new(agent.Runner).Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
		if err != nil || len(res.Interruptions) != asks || res.State.Finished() == (asks > 0) {
			t.Errorf("%q: %d questions, finished %v, %v", gate, len(res.Interruptions), res.State.Finished(), err)
		}
	}
}

// once is a model that answers with the item, and when its call has an output with a text.
type once agent.Item

func (m once) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	for _, it := range req.Items {
		if it.Type == agent.ItemMCPApprovalResponse {
			return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("Done.")}}, nil
		}
	}
	return &agent.ModelResponse{Items: []agent.Item{agent.Item(m)}}, nil
}

// TestMCPRow says of every way to write require_approval what it does.
func TestMCPRow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ require, server, words string }{
		{"", "url: \"${URL}\"", "always asks"},
		{"", "url: \"${URL}\", trusted: true", "asks unless a tool only reads"},
		{"require_approval: always", "url: \"${URL}\", trusted: true", "always asks"},
		{"require_approval: never", "url: \"${URL}\"", "never asks"},
		{"require_approval: { a: never }", "url: \"${URL}\"", "asks as require_approval says"},
	} {
		got, err := buildCatalog(t, head+"      - { type: mcp, server: s, prefix: s_, "+c.require+" }\n"+
			"mcp_servers: { s: { "+c.server+" } }\n"+policy)
		if err != nil {
			t.Fatal(err)
		}
		want := Row{Agent: "ops", Tool: "s_*", Type: "mcp", Gate: c.words, Call: "${URL}"}
		row := got.rows[0]
		if row.set == nil {
			t.Errorf("%s: no toolset", c.require)
		}
		row.set, row.key = nil, serverKey{}
		if row != want {
			t.Errorf("%s: %+v, want %+v", c.require, row, want)
		}
	}
}

// TestSharedAgents lets several agents hand over to the same one, and use it as a tool.
func TestSharedAgents(t *testing.T) {
	t.Parallel()
	c, err := buildCatalog(t, `version: 1
default_agent: a
agents:
  a: { instructions: A., model: m, handoffs: [c], tools: [{ type: agent, agent: b, description: D }] }
  b: { instructions: B., model: m, handoffs: [c, a] }
  c: { instructions: "C works.\nAnd more.", model: m }
`)
	if err != nil {
		t.Fatal(err)
	}
	a, b, shared := c.agents["a"].Agent, c.agents["b"].Agent, c.agents["c"].Agent
	if a.Handoffs[0].Agent != shared || b.Handoffs[0].Agent != shared || b.Handoffs[1].Agent != a {
		t.Error("handoffs do not lead to the agents of the file")
	}
	handsOver := "Hand the conversation over to the agent c. Its instructions begin: C works."
	if a.Handoffs[0].Description != handsOver {
		t.Errorf("the model reads %q", a.Handoffs[0].Description)
	}
	want := []Row{
		{Agent: "a", Tool: "b", Type: "agent", Gate: "never asks", Call: "agent b"},
		{Agent: "a", Tool: "transfer_to_c", Type: "handoff", Gate: "never asks"},
		{Agent: "b", Tool: "transfer_to_c", Type: "handoff", Gate: "never asks"},
		{Agent: "b", Tool: "transfer_to_a", Type: "handoff", Gate: "never asks"},
	}
	if diff := cmp.Diff(want, c.rows, cmp.AllowUnexported(Row{})); diff != "" {
		t.Errorf("check (-want +have):\n%s", diff)
	}
}

// again is a model that asks its own agent again until that is refused, and counts how often it begins.
type again struct{ begun *int }

func (m again) Respond(_ context.Context, r *agent.ModelRequest) (*agent.ModelResponse, error) {
	last := r.Items[len(r.Items)-1]
	if last.Type == agent.ItemMessage {
		*m.begun++
		raw := fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"again",
			"arguments":"{\"input\":\"deeper\"}"}`, *m.begun)
		return response(raw)
	}
	text, err := json.Marshal(last.Output)
	if err != nil {
		return nil, err
	}
	return response(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":` + string(text) +
		`}]}`)
}

func response(raw string) (*agent.ModelResponse, error) {
	it, err := agent.ParseItem(json.RawMessage(raw))
	return &agent.ModelResponse{Items: []agent.Item{it}}, err
}

// TestAgentInCircles accepts an agent that is a tool of itself: how deep agents nest is bounded.
func TestAgentInCircles(t *testing.T) {
	t.Parallel()
	cfg, begun := testConfig(), 0
	cfg.Model = func(*agentsfile.Agent) (agent.Model, error) { return again{&begun}, nil }
	c, err := Build(parseFile(t, head+"      - { type: agent, agent: ops, name: again, description: D }\n"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&agent.Runner{}).Run(t.Context(),
		c.agents["ops"].Agent, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if begun != 9 || !strings.Contains(res.FinalOutput, "8 deep") {
		t.Errorf("begun %d times, answer %q", begun, res.FinalOutput)
	}
}
