package rawtool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/rawtool"
	"countersign/agent/scripted"
)

const transferSchema = `{
	"type":"object",
	"properties":{"amount":{"type":"number","exclusiveMinimum":0},"to":{"type":"string"}},
	"required":["amount","to"],
	"additionalProperties":false
}`

// TestValidator looks that the check is that of the schema; package jsonschema tests what schemas can say.
func TestValidator(t *testing.T) {
	t.Parallel()
	validate, err := rawtool.Validator(json.RawMessage(transferSchema))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(json.RawMessage(`{"amount":1,"to":"ABC"}`)); err != nil {
		t.Error(err)
	}
	err = validate(json.RawMessage(`{"amount":0,"to":"ABC"}`))
	if err == nil || err.Error() != "/amount: must be more than 0" {
		t.Errorf("got %v", err)
	}
	_, err = rawtool.Validator(json.RawMessage(`{"requird":["x"]}`))
	if err == nil || err.Error() != `schema at /: unknown keyword "requird"; the nearest is "required"` {
		t.Errorf("got %v", err)
	}
}

// TestNew makes tools that refuse what their schema does not allow, and no tool of a schema that cannot be checked.
func TestNew(t *testing.T) {
	t.Parallel()
	invoke := func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{Text: string(c.Arguments)}, nil
	}
	tool, err := rawtool.New("pay", "Pay.", json.RawMessage(transferSchema), invoke)
	if err != nil {
		t.Fatal(err)
	}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(
		scripted.Calls(
			scripted.Call("c1", "pay", `{"amount":0,"to":"AA"}`), scripted.Call("c2", "pay", `{"to":"AA","amount":1}`),
		),
		scripted.Say("Done."),
	)}
	res, err := new(agent.Runner).Run(t.Context(), a, nil, agent.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.NewItems; !strings.Contains(got[2].Output, "/amount") || got[3].Output != `{"amount":1,"to":"AA"}` {
		t.Errorf("got %+v", got)
	}
	_, err = rawtool.New("pay", "Pay.", json.RawMessage(`{"type":"objekt"}`), invoke)
	if !errors.Is(err, agent.ErrConfig) {
		t.Errorf("a schema that nobody can mean: %v", err)
	}
}
