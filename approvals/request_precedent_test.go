package approvals

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
)

// TestComparedWith: what differs of the arguments is said in the schema's order, also of those that one of the two
// calls lacks, and what differs of the tool by its parts. What is secret in either call is masked in both.
func TestComparedWith(t *testing.T) {
	t.Parallel()
	call := func(arguments string, change ...func(*Request)) *Request {
		r := &Request{RequestContent: RequestContent{
			Arguments: json.RawMessage(arguments), Order: []string{"to", "amount", "memo", "pin"},
			Schema: json.RawMessage(`{}`),
		}}
		r.Tool = ToolSnapshot{Name: "pay", Description: "Pays.", Version: "1", Binding: []string{"POST https://a"}}
		for _, f := range change {
			f(r)
		}
		return r
	}
	secret := func(names ...string) func(*Request) { return func(r *Request) { r.Secret = names } }
	for name, c := range map[string]struct {
		before, now *Request
		changes     []string
		parts       []string
	}{
		"alike": {call(`{"to":"x"}`), call(`{"to":"x"}`), nil, nil},
		"in the schema's order": {call(`{"amount":1,"to":"x"}`), call(`{"amount":2,"to":"y"}`),
			[]string{`to: "x" → "y"`, "amount: 1 → 2"}, nil},
		"only now":      {call(`{"to":"x"}`), call(`{"amount":2,"to":"x"}`), []string{"amount: (nothing) → 2"}, nil},
		"only before":   {call(`{"memo":"a","to":"x"}`), call(`{"to":"x"}`), []string{`memo: "a" → (nothing)`}, nil},
		"secret now":    {call(`{"pin":"1234"}`), call(`{"pin":"canary"}`, secret("pin")), hidden, nil},
		"secret before": {call(`{"pin":"1234"}`, secret("pin")), call(`{"pin":"canary"}`), hidden, nil},
		"its description": {call(`{}`), call(`{}`, func(r *Request) { r.Tool.Description = "Pays more." }), nil,
			[]string{"its description"}},
		"its version": {call(`{}`), call(`{}`, func(r *Request) { r.Tool.Version = "2" }), nil,
			[]string{"its version"}},
		"its binding": {call(`{}`), call(`{}`, func(r *Request) { r.Tool.Binding = []string{"POST https://b"} }), nil,
			[]string{"what it is bound to"}},
		"its schema": {call(`{}`), call(`{}`, func(r *Request) { r.Schema = json.RawMessage(`{"a":1}`) }), nil,
			[]string{"what it takes"}},
		"white space in its schema, as before": {call(`{}`, func(r *Request) { r.Schema = json.RawMessage("{ }") }),
			call(`{}`), nil, nil},
		"something else of it": {call(`{}`), call(`{}`, func(r *Request) { r.Definition = agent.Digest{1} }), nil,
			[]string{"its definition"}},
		"a part and its digest": {call(`{}`), call(`{}`, func(r *Request) {
			r.Definition, r.Tool.Version = agent.Digest{1}, "2"
		}), nil, []string{"its version"}},
	} {
		p := c.now.comparedWith(c.before)
		var changes []string
		for _, change := range p.Changes {
			changes = append(changes, change.String())
		}
		if diff := cmp.Diff(c.changes, changes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !slices.Equal(p.Parts, c.parts) || p.Request != &c.before.RequestHead {
			t.Errorf("%s: %q of %+v", name, p.Parts, p.Request)
		}
		if raw, err := json.Marshal(p.Changes); err != nil || strings.Contains(string(raw), "canary") ||
			strings.Contains(string(raw), "1234") {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
	}
}

// TestSchemasWithoutWhiteSpace: what records hold of a tool's schema has no white space between its parts, however its
// server wrote it: stores need not keep that.
func TestSchemasWithoutWhiteSpace(t *testing.T) {
	t.Parallel()
	var r Request
	tool := &agent.Tool{Parameters: json.RawMessage(`{ "type" : "object" }`)}
	r.present(t.Context(), tool, &agent.ToolCall{}, "", nil)
	if got := string(r.Schema); got != `{"type":"object"}` {
		t.Errorf("the tool's: %s", got)
	}
	fields := inputFields([]agent.Field{{Schema: json.RawMessage(`{ "type" : "string" }`)}, {}}, nil)
	if got := string(fields[0].Schema); got != `{"type":"string"}` || fields[1].Schema != nil {
		t.Errorf("those of fields: %s, %q", got, fields[1].Schema)
	}
}

// hidden is how two secret values differ, to people.
var hidden = []string{"pin: ••• (4 characters) → ••• (6 characters)"}
