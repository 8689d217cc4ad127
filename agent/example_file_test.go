package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"countersign/agent"
	"countersign/agent/scripted"
)

// newPayer makes the agent as each process does when it starts. Nothing of it is in a saved run.
func newPayer() *agent.Agent {
	return payer(
		scripted.Calls(scripted.Call("call_1", "pay", `{"amount":5,"to":"Ada"}`)),
		scripted.Say("Ada has her money."),
	)
}

// startInFile runs the agent as far as it gets and saves the run.
func startInFile(ctx context.Context, file string) error {
	var runner agent.Runner
	result, err := runner.Run(ctx, newPayer(), []agent.Item{agent.UserMessage("Pay Ada.")}, agent.RunOptions{})
	if err != nil {
		return err
	}
	saved, err := result.State.MarshalJSON()
	if err != nil {
		return err
	}
	return os.WriteFile(file, saved, 0o600) // it holds the conversation
}

// finishFromFile goes on with the run in the file, once somebody has said yes. The process that began it is gone: all
// that is shared is the file. A Journal that outlives processes would keep a file that is resumed twice from paying
// twice.
func finishFromFile(ctx context.Context, file string) (string, error) {
	saved, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	a := newPayer()
	state, err := agent.DecodeRunState(saved, a)
	if err != nil {
		return "", err
	}
	for _, question := range state.Undecided() {
		fmt.Println("approving", question.Call.Tool, string(question.Call.Arguments))
		if err := state.Approve(question, agent.ApproveOptions{}); err != nil {
			return "", err
		}
	}
	var runner agent.Runner
	result, err := runner.Resume(ctx, a, state, agent.RunOptions{})
	if err != nil {
		return "", err
	}
	return result.FinalOutput, nil
}

// A paused run is saved to a file, and another process goes on with it.
func ExampleDecodeRunState() {
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "run.json")

	ctx := context.Background()
	if err := startInFile(ctx, file); err != nil {
		panic(err)
	}
	answer, err := finishFromFile(ctx, file)
	if err != nil {
		panic(err)
	}
	fmt.Println(answer)
	// Output:
	// approving pay {"amount":5,"to":"Ada"}
	// Ada has her money.
}
