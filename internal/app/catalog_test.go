package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/app/agentsfile"
)

type nothing struct{}

func functions() []agent.Tool {
	say := func(context.Context, nothing) (string, error) { return "x", nil }
	gated := agent.NewTool("launch", "Launches.", say)
	gated.NeedsApproval = agent.AlwaysAsk
	return []agent.Tool{agent.NewTool("current_time", "Tells the time.", say), gated}
}

func buildCatalog(t *testing.T, text string) (*catalog, error) {
	t.Helper()
	f, err := agentsfile.Parse("agents.yaml", []byte(text), func(name string) (string, bool) { return "https://" + canary + ".example", name == "URL" })
	if err != nil {
		t.Fatal(err)
	}
	return (&builder{functions: functions(), model: withoutModel, servers: newMCPServers(slog.New(slog.DiscardHandler))}).build(f)
}

const head = "version: 1\nagents:\n  ops:\n    instructions: Help.\n    model: m\n    tools:\n"

const policy = "default_policy: { approvers: { channel_members: true } }\n"

// TestGates says of every way to write a gate what it does.
func TestGates(t *testing.T) {
	t.Parallel()
	http := func(method, gate string) string {
		return head + "      - { type: http, name: x, description: D, method: " + method + ", url: \"${URL}/a\", parameters: { type: object, properties: { n: { type: number } } }" + gate + " }\n" + policy
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
			if got.tools[0].Gate != c.words {
				t.Errorf("check says %q", got.tools[0].Gate)
			}
			if strings.Contains(got.tools[0].Call, canary) {
				t.Errorf("check shows an expanded value: %q", got.tools[0].Call)
			}
			tool := got.agents["ops"].Agent.Tools[0]
			asks := false
			if tool.NeedsApproval != nil {
				if asks, err = tool.NeedsApproval(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{"n":5}`)}); err != nil {
					t.Error(err)
				}
			}
			if asks != c.asks {
				t.Errorf("asks: %v", asks)
			}
			if strings.Contains(strings.Join(tool.Binding, " "), canary) {
				t.Errorf("decisions are bound to an expanded value: %q", tool.Binding)
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
		{"gated function, no policy", head + "      - { type: function, name: launch }\n", `agents.yaml:7:9: tool "launch" needs approval`},
		{"unknown function", head + "      - { type: function, name: curent_time }\n", `agents.yaml:7:9: no function called "curent_time" is registered in this program; did you mean "current_time"?`},
		{"other function", head + "      - { type: function, name: zzz }\n", "it has current_time, launch"},
		{"expression", head + "      - { type: http, name: x, description: D, method: POST, url: \"${URL}\", needs_approval: args.n >, parameters: { type: object, properties: { n: { type: number } } } }\n" + policy,
			"agents.yaml:7:"},
		{"misspelled argument", head + "      - type: http\n        name: x\n        description: D\n        method: POST\n        url: \"${URL}\"\n        parameters: { type: object, properties: { amount: { type: number } } }\n        needs_approval: |\n          args.amount > 1 &&\n            args.amonut < 9\n" + policy,
			"agents.yaml:15:17: needs_approval of x: the tool's parameters have no 'amonut'"},
		{"schema keyword", head + "      - { type: http, name: x, description: D, method: GET, url: \"${URL}\", parameters: { type: object, properties: { n: { type: number, minimun: 1 } } } }\n",
			"minimun"},
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

// TestCatalogPolicy gives the file's words to the domain.
func TestCatalogPolicy(t *testing.T) {
	t.Parallel()
	c, err := buildCatalog(t, head+"      - { type: function, name: launch }\ndefault_policy: { approvers: { users: [U7] }, quorum: 1, always: { scopes: [] } }\nrequesters: { users: [U8] }\n")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Requirement(t.Context(), &approvals.Request{Workspace: "T1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Approvers.Users) != 1 || r.Approvers.Users[0] != "T1/U7" || r.Approvers.ChannelMembers || len(r.Always) != 0 {
		t.Errorf("%+v", r)
	}
	if who := c.requesters("T1"); len(who.Users) != 1 || who.Users[0] != "T1/U8" || who.ChannelMembers {
		t.Errorf("%+v", who)
	}
	if _, err := c.Agent("nobody"); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("unknown agent: %v", err)
	}
}
