package openaimodel_test

import (
	"context"
	"fmt"
	"log"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/internal/openaidev"
)

func Example() {
	// Any server that speaks the Responses API will do; without BaseURL it is OpenAI's.
	server, err := openaidev.Start(openaidev.Config{Script: openaidev.Script{Rules: []openaidev.Rule{
		{User: "capital of (\\w+)", Reply: openaidev.Reply{Text: "Paris is the capital of $1."}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	model, err := openaimodel.New(openaimodel.Config{Model: "gpt-5.2", BaseURL: server.URL(), APIKey: "sk-local"})
	if err != nil {
		log.Fatal(err)
	}
	res, err := model.Respond(context.Background(), &agent.ModelRequest{
		Instructions: "You know geography.",
		Items:        []agent.Item{agent.UserMessage("What is the capital of France?")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Items[0].Text)
	// Output: Paris is the capital of France.
}
