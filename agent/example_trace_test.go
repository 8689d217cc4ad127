package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/agent/trace"
)

// printer is a Tracer that prints when something begins and ends.
type printer struct{}

type printed struct{ what string }

func (printer) StartSpan(ctx context.Context, s trace.Start) (context.Context, trace.Span) {
	what := strings.TrimSpace(string(s.Kind) + " " + s.Name) // not every model has a name
	fmt.Println("begin", what)
	return ctx, printed{what}
}

func (p printed) Link() string { return "" }

func (p printed) End(class string, _ ...slog.Attr) {
	if class != "" {
		class = ": " + class
	}
	fmt.Println("end " + p.what + class)
}

func ExampleTracer() {
	divide := agent.NewTool("divide", "Divide A by B.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A / in.B, nil
	})
	calculator := &agent.Agent{Name: "calculator", Tools: []agent.Tool{divide}, Model: scripted.New(
		scripted.Calls(scripted.Call("call_1", "divide", `{"A":2,"B":0}`)), scripted.Say("That cannot be done.")),
	}
	runner := &agent.Runner{Tracer: printer{}}
	input := []agent.Item{agent.UserMessage("2 / 0?")}
	if _, err := runner.Run(context.Background(), calculator, input, agent.RunOptions{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// begin run calculator
	// begin turn calculator
	// begin model
	// end model
	// begin tool divide
	// end tool divide: panic
	// end turn calculator
	// begin turn calculator
	// begin model
	// end model
	// end turn calculator
	// end run calculator
}
