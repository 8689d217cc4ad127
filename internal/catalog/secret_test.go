package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/internal/agentsfile"
)

// TestSecretArguments marks what the file calls secret, and leaves the definition as it is: what was approved stays so.
func TestSecretArguments(t *testing.T) {
	t.Parallel()
	var plain agent.Digest
	for i, tt := range []struct {
		text string
		want []string
	}{{"", nil}, {", secret: [guests, date]", []string{"guests", "date"}}} {
		c, err := buildCatalog(t, bookText+tt.text+" }\n"+policy)
		if err != nil {
			t.Fatal(err)
		}
		a, err := c.Agent("ops")
		if err != nil {
			t.Fatal(err)
		}
		tool := a.Agent.Tools[0]
		if diff := cmp.Diff(tt.want, tool.Secret); diff != "" {
			t.Errorf("%q:\n%s", tt.text, diff)
		}
		if i == 0 {
			plain = tool.Digest()
		} else if tool.Digest() != plain {
			t.Error("secret changes the definition of the tool")
		}
	}
}

// TestSecretProblems refuses names that no argument has, at the name, with the nearest one.
func TestSecretProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		bookText + ", secret: [guests, dat] }\n" + policy: `: secret: tool "book" takes no "dat"; did you mean "date"?`,
		bookText + ", secret: [cost_center] }\n" + policy: `tool "book" takes no "cost_center"; it takes date, guests`,
		head + "      - { type: external, name: x, description: D, secret: [x] }\n" +
			policy: `tool "x" takes no "x"; it takes no arguments that are known by name`,
		head + "      - { type: function, name: current_time, secret: [x] }\n" + policy: `takes no "x"`,
	} {
		_, err := buildCatalog(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
			continue
		}
		line := strings.Split(text, "\n")[strings.Count(text[:strings.Index(text, "secret:")], "\n")]
		column := strings.Index(line, "secret: [") + len("secret: [") + 1
		if strings.Contains(text, "[guests, ") {
			column += len("guests, ")
		}
		at := strings.Split(err.Error(), ":")
		if len(at) < 3 || at[2] != jsonOf(column) {
			t.Errorf("%s: not at column %d: %v", text, column, err)
		}
	}
}

func jsonOf(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// TestSecretsOfServers marks the arguments of all tools of a server that take one of that name.
func TestSecretsOfServers(t *testing.T) {
	t.Parallel()
	tool := func(name, properties string) agent.Tool {
		schema := `{"type":"object","properties":{` + properties + `}}`
		return agent.Tool{Name: name, Parameters: json.RawMessage(schema)}
	}
	tools := listed{tool("a", `"token":{},"y":{}`), tool("b", `"y":{}`), tool("c", `"token":{}`)}
	declared := &agentsfile.MCPServer{Name: "s"}
	named := func(names ...string) *agentsfile.Tool {
		var secret []agentsfile.Reference
		for _, name := range names {
			at := agentsfile.Position{File: "f", Line: 3, Column: 9}
			secret = append(secret, agentsfile.Reference{Position: at, Name: name})
		}
		return &agentsfile.Tool{Secret: secret}
	}
	got, err := withSecret(tools, named("token"), declared).Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"token"}, nil, {"token"}} {
		if diff := cmp.Diff(want, got[i].Secret); diff != "" || tools[i].Secret != nil {
			t.Errorf("%s: %s", got[i].Name, diff)
		}
	}
	if _, err := withSecret(tools, named("token", "tokn"), declared).Tools(t.Context()); err == nil ||
		!strings.Contains(err.Error(), `none of them takes "tokn"; did you mean "token"? (f:3:9)`) {
		t.Errorf("a misspelt name: %v", err)
	}
	if set := withSecret(tools, named(), declared); jsonOf(set) != jsonOf(tools) {
		t.Error("without secret arguments the toolset is another one")
	}
}
