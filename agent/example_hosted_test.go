package agent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"countersign/agent"
	"countersign/agent/scripted"
)

// The provider talks to a hosted MCP server, and asks before each call. The question is an interruption like any other,
// and the answer is sent to the provider.
func ExampleNewHostedTool() {
	wiki := agent.NewHostedTool(agent.KindHostedMCP, "wiki", json.RawMessage(
		`{"type":"mcp","server_label":"wiki","server_url":"https://wiki.example/mcp","require_approval":"always"}`), nil)
	// The id tells the scripted model how far it is; a provider gives one of its own.
	asks, err := agent.ParseItem(json.RawMessage(`{"type":"mcp_approval_request","id":"scripted_0_0",
		"server_label":"wiki","name":"delete_page","arguments":"{\"page\":\"Home\"}"}`))
	if err != nil {
		panic(err)
	}
	editor := &agent.Agent{Name: "editor", Tools: []agent.Tool{wiki}, Model: scripted.New(
		scripted.Calls(asks),
		scripted.Say("I left the page where it is."),
	)}

	ctx := context.Background()
	var runner agent.Runner
	result, err := runner.Run(ctx, editor, []agent.Item{agent.UserMessage("Tidy up the wiki.")}, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	message := "Never the home page."
	for _, question := range result.Interruptions {
		fmt.Println("may the provider call", question.Call.Tool, string(question.Call.Arguments))
		if err := result.State.Reject(question, agent.RejectOptions{Message: &message}); err != nil {
			panic(err)
		}
	}
	result, err = runner.Resume(ctx, editor, result.State, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println("the provider reads:")
	fmt.Println(string(result.NewItems[0].Wire()))
	fmt.Println(result.FinalOutput)
	// Output:
	// may the provider call wiki.delete_page {"page":"Home"}
	// the provider reads:
	// {"type":"mcp_approval_response","approval_request_id":"scripted_0_0","approve":false,"reason":"Never the home page."}
	// I left the page where it is.
}
