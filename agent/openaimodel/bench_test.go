package openaimodel_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"countersign/agent"
	"countersign/agent/openaimodel"
)

// The benchmarks compare a call through this package with a plain call of the client's, over a network in memory, so
// that what is measured is the client's side alone.

const benchSchema = `{"type":"object","properties":{"amount":{"type":"number"},"to":{"type":"string"},` +
	`"memo":{"type":"string"}},"required":["amount","to","memo"],"additionalProperties":false}`

func benchItems(b *testing.B) []agent.Item {
	b.Helper()
	var r struct {
		Output []json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal([]byte(recorded(b, "reasoning_and_calls.json")), &r); err != nil {
		b.Fatal(err)
	}
	items := []agent.Item{agent.UserMessage("pay both invoices")}
	for _, raw := range r.Output {
		it, err := agent.ParseItem(raw)
		if err != nil {
			b.Fatal(err)
		}
		items = append(items, it)
	}
	for _, it := range items {
		if it.Type == agent.ItemFunctionCall {
			items = append(items,
				agent.CallOutput(it.CallID, `{"reference":"TR-1","note":"`+strings.Repeat("x", 400)+`"}`))
		}
	}
	return items
}

func benchNetwork(b *testing.B, file string) *http.Client {
	body := recorded(b, file)
	return &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return answerFile(file, body), nil
	})}
}

func BenchmarkRespond(b *testing.B) {
	for _, file := range []string{"reasoning_and_calls.json", "calls.sse", "chat_calls.json", "chat_calls.sse"} {
		b.Run("ours/"+file, func(b *testing.B) {
			m := newModel(b, nil, func(c *openaimodel.Config) {
				apiOf(file)(c)
				c.HTTPClient, c.Streaming = benchNetwork(b, file), strings.HasSuffix(file, ".sse")
			})
			items := benchItems(b)
			if strings.HasPrefix(file, "chat_") { // the first answer is reasoning, which this API does not take
				items = slices.DeleteFunc(items, func(it agent.Item) bool { return it.Type == agent.ItemReasoning })
			}
			req := &agent.ModelRequest{Instructions: "You pay bills.", Items: items, Tools: []agent.ToolDefinition{
				{Name: "transfer_funds", Description: "Moves money.", Parameters: json.RawMessage(benchSchema)},
			}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Respond(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
		if strings.HasPrefix(file, "chat_") {
			continue
		}
		b.Run("plain/"+file, func(b *testing.B) {
			client := openai.NewClient(option.WithAPIKey(testKey), option.WithHTTPClient(benchNetwork(b, file)),
				option.WithMaxRetries(0))
			items := benchItems(b)
			var schema map[string]any
			_ = json.Unmarshal([]byte(benchSchema), &schema)
			b.ReportAllocs()
			for b.Loop() {
				params := plainParams(items, schema)
				if strings.HasSuffix(file, ".sse") {
					stream := client.Responses.NewStreaming(b.Context(), params)
					for stream.Next() {
					}
					if stream.Err() != nil {
						b.Fatal(stream.Err())
					}
				} else if _, err := client.Responses.New(b.Context(), params); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// plainParams is the same request in the client's own types, items overridden with their JSON.
func plainParams(items []agent.Item, schema map[string]any) responses.ResponseNewParams {
	input := make(responses.ResponseInputParam, len(items))
	for i, it := range items {
		input[i] = param.Override[responses.ResponseInputItemUnionParam](it.Wire())
	}
	return responses.ResponseNewParams{
		Model: "gpt-5.2", Store: openai.Bool(false), Instructions: openai.String("You pay bills."),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input:   responses.ResponseNewParamsInputUnion{OfInputItemList: input},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
			Name: "transfer_funds", Description: openai.String("Moves money."), Parameters: schema,
			Strict: openai.Bool(true),
		}}},
	}
}
