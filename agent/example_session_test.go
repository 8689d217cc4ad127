package agent_test

import (
	"context"
	"fmt"

	"countersign/agent"
	"countersign/agent/scripted"
)

// A session is the memory of a conversation: each run reads what the earlier ones left and adds what is new.
func ExampleMemorySession() {
	greeter := &agent.Agent{Name: "greeter", Model: scripted.New(
		scripted.Say("Hello Ada."),
		scripted.Say("Your name is Ada."),
	)}
	ctx := context.Background()
	session := new(agent.MemorySession)
	var runner agent.Runner
	for _, said := range []string{"I am Ada.", "Who am I?"} {
		_, err := runner.Run(ctx, greeter, []agent.Item{agent.UserMessage(said)}, agent.RunOptions{Session: session})
		if err != nil {
			panic(err)
		}
	}
	items, err := session.Items(ctx)
	if err != nil {
		panic(err)
	}
	for _, item := range items {
		fmt.Printf("%s: %s\n", item.Role, item.Text)
	}
	// Output:
	// user: I am Ada.
	// assistant: Hello Ada.
	// user: Who am I?
	// assistant: Your name is Ada.
}
