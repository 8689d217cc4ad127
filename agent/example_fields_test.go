package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent"
	"countersign/agent/scripted"
)

// The model proposes a date, and only a person says who pays. What they make of the call is what runs.
func ExampleTool_proposed() {
	type booking struct {
		Hotel string `json:"hotel"`
		Date  string `json:"date"`
		Payer string `json:"payer"`
	}
	book := agent.NewTool("book", "Book a hotel.", func(_ context.Context, in booking) (string, error) {
		return fmt.Sprintf("%s, %s, paid by %s", in.Hotel, in.Date, in.Payer), nil
	})
	book.Proposed, book.Fields = []string{"date"}, []string{"payer"}
	planner := &agent.Agent{Name: "planner", Tools: []agent.Tool{book}, Model: scripted.New(
		scripted.Calls(scripted.Call("call_1", "book", `{"hotel":"Ritz","date":"2027-05-01"}`)),
		scripted.Say("Booked."),
	)}

	ctx := context.Background()
	var runner agent.Runner
	result, err := runner.Run(ctx, planner, []agent.Item{agent.UserMessage("Book me a room.")}, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	for _, question := range result.Interruptions {
		for _, field := range question.Fields {
			fmt.Printf("%s, a %s, proposed: %q\n", field.Name, field.Type, field.Proposal)
		}
		answer := json.RawMessage(`{"date":"2027-05-02","payer":"Ada"}`)
		if err := result.State.Approve(question, agent.ApproveOptions{Fields: answer}); err != nil {
			panic(err)
		}
	}
	result, err = runner.Resume(ctx, planner, result.State, agent.RunOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println("the model reads:", result.NewItems[0].Output)
	// Output:
	// date, a string, proposed: "\"2027-05-01\""
	// payer, a string, proposed: ""
	// the model reads: A person changed the arguments of this call to {"date":"2027-05-02","hotel":"Ritz","payer":"Ada"}.
	// Ritz, 2027-05-02, paid by Ada
}

// A run that has used up its turns ends with an answer instead of an error, and the result says so.
func ExampleRunOptions_onError() {
	a := payer(
		scripted.Calls(scripted.Call("call_1", "pay", `{"amount":5,"to":"Ada"}`)),
	)
	options := agent.RunOptions{MaxTurns: 1, OnError: func(_ context.Context, f *agent.Failure) (*agent.Fallback, error) {
		if errors.Is(f.Err, agent.ErrMaxTurns) {
			return &agent.Fallback{Text: "That is too much for one request. Please ask for less."}, nil
		}
		return nil, nil // ends the run as it would have
	}}
	var runner agent.Runner
	result, err := runner.Run(context.Background(), a, []agent.Item{agent.UserMessage("Pay everybody.")}, options)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.FinalOutput)
	fmt.Println("instead of:", result.Handled)
	// Output:
	// That is too much for one request. Please ask for less.
	// instead of: max turns exceeded
}
