package catalog

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/internal/agentsfile"
)

const bookText = head + "      - { type: external, name: book, description: Books., needs_approval: false, " +
	"parameters: { type: object, properties: { date: { type: string }, guests: { type: integer } }, required: [date] }"

// TestInputFields has people fill in what the file says, of which the model may propose everything.
func TestInputFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, ", requires_user_input: false": nil,
		", requires_user_input: true":     {"date", "guests"},
		", requires_user_input: [guests]": {"guests"},
	} {
		c, err := buildCatalog(t, bookText+text+" }\n"+policy)
		if err != nil {
			t.Fatal(err)
		}
		a, err := c.Agent("ops")
		if err != nil {
			t.Fatal(err)
		}
		tool := a.Agent.Tools[0]
		if diff := cmp.Diff(want, tool.Proposed); diff != "" || len(tool.Fields) != 0 {
			t.Errorf("%q: %v\n%s", text, tool.Fields, diff)
		}
	}
}

// TestInputProblems refuses what nobody could fill in, in words.
func TestInputProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		bookText + ", requires_user_input: [when] }\n" + policy: `requires_user_input: tool "book" takes no "when"; ` +
			`it takes date, guests`,
		head + "      - { type: external, name: x, description: D, requires_user_input: true }\n" +
			policy: `requires_user_input: tool "x" takes no arguments that people could fill in`,
		head + "      - { type: function, name: current_time, requires_user_input: true }\n" +
			policy: `takes no arguments that people could fill in`,
		bookText + ", requires_user_input: true }\n": "no `default_policy`",
	} {
		if _, err := buildCatalog(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// listed is a toolset of these tools.
type listed []agent.Tool

func (listed) Name() string { return "s" }

func (l listed) Tools(context.Context) ([]agent.Tool, error) { return l, nil }

// TestInputOfServers applies the file's list to all tools of a server that take such an argument.
func TestInputOfServers(t *testing.T) {
	t.Parallel()
	tool := func(name, properties string) agent.Tool {
		schema := `{"type":"object","properties":{` + properties + `}}`
		return agent.Tool{Name: name, Parameters: json.RawMessage(schema)}
	}
	tools := listed{tool("a", `"x":{},"y":{}`), tool("b", `"y":{}`), tool("c", ``)}
	for _, tt := range []struct {
		input agentsfile.Input
		want  [][]string
	}{
		{agentsfile.Input{All: true}, [][]string{{"x", "y"}, {"y"}, nil}},
		{agentsfile.Input{Names: []string{"x"}}, [][]string{{"x"}, nil, nil}},
	} {
		got, err := (&inputToolset{Toolset: tools, input: tt.input, server: "s"}).Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range tt.want {
			if strings.Join(got[i].Proposed, " ") != strings.Join(want, " ") || tools[i].Proposed != nil {
				t.Errorf("%s: %v, want %v", got[i].Name, got[i].Proposed, want)
			}
		}
	}
	unknown := agentsfile.Input{Names: []string{"z"}}
	_, err := (&inputToolset{Toolset: tools, input: unknown, server: "s"}).Tools(t.Context())
	if err == nil || !strings.Contains(err.Error(), `none of them takes "z"`) {
		t.Errorf("a name that no tool takes: %v", err)
	}
}
