package openaimodel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
)

// BenchmarkEncode writes requests of growing conversations. The cost per byte must not grow with their length.
func BenchmarkEncode(b *testing.B) {
	schema := json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"},"to":{"type":"string"}},` +
		`"required":["amount","to"],"additionalProperties":false}`)
	for _, n := range []int{10, 100, 1000} {
		req := &agent.ModelRequest{
			Instructions: "You pay bills.", Items: benchConversation(b, n),
			Tools: []agent.ToolDefinition{{Name: "transfer_funds", Description: "Moves money.", Parameters: schema}},
		}
		for _, api := range []protocol{&responsesAPI{model: "m"}, &chat{model: "m"}} {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(api.name(), " ", ""), n), func(b *testing.B) {
				body, err := api.encode(req, false)
				if err != nil || !json.Valid(body) {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := api.encode(req, false); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// benchConversation is n items: what the user, a model and a tool say in turn, the model's in the provider's JSON.
func benchConversation(b *testing.B, n int) []agent.Item {
	b.Helper()
	output := `{"reference":"TR-1","note":"` + strings.Repeat("x", 400) + `"}`
	items := []agent.Item{agent.UserMessage("pay the invoices")}
	for i := 0; len(items) < n; i++ {
		for _, raw := range []string{
			`{"id":"msg_%[1]d","type":"message","status":"completed","role":"assistant",` +
				`"content":[{"type":"output_text","annotations":[],"text":"I pay the next one."}]}`,
			`{"id":"fc_%[1]d","type":"function_call","status":"completed","call_id":"call_%[1]d",` +
				`"name":"transfer_funds","arguments":"{\"amount\":1250.5,\"to\":\"Acme\"}"}`,
		} {
			it, err := agent.ParseItem(fmt.Appendf(nil, raw, i))
			if err != nil {
				b.Fatal(err)
			}
			items = append(items, it)
		}
		items = append(items, agent.CallOutput(fmt.Sprintf("call_%d", i), output))
	}
	return items
}
