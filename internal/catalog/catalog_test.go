package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/agentsfile"
)

type nothing struct{}

func functions() []agent.Tool {
	say := func(context.Context, nothing) (string, error) { return "x", nil }
	gated := agent.NewTool("launch", "Launches.", say)
	gated.NeedsApproval = agent.AlwaysAsk
	return []agent.Tool{agent.NewTool("current_time", "Tells the time.", say), gated}
}

func buildCatalog(t *testing.T, text string) (*Catalog, error) {
	t.Helper()
	return Build(parseFile(t, text), testConfig())
}

func testConfig() Config {
	return Config{Functions: functions(), Model: NoModel, Servers: NewServers("test", slog.New(slog.DiscardHandler))}
}

// parseFile reads an agents file that may use ${URL}, ${TOKEN} and ${DIR}, a directory. Their values are secrets.
func parseFile(t *testing.T, text string) *agentsfile.File {
	t.Helper()
	dir := filepath.Join(t.TempDir(), canary)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"URL": "https://host.example/" + canary, "TOKEN": canary, "DIR": dir}
	f, err := agentsfile.Parse("agents.yaml", []byte(text), func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const canary = "canary-4c1d"

const head = "version: 1\nagents:\n  ops:\n    instructions: Help.\n    model: m\n    tools:\n"

const policy = "default_policy: { approvers: { channel_members: true } }\n"

// TestGates says of every way to write a gate what it does.
func TestGates(t *testing.T) {
	t.Parallel()
	http := func(method, gate string) string {
		return head + "      - { type: http, name: x, description: D, method: " + method +
			", url: \"${URL}/a\", parameters: { type: object, properties: { n: { type: number } } }" + gate + " }\n" +
			policy
	}
	function := func(name, gate string) string {
		return head + "      - { type: function, name: " + name + gate + " }\n" + policy
	}
	for _, c := range []struct {
		name, text, words string
		asks              bool
	}{
		{"POST", http("POST", ""), "always asks", true},
		{"DELETE", http("DELETE", ""), "always asks", true},
		{"PUT", http("PUT", ""), "always asks", true},
		{"GET", http("GET", ""), "never asks", false},
		{"HEAD", http("HEAD", ""), "never asks", false},
		{"POST, never", http("POST", ", needs_approval: false"), "never asks", false},
		{"GET, always", http("GET", ", needs_approval: true"), "always asks", true},
		{"POST, small", http("POST", ", needs_approval: args.n > 5"), "asks if args.n > 5", false},
		{"POST, large", http("POST", ", needs_approval: args.n > 4"), "asks if args.n > 4", true},
		{"function", function("current_time", ""), "never asks", false},
		{"function, always", function("current_time", ", needs_approval: true"), "always asks", true},
		{"gated function", function("launch", ""), "asks as the function says", true},
		{"gated function, never", function("launch", ", needs_approval: false"), "never asks", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := buildCatalog(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got.rows[0].Gate != c.words {
				t.Errorf("check says %q", got.rows[0].Gate)
			}
			if strings.Contains(got.rows[0].Call, canary) {
				t.Errorf("check shows an expanded value: %q", got.rows[0].Call)
			}
			tool := got.agents["ops"].Agent.Tools[0]
			asks := false
			if tool.NeedsApproval != nil {
				if asks, err = tool.NeedsApproval(t.Context(),
					&agent.ToolCall{Arguments: json.RawMessage(`{"n":5}`)}); err != nil {
					t.Error(err)
				}
			}
			if asks != c.asks {
				t.Errorf("asks: %v", asks)
			}
			if strings.Contains(strings.Join(tool.Attributes, " "), canary) {
				t.Errorf("decisions are bound to an expanded value: %q", tool.Attributes)
			}
		})
	}
}

// TestCatalogProblems says where in the file something cannot be made.
func TestCatalogProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"no policy", head + "      - { type: http, name: x, description: D, method: POST, url: \"${URL}\" }\n",
			`agents.yaml:7:9: tool "x" needs approval and the file has no ` + "`default_policy`"},
		{"gated function, no policy", head + "      - { type: function, name: launch }\n",
			`agents.yaml:7:9: tool "launch" needs approval`},
		{"unknown function", head + "      - { type: function, name: curent_time }\n",
			`agents.yaml:7:9: no function called "curent_time" is registered in this program; ` +
				`did you mean "current_time"?`},
		{"other function", head + "      - { type: function, name: zzz }\n", "it has current_time, launch"},
		{"expression", head + "      - { type: http, name: x, description: D, method: POST, url: \"${URL}\", " +
			"needs_approval: args.n >, parameters: { type: object, properties: { n: { type: number } } } }\n" + policy,
			"agents.yaml:7:"},
		{"misspelled argument", head + "      - type: http\n        name: x\n        description: D\n" +
			"        method: POST\n        url: \"${URL}\"\n        parameters: { type: object, " +
			"properties: { amount: { type: number } } }\n        needs_approval: |\n" +
			"          args.amount > 1 &&\n            args.amonut < 9\n" + policy,
			"agents.yaml:15:17: needs_approval of x: the tool's parameters have no 'amonut'"},
		{"no directory of commands", head + "      - { type: shell, workdir: \"${DIR}/absent\" }\n" + policy,
			`agents.yaml:7:9: shell tool "shell": workdir ${DIR}/absent cannot be used: no such file or directory`},
		{"no directory of patches", head + "      - { type: apply_patch, root: \"${DIR}/absent\" }\n" + policy,
			`agents.yaml:7:9: patch tool "apply_patch": root ${DIR}/absent cannot be used: no such file or directory`},
		{"no shell", head + "      - { type: shell, workdir: \"${DIR}\", shell: /absent/sh }\n" + policy,
			`shell tool "shell": shell cannot be run`},
		{"no directory of a server", head + "      - { type: mcp, server: s }\n" +
			"mcp_servers: { s: { command: [x], dir: \"${DIR}/absent\" } }\n" + policy,
			`agents.yaml:8:16: mcp server "s": dir "${DIR}/absent" is not a directory that is there`},
		{"policy of a server", head + "      - { type: mcp, server: s, " +
			"require_approval: { never: { tools: [x] } } }\nmcp_servers: { s: { url: \"${URL}\" } }\n" + policy,
			"agents.yaml:7:51: require_approval: never.tools is not known; there are tool_names and read_only"},
		{"believing a server", head + "      - { type: mcp, server: s, " +
			"require_approval: { never: { read_only: true } } }\nmcp_servers: { s: { url: \"${URL}\" } }\n" + policy,
			"agents.yaml:7:9: tools of mcp server \"s\": require_approval never.read_only believes the server's own " +
				"word"},
		{"policy of a hosted server", head + "      - { type: hosted_mcp, server_label: s, server_url: https://h/, " +
			"require_approval: sometimes }\n" + policy,
			`agents.yaml:7:88: require_approval: is "sometimes"`},
		{"gate of what never asks", head + "      - { type: hosted_mcp, server_label: s, server_url: https://h/, " +
			"require_approval: never, needs_approval: true }\n" + policy,
			"agents.yaml:7:111: hosted_mcp tool \"s\": needs_approval is about the calls that the provider asks for"},
		{"secret in a hosted url", head + "      - { type: hosted_mcp, server_label: s, server_url: \"${URL}\" }\n" +
			policy,
			"agents.yaml:7:58: hosted_mcp tool \"s\": ${…} is not expanded in server_url"},
		{"two shells of the provider", head +
			"      - { type: shell, workdir: \"${DIR}\", native: true }\n" +
			"      - { type: shell, name: b, workdir: \"${DIR}\", native: true }\n" + policy,
			`agents.yaml:3:3: agent "ops": two tools of the form "shell"`},
		{"a tool named as a handoff", head + "      - { type: agent, agent: b, name: transfer_to_b, " +
			"description: x }\n    handoffs: [b]\n  b: { instructions: x, model: m }\ndefault_agent: ops\n",
			`agents.yaml:3:3: agent "ops": a tool and a handoff named "transfer_to_b"`},
		{"search without responses", "version: 1\nagents:\n  ops:\n    instructions: x\n    model: m\n" +
			"    api: chat_completions\n    tools:\n      - { type: web_search }\n",
			"agents.yaml:8:9: web_search needs `api: responses`; agent ops has `api: chat_completions`"},
		{"hosted without responses", "version: 1\nagents:\n  ops:\n    instructions: x\n    model: m\n" +
			"    api: chat_completions\n    tools:\n      - { type: hosted_mcp, server_label: s, " +
			"server_url: https://h/, require_approval: never }\n",
			"agents.yaml:8:9: hosted_mcp needs `api: responses`"},
		{"native without responses", "version: 1\nagents:\n  ops:\n    instructions: x\n    model: m\n" +
			"    api: chat_completions\n    tools:\n      - { type: apply_patch, root: \"${DIR}\", native: true }\n" +
			policy,
			"agents.yaml:8:9: native: true needs `api: responses`"},
		{"record without a gate", head + "      - { type: function, name: current_time, approval: audit }\n",
			"agents.yaml:7:9: `approval: audit` records what needs_approval says yes to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := buildCatalog(t, c.text)
			if _, ok := errors.AsType[agentsfile.Problems](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, have %v", c.want, err)
			}
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("shows an expanded value: %v", err)
			}
		})
	}
}

