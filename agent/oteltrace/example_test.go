package oteltrace_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"countersign/agent"
	"countersign/agent/oteltrace"
	"countersign/agent/scripted"
)

// A program would give the provider an exporter that sends the spans somewhere, in batches.
func Example() {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))

	add := agent.NewTool("add", "Add two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	})
	calculator := &agent.Agent{Name: "calculator", Tools: []agent.Tool{add}, Model: scripted.New(
		scripted.Calls(scripted.Call("call_1", "add", `{"A":2,"B":3}`)), scripted.Say("5")),
	}
	runner := &agent.Runner{Tracer: oteltrace.New(provider)}
	input := []agent.Item{agent.UserMessage("2 + 3?")}
	if _, err := runner.Run(context.Background(), calculator, input, agent.RunOptions{}); err != nil {
		fmt.Println(err)
	}
	for _, span := range exporter.GetSpans() { // in the order in which they ended
		fmt.Println(span.Name)
	}
	// Output:
	// chat
	// execute_tool add
	// turn
	// chat
	// turn
	// invoke_agent calculator
}
