package agent_test

import (
	"context"
	"fmt"

	"countersign/agent"
	"countersign/agent/scripted"
)

// Events tell what happens while it happens, also that people are asked. The result comes afterwards.
func ExampleRunner_Stream() {
	a := payer(
		scripted.Calls(scripted.Call("call_1", "pay", `{"amount":5,"to":"Ada"}`)),
		scripted.Say("Ada has her money."),
	)
	show := func(stream *agent.Stream) *agent.Result {
		for event := range stream.Events() {
			switch e := event.(type) {
			case agent.ModelText:
				fmt.Print(e.Text)
			case agent.ToolStarted:
				fmt.Println("running:", e.Call.Tool)
			case agent.ToolEnded:
				fmt.Println("output:", e.Output.Text)
			case agent.ApprovalRequested:
				fmt.Println("asking:", e.Interruption.Call.Tool, string(e.Interruption.Call.Arguments))
			}
		}
		result, err := stream.Result()
		if err != nil {
			panic(err)
		}
		return result
	}
	ctx := context.Background()
	var runner agent.Runner
	result := show(runner.Stream(ctx, a, []agent.Item{agent.UserMessage("Pay Ada.")}, agent.RunOptions{}))
	for _, question := range result.Interruptions {
		if err := result.State.Approve(question, agent.ApproveOptions{}); err != nil {
			panic(err)
		}
	}
	result = show(runner.StreamResume(ctx, a, result.State, agent.RunOptions{}))
	fmt.Println("\nanswer:", result.FinalOutput)
	// Output:
	// asking: pay {"amount":5,"to":"Ada"}
	// running: pay
	// output: Ada got 5
	// Ada has her money.
	// answer: Ada has her money.
}
