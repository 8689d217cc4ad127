package openaimodel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/internal/openaidev"
)

const novelty = `{ "type":"telepathy_call",  "id":"tp_1", "n":1.50e+02, "esc":"\u00fc\/" }`

// A conversation with reasoning, an item of an unknown type and parallel calls goes on after it was saved and read
// back, on a server that refuses any of it when it was changed, and that keeps nothing itself.
func TestConversationSurvivesAPause(t *testing.T) {
	t.Parallel()
	s := serve(t, openaidev.Script{Rules: []openaidev.Rule{
		{User: "pay", Reply: openaidev.Reply{
			Reasoning: "two of them", Raw: []json.RawMessage{json.RawMessage(novelty)},
			Calls: []openaidev.Call{{Name: "pay", Arguments: `{"n": 1}`}, {Name: "pay", Arguments: `{"n": 2}`}},
		}},
		{User: "pay", Round: 1, Output: "^paid", Func: func(t *openaidev.Turn) openaidev.Reply {
			return openaidev.Reply{Text: fmt.Sprintf("%d paid", len(t.Outputs))}
		}},
	}})
	for _, streaming := range []bool{false, true} {
		ask := func(items []agent.Item) []agent.Item {
			t.Helper()
			m := modelOf(t, s, func(c *openaimodel.Config) { c.Streaming = streaming }) // a new process each time
			res, err := m.Respond(t.Context(), &agent.ModelRequest{
				Items: items,
				Tools: []agent.ToolDefinition{{Name: "pay", Parameters: json.RawMessage(`{"type":"object",` +
					`"properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return append(items, res.Items...)
		}
		items := ask([]agent.Item{agent.UserMessage("pay both")})
		if len(items) != 5 || items[1].Type != agent.ItemReasoning || items[2].Type != "telepathy_call" ||
			items[3].CallID == items[4].CallID {
			t.Fatalf("items %+v", items)
		}
		for i := 3; i < 5; i++ {
			items = append(items, agent.CallOutput(items[i].CallID, fmt.Sprintf("paid %s", items[i].Arguments)))
		}
		saved, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		items = nil
		if err := json.Unmarshal(saved, &items); err != nil {
			t.Fatal(err)
		}
		items = ask(items)
		if last := items[len(items)-1]; last.Text != "2 paid" {
			t.Errorf("last item %+v", last)
		}
		requests := s.Requests()
		if body := string(requests[len(requests)-1].Body); !strings.Contains(body, compacted(novelty)) {
			t.Errorf("the unknown item came back changed: %s", body)
		}
	}
}

// compacted is the item as the server sends it: without the space that its encoder leaves out.
func compacted(s string) string {
	b, _ := json.Marshal(json.RawMessage(s))
	return string(b)
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := serve(t, openaidev.Script{Rules: []openaidev.Rule{{User: `\d+`, Reply: openaidev.Reply{Text: "$0"}}}})
	m := modelOf(t, s, nil)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			respond := m.Respond
			if i%2 == 0 {
				respond = func(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
					return m.RespondStream(ctx, req, func(agent.ModelDelta) bool { return false })
				}
			}
			res, err := respond(t.Context(), &agent.ModelRequest{
				Items: []agent.Item{agent.UserMessage(fmt.Sprint(i))},
				Tools: []agent.ToolDefinition{{Name: fmt.Sprintf("t%d", i%7)}},
			})
			if err != nil || len(res.Items) != 1 || res.Items[0].Text != fmt.Sprint(i) {
				t.Errorf("%d: %+v %v", i, res, err)
			}
		})
	}
	wg.Wait()
}
