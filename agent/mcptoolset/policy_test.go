package mcptoolset_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"countersign/agent/mcptoolset"
)

const policyTools = `{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"write","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}},` +
	`{"name":"always","inputSchema":{"type":"object"}}`

// asked lists the tools that people are asked about under a policy.
func asked(t *testing.T, policy mcptoolset.Policy, trusted bool) []string {
	t.Helper()
	ts, _ := (&rawServer{list: tools(policyTools)}).start(t, func(s *mcptoolset.ServerConfig, c *mcptoolset.Config) {
		s.Trusted, c.RequireApproval = trusted, policy
	})
	names := []string{}
	for name, tool := range toolsOf(t, ts) {
		if tool.NeedsApproval == nil {
			continue
		}
		if ask, err := tool.NeedsApproval(t.Context(), nil); err != nil || !ask {
			t.Errorf("%s: the gate says %t, %v", name, ask, err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func parse(t *testing.T, text string) (mcptoolset.Policy, error) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return mcptoolset.ParsePolicy(v)
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	const all, nobody = "always read write", ""
	for _, tt := range []struct{ policy, untrusted, trusted string }{
		{`null`, all, "always write"},
		{`"always"`, all, all},
		{`"never"`, nobody, nobody},
		{`true`, all, all},
		{`false`, nobody, nobody},
		{`{"write":"never"}`, "always read", "always"},
		{`{"write":false,"read":true}`, "always read", "always read"},
		{`{"write":"always"}`, all, "always write"},
		{`{"always":"never"}`, "read write", "write"}, // a tool whose name is always
		{`{"always":true,"never":false}`, all, "always write"},
		{`{"never":{"tool_names":["write","always"]}}`, "read", nobody},
		{`{"never":{"toolNames":["write"]}}`, "always read", "always"},
		{`{"always":{"tool_names":["read"]},"never":{"tool_names":["write"]}}`, "always read", "always read"},
		{`{"always":{"read_only":true}}`, all, all},
		{`{"always":{"readOnly":false},"never":{"tool_names":["write","read"]}}`, "always write", "always write"},
		{`{"never":{"read_only":true}}`, "-", "always write"},
		{`{"never":{"read_only":true,"tool_names":["write","read"]}}`, "-", "always write"},
		{`{"never":{"read_only":false}}`, "-", nobody},
		{`{"never":{"read_only":false},"always":{"read_only":true}}`, "-", "read"},
	} {
		policy, err := parse(t, tt.policy)
		if err != nil {
			t.Errorf("%s: %v", tt.policy, err)
			continue
		}
		if got := strings.Join(asked(t, policy, true), " "); got != tt.trusted {
			t.Errorf("%s of a trusted server asks about %q, want %q", tt.policy, got, tt.trusted)
		}
		if tt.untrusted == "-" { // TestNewRefuses
			continue
		}
		if got := strings.Join(asked(t, policy, false), " "); got != tt.untrusted {
			t.Errorf("%s asks about %q, want %q", tt.policy, got, tt.untrusted)
		}
	}
	if got := strings.Join(asked(t, mcptoolset.Policy{}, false), " "); got != all {
		t.Errorf("the zero policy asks about %q", got)
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ policy, want string }{
		{`"sometimes"`, `is "sometimes"; write "always", "never"`},
		{`"Always"`, `is "Always"`},
		{`""`, `is ""`},
		{`7`, "is a number"},
		{`["always"]`, "is a list"},
		{`{}`, "is empty"},
		{`{"write":"maybe"}`, `"write" is "maybe"`},
		{`{"write":null}`, `"write" is empty`},
		{`{"write":{"tool_names":["x"]}}`, `"write" is an object`},
		{`{"":true}`, "a tool's name is empty"},
		{`{"always":["read"]}`, `"always" is a list`},
		{`{"never":{}}`, "never.tool_names or read_only is needed"},
		{`{"never":{"tool_names":[]}}`, "never.tool_names is an empty list"},
		{`{"never":{"tool_names":"read"}}`, `never.tool_names is "read"; write a list`},
		{`{"never":{"tool_names":["read",7]}}`, "never.tool_names has an entry (number 2) that is a number"},
		{`{"never":{"tool_names":["read"," "]}}`, "never.tool_names has an empty name (number 2)"},
		{`{"never":{"toolnames":["read"]}}`, "never.toolnames is not known; there are tool_names and read_only"},
		{`{"never":{"tool_names":["a"],"toolNames":["b"]}}`, "toolNames is there too"},
		{`{"never":{"read_only":true,"readOnly":true}}`, "readOnly"},
		{`{"never":{"read_only":"yes"}}`, `never.read_only is "yes"; write true or false`},
		{`{"never":{"tool_names":["a"]},"write":"always"}`, `"write" cannot stand beside`},
		{`{"never":{"tool_names":["a"]},"always":true}`, "always is true; beside a filter it has to be one too"},
		{`{"never":{"tool_names":["a"]},"always":["b"]}`, "always is a list"},
		{`{"never":{"tool_names":["a","b"]},"always":{"tool_names":["b"]}}`,
			`"b" is in always.tool_names and in never.tool_names`},
		{`{"never":{"read_only":true},"always":{"read_only":true}}`, "are both true"},
	} {
		_, err := parse(t, tt.policy)
		if err == nil || !strings.HasPrefix(err.Error(), "require_approval: ") ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.policy, err)
		}
	}
}

// Whatever is written, there is a policy or an error, and always the same.
func FuzzParsePolicy(f *testing.F) {
	for _, seed := range []string{
		`null`, `"never"`, `{"a":false}`, `{"never":{"tool_names":["a"]}}`,
		`{"always":{"readOnly":true},"never":{"read_only":false}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		a, errA := mcptoolset.ParsePolicy(v)
		b, errB := mcptoolset.ParsePolicy(v)
		if fmt.Sprint(errA) != fmt.Sprint(errB) || !reflect.DeepEqual(a, b) {
			t.Errorf("read twice: %v, %v and %v, %v", a, errA, b, errB)
		}
		if errA != nil && !reflect.DeepEqual(a, mcptoolset.Policy{}) {
			t.Errorf("an error, and the policy %v", a)
		}
	})
}
