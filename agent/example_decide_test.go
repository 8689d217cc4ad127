package agent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"countersign/agent"
	"countersign/agent/scripted"
)

// payer is an agent with a tool that waits for people, and with a script instead of a model.
func payer(script ...scripted.Step) *agent.Agent {
	pay := agent.NewTool("pay", "Pay somebody.", func(_ context.Context, in transfer) (string, error) {
		return fmt.Sprintf("%s got %v", in.To, in.Amount), nil
	})
	pay.NeedsApproval = agent.AlwaysAsk
	return &agent.Agent{Name: "payer", Tools: []agent.Tool{pay}, Model: scripted.New(script...)}
}

// The model reads the message of a rejection as the call's output. Without one it reads DefaultRejection.
func ExampleRunState_Reject() {
	a := payer(
		scripted.Calls(scripted.Call("call_1", "pay", `{"amount":900,"to":"Ada"}`)),
		scripted.Say("I did not pay Ada: the invoice is missing."),
	)
	ctx := context.Background()
	var runner agent.Runner
	result, err := runner.Run(ctx, a, []agent.Item{agent.UserMessage("Pay Ada.")}, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	message := "Not without an invoice."
	for _, question := range result.Interruptions {
		if err := result.State.Reject(question, agent.RejectOptions{Message: &message}); err != nil {
			panic(err)
		}
	}
	result, err = runner.Resume(ctx, a, result.State, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	for _, item := range result.NewItems {
		if item.IsOutput() {
			fmt.Println("the model reads:", item.Output)
		}
	}
	fmt.Println(result.FinalOutput)
	// Output:
	// the model reads: Not without an invoice.
	// I did not pay Ada: the invoice is missing.
}

// Always approves the later calls of the same tool by the same agent too, for the rest of the run.
func ExampleRunState_Approve_always() {
	a := payer(
		scripted.Calls(scripted.Call("call_1", "pay", `{"amount":1,"to":"Ada"}`)),
		scripted.Calls(
			scripted.Call("call_2", "pay", `{"amount":2,"to":"Ben"}`),
			scripted.Call("call_3", "pay", `{"amount":3,"to":"Cid"}`),
		),
		scripted.Say("All three have their money."),
	)
	ctx := context.Background()
	var runner agent.Runner
	result, err := runner.Run(ctx, a, []agent.Item{agent.UserMessage("Pay the three.")}, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	question := result.Interruptions[0]
	fmt.Println("asked about", string(question.Call.Arguments))
	if err := result.State.Approve(question, agent.ApproveOptions{Always: true}); err != nil {
		panic(err)
	}
	result, err = runner.Resume(ctx, a, result.State, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println("further questions:", len(result.Interruptions))
	fmt.Println(result.FinalOutput)
	// Output:
	// asked about {"amount":1,"to":"Ada"}
	// further questions: 0
	// All three have their money.
}

// A program decides what is clear, and leaves the rest to people.
func ExampleTool_onApproval() {
	a := payer(
		scripted.Calls(
			scripted.Call("call_1", "pay", `{"amount":5,"to":"Ada"}`),
			scripted.Call("call_2", "pay", `{"amount":5000,"to":"Ben"}`),
			scripted.Call("call_3", "pay", `{"amount":7,"to":"Mallory"}`),
		),
		scripted.Say("Done."),
	)
	a.Tools[0].OnApproval = func(_ context.Context, in *agent.Interruption) (*agent.ToolApproval, error) {
		var args transfer
		if err := json.Unmarshal(in.Call.Arguments, &args); err != nil {
			return nil, err
		}
		switch {
		case args.To == "Mallory":
			return &agent.ToolApproval{Reason: "Mallory is nobody's supplier."}, nil
		case args.Amount < 100:
			return &agent.ToolApproval{Approve: true}, nil
		}
		return nil, nil // people decide
	}
	var runner agent.Runner
	result, err := runner.Run(context.Background(), a, []agent.Item{agent.UserMessage("Pay.")}, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	for _, item := range result.NewItems {
		if item.IsOutput() {
			fmt.Println(item.CallID, item.Output)
		}
	}
	for _, question := range result.Interruptions {
		fmt.Println(question.Call.ID, "waits for people")
	}
	// Output:
	// call_1 Ada got 5
	// call_3 Mallory is nobody's supplier.
	// call_2 waits for people
}
