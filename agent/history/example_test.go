package history_test

import (
	"context"
	"fmt"

	"countersign/agent"
	"countersign/agent/history"
	"countersign/agent/scripted"
)

type transfer struct {
	Amount float64 `json:"amount"`
	To     string  `json:"to"`
}

// What a model is shown of a long run stays below an estimate of its tokens. The state keeps everything.
func ExampleKeepNewest() {
	pay := agent.NewTool("pay", "Pay somebody.", func(_ context.Context, in transfer) (string, error) {
		return fmt.Sprintf("%s got %v", in.To, in.Amount), nil
	})
	model := scripted.New(
		scripted.Calls(scripted.Call("call_1", "pay", `{"amount":1,"to":"Ada"}`)),
		scripted.Calls(scripted.Call("call_2", "pay", `{"amount":2,"to":"Ben"}`)),
		scripted.Say("Done."),
	)
	payer := &agent.Agent{
		Name: "payer", Tools: []agent.Tool{pay}, Model: model, Shorten: history.KeepNewest(100),
	}
	var runner agent.Runner
	input := []agent.Item{agent.UserMessage("Pay them.")}
	result, err := runner.Run(context.Background(), payer, input, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	requests := model.Requests()
	for _, item := range requests[len(requests)-1].Items {
		fmt.Printf("%s: %s\n", item.Type, item.Text+item.CallID)
	}
	fmt.Println("items in the state:", len(result.State.Items()))
	// Output:
	// message: Pay them.
	// message: 1 earlier turn of this conversation was left out, because it has become long.
	// function_call: call_2
	// function_call_output: call_2
	// items in the state: 6
}
