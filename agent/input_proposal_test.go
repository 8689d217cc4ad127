package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const bookSchema = `{"type":"object","properties":{` +
	`"title":{"type":"string"},"copies":{"type":"integer"},"price":{"type":["number","null"]},` +
	`"kind":{"enum":["new","used",{"of":1.0}]},"tags":{"type":"array"},"gift":{"type":"boolean"},` +
	`"to":{"type":"object"},"any":true},` +
	`"required":["title","copies","price"],"additionalProperties":false}`

// bookTool asks a person for the title, and about what the model proposes of the rest.
func bookTool() Tool {
	return Tool{
		Name: "book", Parameters: json.RawMessage(bookSchema),
		Fields: []string{"title"}, Proposed: []string{"copies", "price"},
		Validate: func(json.RawMessage) error { return errors.New("asked too early") },
		Invoke:   func(context.Context, *ToolCall) (ToolOutput, error) { return ToolOutput{}, nil },
	}
}

func TestProposalsAreValidatedInParts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ why, arguments, want string }{
		{"nothing proposed is no mistake", `{}`, ""},
		{"what only people fill in", `{"title":"x"}`, `a person fills in "title"; leave it out`},
		{"right types", `{"any":[1],"copies":3,"gift":true,"kind":"used","price":1.5,"tags":[],"to":{}}`, ""},
		{"null where it may be", `{"price":null}`, ""},
		{"null where it may not", `{"copies":null}`, `"copies" must be of type integer`},
		{"no whole number", `{"copies":1.5}`, `"copies" must be of type integer`},
		{"a tiny number", `{"copies":1e-7}`, `"copies" must be of type integer`},
		{"a whole number that is written with an exponent", `{"copies":1e+21}`, ""},
		{"a negative number", `{"copies":-1}`, ""},
		{"text for a number", `{"price":"1"}`, `"price" must be of type number or null`},
		{"text for a truth", `{"gift":"yes"}`, `"gift" must be of type boolean`},
		{"text for a list", `{"tags":"a"}`, `"tags" must be of type array`},
		{"a list for an object", `{"to":[]}`, `"to" must be of type object`},
		{"a value outside the enum", `{"kind":"stolen"}`, `"kind" must be one of the values of its enum`},
		{"an object of the enum, compared by meaning", `{"kind":{"of":1}}`, ""},
		{"a property that the schema does not know", `{"colour":"red"}`, `unknown property "colour"`},
	} {
		tool := bookTool()
		err := tool.validateProposal(json.RawMessage(tt.arguments))
		if got := text(err); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.why, got, tt.want)
		}
	}
}

// TestCompleteProposalsAreValidated has nothing left to wait for: the tool's own validation decides.
func TestCompleteProposalsAreValidated(t *testing.T) {
	t.Parallel()
	tool := bookTool()
	tool.Fields, tool.Proposed = nil, []string{"title", "copies", "price"}
	if err := tool.validateProposal(json.RawMessage(`{"copies":1,"price":1}`)); err != nil {
		t.Errorf("the title is missing: %v", err)
	}
	err := tool.validateProposal(json.RawMessage(`{"copies":1,"price":1,"title":"x"}`))
	if text(err) != "asked too early" {
		t.Errorf("nothing is missing: %v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestModelMayLeaveOutProposals compares what the model is shown with the schema as written.
func TestModelMayLeaveOutProposals(t *testing.T) {
	t.Parallel()
	tool := bookTool()
	want := strings.NewReplacer(
		`"title":{"type":"string"},`, ``, `"required":["title","copies","price"]`, `"required":[]`,
	).Replace(bookSchema)
	if diff := gocmp.Diff(want, string(tool.definition().Parameters)); diff != "" {
		t.Error(diff)
	}
}

func TestProposedIsPartOfTheDefinition(t *testing.T) {
	t.Parallel()
	seen := make(map[Digest]string)
	for name, change := range map[string]func(*Tool){
		"fields":          func(t *Tool) { t.Fields, t.Proposed = []string{"title", "price"}, nil },
		"proposed":        func(t *Tool) { t.Fields, t.Proposed = nil, []string{"title", "price"} },
		"one of each":     func(t *Tool) { t.Fields, t.Proposed = []string{"title"}, []string{"price"} },
		"the other way":   func(t *Tool) { t.Fields, t.Proposed = []string{"price"}, []string{"title"} },
		"in other order":  func(t *Tool) { t.Fields, t.Proposed = nil, []string{"price", "title"} },
		"neither of them": func(t *Tool) { t.Fields, t.Proposed = nil, nil },
	} {
		tool := bookTool()
		change(&tool)
		if other, twice := seen[tool.Digest()]; twice {
			t.Errorf("%q and %q have one digest", name, other)
		}
		seen[tool.Digest()] = name
	}
}

func TestProposedIsChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why    string
		change func(*Tool)
		want   error
	}{
		{"control", func(*Tool) {}, nil},
		{"no such property", func(t *Tool) { t.Proposed = []string{"colour"} }, errInputField},
		{"in both lists", func(t *Tool) { t.Proposed = []string{"title"} }, errInputField},
		{"no schema", func(t *Tool) { t.Parameters = nil }, errNoInput},
		{"no validator", func(t *Tool) { t.Fields, t.Validate = nil, nil }, errNoValidate},
		{"text instead of JSON", func(t *Tool) { t.Fields, t.Wire = nil, WireCustom }, errCustom},
	} {
		tool := bookTool()
		tt.change(&tool)
		if err := tool.check(); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.why, err, tt.want)
		}
	}
}
