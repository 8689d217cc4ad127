package agentsfile

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// TestSchemaKeys compares the schema's keys and words with the reader's, in both directions.
func TestSchemaKeys(t *testing.T) {
	t.Parallel()
	s := schema(t)
	def := func(name string) *jsonschema.Schema { return s.Defs[name] }
	for _, c := range []struct {
		name string
		at   *jsonschema.Schema
		want keys
	}{
		{"file", s, fileKeys},
		{"limits", s.Properties["limits"], limitKeys},
		{"break_glass", s.Properties["break_glass"], breakGlassKeys},
		{"agent", def("agent"), agentKeys},
		{"function", def("function"), functionKeys},
		{"http", def("http"), httpKeys},
		{"guardrail", def("guardrail"), guardrailKeys},
		{"guardrail of a tool", def("tool_guardrail"), toolGuardrailKeys},
		{"shell", def("shell"), shellKeys},
		{"apply_patch", def("apply_patch"), patchKeys},
		{"mcp", def("mcp"), mcpKeys},
		{"hosted_mcp", def("hosted_mcp"), hostedMCPKeys},
		{"agent tool", def("agent_tool"), agentToolKeys},
		{"web_search", def("web_search"), webSearchKeys},
		{"external", def("external"), externalKeys},
		{"ask", def("ask"), askKeys},
		{"trigger", def("trigger"), triggerKeys},
		{"mcp server", def("mcp_server"), mcpServerKeys},
		{"people", def("people"), peopleKeys},
		{"approvers", def("approvers"), approverKeys},
		{"escalate", def("escalate"), escalateKeys},
		{"notify", def("notify"), notifyKeys},
		{"delegate", def("delegate"), delegateKeys},
		{"policy", def("policy"), policyKeys},
		{"freeze", def("freeze"), freezeKeys},
		{"rule", def("rule"), ruleKeys},
		{"always of a rule", def("rule").Properties["always"], alwaysKeys},
		{"always", def("policy").Properties["always"], alwaysKeys},
	} {
		diff := cmp.Diff(slices.Sorted(slices.Values(c.want.now)), slices.Sorted(maps.Keys(c.at.Properties)))
		if diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if c.at.AdditionalProperties == nil {
			t.Errorf("%s: the schema lets unknown keys pass", c.name)
		}
	}
	for _, c := range []struct {
		name string
		enum []any
		want keys
	}{
		{"api", def("agent").Properties["api"].Enum, apiWords},
		{"conversation", def("agent").Properties["conversation"].Enum, conversationWords},
		{"effort", def("agent").Properties["reasoning_effort"].Enum, effortWords},
		{"stage", def("guardrail").Properties["on"].Enum, stageWords},
		{"stage of a tool", def("tool_guardrail").Properties["on"].Enum, stageWords},
		{"action", def("guardrail").Properties["action"].Enum, actionWords},
		{"action of a tool", def("tool_guardrail").Properties["action"].Enum, toolActionWords},
		{"approval", def("approval").Enum, approvalWords},
		{"method of a trigger", def("trigger").Properties["method"].Enum, bodyWords},
		{"method", def("http").Properties["method"].Enum, methodWords},
		{"on_expiry", def("policy").Properties["on_expiry"].Enum, expiryWords},
		{"on_expiry of a rule", def("rule").Properties["on_expiry"].Enum, expiryWords},
		{"scopes of a rule", def("rule").Properties["always"].Properties["scopes"].Items.Enum, scopeWords},
		{"risk", def("policy").Properties["risk"].Enum, riskWords},
		{"risk of a rule", def("rule").Properties["risk"].Enum, riskWords},
		{"scopes", def("policy").Properties["always"].Properties["scopes"].Items.Enum, scopeWords},
	} {
		var words []string
		for _, w := range c.enum {
			words = append(words, w.(string))
		}
		if diff := cmp.Diff(c.want.now, words); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestExamplesFitTheSchema validates the files that people start from, as their editors do. A copy with a mistake does
// not fit.
func TestExamplesFitTheSchema(t *testing.T) {
	t.Parallel()
	resolved, err := schema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	fits := func(text []byte) error {
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			return err
		}
		var v any
		if err := json.Unmarshal(asJSON, &v); err != nil {
			return err
		}
		return resolved.Validate(v)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.yaml"))
	files = slices.DeleteFunc(files, func(path string) bool { return strings.HasSuffix(path, "_test.yaml") })
	files = append(files, filepath.Join("..", "..", "examples", "finance", "finance.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if fits(bytes.Replace(text, []byte("agents:"), []byte("agent:"), 1)) == nil {
			t.Errorf("control: %s fits with a wrong key", file)
		}
	}
}

// TestSchemaAgrees gives files to the reader and to the schema.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	resolved, err := schema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	call := "        method: POST\n        url: https://example.com/\n"
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"full", string(full), true},
		{"least", agentWith(""), true},
		{"gate as text", toolWith(call + "        needs_approval: args.amount > 1\n"), true},
		{"unknown key", agentWith("foo: 1\n"), false},
		{"unknown key of an agent", agentWith("    modle: x\n"), false},
		{"retention", agentWith("retention: { runs: 90d }\n"), true},
		{"retention of the audit trail", agentWith("retention: { audit: 90d }\n"), false},
		{"delegate", agentWith("delegates: { U1: { to: U2, until: 2026-12-31 } }\n"), true},
		{"delegate without an end", agentWith("delegates: { U1: { to: U2 } }\n"), false},
		{"delegate of a group", agentWith("delegates: { S1: { to: U2, until: 2026-12-31 } }\n"), false},
		{"no policies", agentWith("policies: []\n"), true},
		{"policy", rulesWith("{name: a, when: args.n > 1, approvers: {users: [U1]}}"), true},
		{"policy without a name", rulesWith("{when: \"true\", approvers: {users: [U1]}}"), false},
		{"policy without a condition", rulesWith("{name: a, approvers: {users: [U1]}}"), false},
		{"policy without approvers", rulesWith("{name: a, when: true}"), false},
		{"policy with a number for a condition", rulesWith("{name: a, when: 1, approvers: {users: [U1]}}"), false},
		{"policy with an odd name", rulesWith("{name: a b, when: true, approvers: {users: [U1]}}"), false},
		{"policy called as the default",
			rulesWith("{name: default_policy, when: true, approvers: {users: [U1]}}"), false},
		{"notify", rulesWith(notified("{named: dm, channel: C1}")), true},
		{"notify nobody knows how", rulesWith(notified("{named: all}")), false},
		{"notify a person", rulesWith(notified("{channel: U1}")), false},
		{"risk", rulesWith("{name: a, when: true, approvers: {users: [U1]}, risk: high}"), true},
		{"another risk", rulesWith("{name: a, when: true, approvers: {users: [U1]}, risk: higher}"), false},
		{"freeze", rulesWith("{name: a, when: true, approvers: {users: [U1]}, freeze: [{from: 2026-12-24, " +
			"to: 2026-12-27T18:00:00Z, except: {groups: [S1]}}]}"), true},
		{"freeze without an end",
			rulesWith("{name: a, when: true, approvers: {users: [U1]}, freeze: [{from: 2026-12-24}]}"), false},
		{"freeze on an odd day", rulesWith("{name: a, when: true, approvers: {users: [U1]}, " +
			"freeze: [{from: 24.12., to: 2026-12-27}]}"), false},
		{"condition of the default policy", policyWith("  approvers: {users: [U1]}\n  when: true\n"), false},
		{"vars", agentWith("vars: {a: x, _b1: 2, c: 0.5, d: false}\n"), true},
		{"list in vars", agentWith("vars: {a: [x]}\n"), false},
		{"odd name in vars", agentWith("vars: {a-b: x}\n"), false},
		{"unreadable name in vars", agentWith("vars: {in: x}\n"), false},
		{"unknown type", agentWith("    tools: [{type: shel, name: x}]\n"), false},
		{"shell without workdir", agentWith("    tools: [{type: shell}]\n"), false},
		{"shell with url", agentWith("    tools: [{type: shell, workdir: /srv, url: x}]\n"), false},
		{"server without a way", agentWith("mcp_servers: {a: {trusted: true}}\n"), false},
		{"server with two ways", agentWith("mcp_servers: {a: {url: \"http://h/\", sse: \"http://h/\"}}\n"), false},
		{"agent without description", agentWith("    tools: [{type: agent, agent: ops}]\n"), false},
		{"gated search", agentWith("    tools: [{type: web_search, needs_approval: true}]\n"), false},
		{"handoff twice",
			agentWith("    handoffs: [b, b]\n") + "  b: {instructions: x, model: y}\ndefault_agent: ops\n", false},
		{"function with url", agentWith("    tools: [{type: function, name: x, url: y}]\n"), false},
		{"http without url", toolWith("        method: POST\n"), false},
		{"number for text", toolWith(call + "        headers: {X: 1}\n"), false},
		{"duration without unit", toolWith(call + "        timeout: 30\n"), false},
		{"duration in words", toolWith(call + "        timeout: soon\n"), false},
		{"no approvers", policyWith("  quorum: 1\n"), false},
		{"quorum of zero", policyWith("  approvers: {users: [U1]}\n  quorum: 0\n"), false},
		{"guardrail", guarded("on: input, when: 'true'"), true},
		{"guardrail that replaces", guarded("on: input, when: 'true', action: replace"), false},
		{"guardrail without when", guarded("on: input"), false},
		{"guardrail of a tool", guardedTool("on: output, when: 'true', action: replace, message: M"), true},
		{"guardrail that replaces by nothing", guardedTool("on: output, when: 'true', action: replace"), false},
		{"output asked about again", guardedTool("on: output, when: 'true', action: ask_again"), false},
		{"input asked about again", guardedTool("on: input, when: 'true', action: ask_again"), true},
		{"output before approval", guardedTool("on: output, when: 'true', before_approval: true"), false},
		{"again before approval",
			guardedTool("on: input, when: 'true', action: ask_again, before_approval: true"), false},
		{"input of an external tool", guardedExternal("input"), false},
		{"output of an external tool", guardedExternal("output"), true},
		{"a trigger", triggered(`{ url: "https://ci.example", method: PUT, timeout: 5s, idempotent: true }`), true},
		{"a trigger without a url", triggered("{ method: POST }"), false},
		{"a trigger that reads", triggered(`{ url: "https://ci.example", method: GET }`), false},
		{"a trigger with more", triggered(`{ url: "https://ci.example", body: x }`), false},
		{"chosen word", agentWith("    tool_choice: none\n"), true},
		{"chosen by number", agentWith("    tool_choice: 3\n"), false},
		{"chosen with spaces", agentWith("    tool_choice: a tool\n"), false},
		{"stop in words", agentWith("    stop_on_first_tool: perhaps\n"), false},
		{"conversation", agentWith("    conversation: provider\n    api: responses\n"), true},
		{"conversation of another", agentWith("    conversation: model\n"), false},
		{"conversation with history", agentWith("    conversation: provider\n    history_tokens: 5000\n"), false},
		{"conversation over chat completions",
			agentWith("    conversation: provider\n    api: chat_completions\n"), false},
		{"scope", policyWith("  approvers: {users: [U1]}\n  always: {scopes: [channel]}\n"), true},
		{"unknown scope", policyWith("  approvers: {users: [U1]}\n  always: {scopes: [world]}\n"), false},
		{"how long", policyWith("  approvers: {users: [U1]}\n  always: {max_ttl: 7d}\n"), true},
		{"how long, in numbers", policyWith("  approvers: {users: [U1]}\n  always: {max_ttl: 7}\n"), false},
		{"version 2", "version: 2\nagents: {a: {instructions: x, model: y}}\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := parse(t, c.text); (err == nil) != c.want {
				t.Errorf("reader: %v", err)
			}
			asJSON, err := yaml.YAMLToJSON([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(asJSON, &v); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(v); (err == nil) != c.want {
				t.Errorf("schema: %v", err)
			}
		})
	}
}

// triggered is a file with an external tool that has the trigger.
func triggered(trigger string) string {
	return agentWith("    tools: [{ type: external, name: x, description: x, trigger: " + trigger + " }]\n")
}

// notified is a policy with these words of notify.
func notified(words string) string {
	return "{name: a, when: true, approvers: {users: [U1]}, notify: " + words + "}"
}