// TestNobodyApproves refuses a file without a policy as soon as one of its tools may ask, whatever its type.
func TestNobodyApproves(t *testing.T) {
	t.Parallel()
	const servers = "mcp_servers: { s: { url: \"${URL}\", trusted: true } }\n"
	for _, c := range []struct {
		tool string
		asks bool
	}{
		{"type: shell, workdir: \"${DIR}\"", true},
		{"type: shell, workdir: \"${DIR}\", needs_approval: false", false},
		{"type: shell, workdir: \"${DIR}\", approval: audit", false}, // it asks nobody
		{"type: apply_patch, root: \"${DIR}\"", true},
		{"type: apply_patch, root: \"${DIR}\", needs_approval: false", false},
		{"type: http, name: x, description: D, method: PUT, url: \"${URL}\"", true},
		{"type: http, name: x, description: D, method: GET, url: \"${URL}\"", false},
		{"type: function, name: launch", true},
		{"type: function, name: current_time", false},
		{"type: mcp, server: s", true}, // what it will offer is not known
		{"type: mcp, server: s, require_approval: { a: never }", true},
		{"type: mcp, server: s, require_approval: never", false},
		{"type: hosted_mcp, server_label: h, server_url: https://h/", true},
		{"type: hosted_mcp, server_label: h, server_url: https://h/, require_approval: { never: { tool_names: [a] } }",
			true},
		{"type: hosted_mcp, server_label: h, server_url: https://h/, require_approval: never", false},
		{"type: hosted_mcp, server_label: h, server_url: https://h/, needs_approval: false", false},
		{"type: agent, agent: ops, name: again, description: D", false},
		{"type: agent, agent: ops, name: again, description: D, needs_approval: true", true},
		{"type: external, name: x, description: D", true},
		// somebody has to report what came of it
		{"type: external, name: x, description: D, needs_approval: false", true},
		{"type: web_search", false},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			_, err := buildCatalog(t, head+"      - { "+c.tool+" }\n"+servers)
			if !c.asks && err != nil {
				t.Errorf("refused: %v", err)
			}
			if c.asks && (err == nil || !strings.HasPrefix(err.Error(), "agents.yaml:7:9: tool ") ||
				!strings.Contains(err.Error(), "default_policy")) {
				t.Errorf("want a refusal, have %v", err)
			}
			if _, err := buildCatalog(t, head+"      - { "+c.tool+" }\n"+servers+policy); err != nil {
				t.Errorf("refused although there is a policy: %v", err)
			}
		})
	}
}

