package rawtool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"countersign/agent"
	"countersign/agent/rawtool"
)

// A tool whose schema is written by hand, or comes from elsewhere.
func ExampleNew() {
	schema := json.RawMessage(`{
		"type": "object",
		"properties": {"amount": {"type": "number", "multipleOf": 0.01}, "to": {"type": "string"}},
		"required": ["amount", "to"],
		"additionalProperties": false
	}`)
	pay, err := rawtool.New("pay", "Pay somebody.", schema,
		func(_ context.Context, call *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{Text: "paid " + string(call.Arguments)}, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	pay.NeedsApproval = agent.AlwaysAsk
	fmt.Println(pay.Validate(json.RawMessage(`{"amount": 4.355, "to": 7}`)))
	// Output:
	// /amount: must be a multiple of 0.01; /to: must be a string, not a number
}
