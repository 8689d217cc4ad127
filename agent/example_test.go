package agent_test

import (
	"context"
	"fmt"

	"countersign/agent"
	"countersign/agent/scripted"
)

type transfer struct {
	Amount float64 `json:"amount" doc:"How much, in euros."`
	To     string  `json:"to" doc:"The account that gets it."`
}

// A tool that needs approval pauses the run. The paused run is text, which may be kept anywhere for any time.
func Example() {
	pay := agent.NewTool("transfer", "Move money.", func(_ context.Context, in transfer) (string, error) {
		return fmt.Sprintf("sent %v to %s", in.Amount, in.To), nil
	})
	pay.NeedsApproval = agent.AlwaysAsk
	ops := &agent.Agent{Name: "ops", Tools: []agent.Tool{pay}, Model: scripted.New(
		scripted.Calls(scripted.Call("call_1", "transfer", `{"to": "Ada", "amount": 5.00}`)),
		scripted.Say("Ada has her money."),
	)}

	ctx := context.Background()
	var runner agent.Runner
	result, err := runner.Run(ctx, ops, []agent.Item{agent.UserMessage("Send Ada 5 euros.")}, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	for _, in := range result.Interruptions {
		fmt.Println("may it run?", in.Call.Tool, string(in.Call.Arguments))
	}
	saved, err := result.State.MarshalJSON()
	if err != nil {
		panic(err)
	}

	// Later, maybe in another process.
	state, err := agent.DecodeRunState(saved, ops)
	if err != nil {
		panic(err)
	}
	for _, in := range state.Interruptions() {
		if err := state.Approve(in, agent.ApproveOptions{}); err != nil {
			panic(err)
		}
	}
	result, err = runner.Resume(ctx, ops, state, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.FinalOutput)
	// Output:
	// may it run? transfer {"amount":5,"to":"Ada"}
	// Ada has her money.
}
