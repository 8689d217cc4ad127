package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// longState returns a run that waits after n items, with outputs of about 500 bytes.
func longState(tb testing.TB, n int) (*agent.Agent, *agent.RunState) {
	tb.Helper()
	output := strings.Repeat("Balance of account 4711 is 12.50 €; \"ok\".\n", 11)
	look := agent.NewTool(
		"look", "Look something up.", func(context.Context, amountArgs) (string, error) { return output, nil })
	pay := agent.NewTool("pay", "Pay.", func(context.Context, amountArgs) (string, error) { return "paid", nil })
	pay.NeedsApproval = agent.AlwaysAsk
	var steps []scripted.Step
	for i := 0; 2*i+2 < n; i++ {
		steps = append(steps,
			scripted.Calls(scripted.Call(fmt.Sprintf("call_%d", i), "look", `{"amount":12.5,"to":"somebody"}`)))
	}
	steps = append(steps,
		scripted.Calls(scripted.Call("call_pay", "pay", `{"amount":5,"to":"me"}`)), scripted.Say("Done."))
	a := &agent.Agent{Name: "ops", Model: scripted.New(steps...), Tools: []agent.Tool{look, pay}}
	res, err := (&agent.Runner{}).Run(
		tb.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{MaxTurns: -1})
	if err != nil || len(res.Interruptions) != 1 {
		tb.Fatal(res, err)
	}
	return a, res.State
}

func BenchmarkState(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 5000} {
		a, s := longState(b, n)
		data, err := s.MarshalJSON()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("encode/items=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := s.MarshalJSON(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("decode/items=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := agent.DecodeRunState(data, a); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("delta/items=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Delta(len(s.Items()) - 1); err != nil {
					b.Fatal(err)
				}
			}
		})
		// What bare encoding/json needs for the same bytes, for comparison.
		var tree any
		b.Run(fmt.Sprintf("json-unmarshal/items=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := json.Unmarshal(data, &tree); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("json-marshal/items=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := json.Marshal(tree); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCycle is run, interrupt, save, load, approve, resume, answer.
func BenchmarkCycle(b *testing.B) {
	pay := agent.NewTool("pay", "Pay.", func(context.Context, amountArgs) (string, error) { return "paid", nil })
	pay.NeedsApproval = agent.AlwaysAsk
	a := &agent.Agent{
		Name: "ops", Tools: []agent.Tool{pay},
		Model: scripted.New(
			scripted.Calls(scripted.Call("call_1", "pay", `{"amount":5,"to":"me"}`)), scripted.Say("Done.")),
	}
	var r agent.Runner
	b.ReportAllocs()
	for b.Loop() {
		res, err := r.Run(b.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
		if err != nil {
			b.Fatal(err)
		}
		data, err := res.State.MarshalJSON()
		if err != nil {
			b.Fatal(err)
		}
		s, err := agent.DecodeRunState(data, a)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Approve(s.Interruptions()[0], agent.ApproveOptions{}); err != nil {
			b.Fatal(err)
		}
		if res, err = r.Resume(b.Context(), a, s, agent.RunOptions{}); err != nil || res.FinalOutput != "Done." {
			b.Fatal(res, err)
		}
	}
}
