package agent_test

import (
	"context"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// cheese is a model that panics.
type cheese struct{}

func (cheese) Respond(context.Context, *agent.ModelRequest) (*agent.ModelResponse, error) {
	panic("out of cheese")
}

// panicOf returns what fn panics with, on the goroutine that calls it.
func panicOf(fn func()) (v any) {
	defer func() { v = recover() }()
	fn()
	return nil
}

// TestPanicInside has the model of an agent panic that an agent uses which is used as a tool. The panic is the
// caller's, who can recover from it, as from one of the run's own model.
func TestPanicInside(t *testing.T) {
	t.Parallel()
	clerk := &agent.Agent{Name: "clerk", Model: cheese{}}
	finance := &agent.Agent{Name: "finance", Tools: []agent.Tool{clerk.AsTool("clerk", "")}, Model: scripted.New(
		scripted.Calls(scripted.Call("n1", "clerk", `{"input":"x"}`)), scripted.Say("Inside."))}
	ops := &agent.Agent{Name: "ops",
		Tools: []agent.Tool{frozenTool("pay"), finance.AsTool("finance", "")}, Model: scripted.New(
			scripted.Calls(scripted.Call("c1", "pay", `{"amount":1}`), scripted.Call("c2", "finance", `{"input":"x"}`)),
			scripted.Say("Done."))}
	r := &agent.Runner{}
	for name, run := range map[string]func(){
		"Run": func() { _, _ = r.Run(t.Context(), ops, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{}) },
		"Stream": func() {
			r.Stream(t.Context(), ops, []agent.Item{agent.UserMessage("go")},
				agent.RunOptions{}).Events()(func(agent.Event) bool { return true })
		},
	} {
		if v := panicOf(run); v != "out of cheese" {
			t.Errorf("%s: recovered %v", name, v)
		}
	}
}