// TestCatalogPolicy gives the file's words to the domain.
func TestCatalogPolicy(t *testing.T) {
	t.Parallel()
	c, err := buildCatalog(t, head+"      - { type: function, name: launch }\n"+
		"default_policy: { approvers: { users: [U7] }, quorum: 1, always: { scopes: [] } }\n"+
		"requesters: { users: [U8] }\n")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Requirement(t.Context(), &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1"}},
		approvals.PolicyFacts{})
	if err != nil {
		t.Fatal(err)
	}
	set, uniform := r.Uniform()
	if !uniform || len(set.Users) != 1 || set.Users[0] != "T1/U7" || set.ChannelMembers || len(r.Always) != 0 {
		t.Errorf("%+v", r)
	}
	if who := c.Requesters("T1"); len(who.Users) != 1 || who.Users[0] != "T1/U8" || who.ChannelMembers {
		t.Errorf("%+v", who)
	}
	if _, err := c.Agent("nobody"); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("unknown agent: %v", err)
	}
}

// TestServedWorkspaces: where the file names workspaces, nobody starts runs in another.
func TestServedWorkspaces(t *testing.T) {
	t.Parallel()
	const agents = "version: 1\nagents: { ops: { instructions: Help., model: m } }\n"
	for _, c := range []struct {
		text           string
		here, anywhere bool
	}{
		{agents, true, true},
		{agents + "workspaces: [T1, E5]\n", true, false},
		{agents + "workspaces: [T2]\n", false, false},
	} {
		built, err := buildCatalog(t, c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := built.Serves("T1") && built.Requesters("T1").ChannelMembers; got != c.here {
			t.Errorf("%s: runs in T1: %v", c.text, got)
		}
		if got := built.Serves("T9") || built.Requesters("T9").ChannelMembers; got != c.anywhere {
			t.Errorf("%s: runs in T9: %v", c.text, got)
		}
	}
}
