package openaimodel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/history"
)

// counting is a server that numbers the calls of each answer anew, as some do: the first turns call look twice with the
// same arguments each, the last one answers.
type counting struct {
	turns int
	asked []string
}

func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	c.asked = append(c.asked, string(body))
	answer := `{"id":"c","choices":[{"finish_reason":"stop","message":{"content":"Done."}}]}`
	if len(c.asked) <= c.turns {
		call := `{"id":"call_%d","type":"function","function":{"name":"look","arguments":"{\"n\":%d}"}}`
		answer = `{"id":"c","choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[` +
			fmt.Sprintf(call, 0, 1) + "," + fmt.Sprintf(call, 1, 2) + "," + fmt.Sprintf(call, 1, 2) + `]}}]}`
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: req,
	}, nil
}

// TestCallsCountedAnew runs an agent on such a server: every turn's calls run, under ids that are used once, and a call
// that is there twice in one answer runs once.
func TestCallsCountedAnew(t *testing.T) {
	t.Parallel()
	server := &counting{turns: 3}
	ran := 0
	look := agent.NewTool("look", "", func(context.Context, struct {
		N int `json:"n"`
	}) (string, error) {
		ran++
		return "nothing", nil
	})
	a := &agent.Agent{Name: "ops", Model: newModel(t, server, chatAPI), Tools: []agent.Tool{look}}
	r := &agent.Runner{MaxParallelCalls: 1}
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for _, it := range res.NewItems {
		seen[it.CallID]++
	}
	delete(seen, "")
	if ran != 6 || len(seen) != 6 || res.FinalOutput != "Done." {
		t.Errorf("ran %d times, ids %v", ran, seen)
	}
	for id, n := range seen {
		if n != 2 || !strings.Contains(server.asked[3], `"`+id+`"`) {
			t.Errorf("call %q: %d items", id, n)
		}
	}
}

// TestCallsCountedAnewBesideHidden runs an agent on such a server whose earlier calls the model is not shown any more,
// because the history was shortened or a handoff's filter left them out: their ids are taken all the same.
func TestCallsCountedAnewBesideHidden(t *testing.T) {
	t.Parallel()
	newAgent := func(t *testing.T, name string, model agent.Model, ran *int) *agent.Agent {
		look := agent.NewTool("look", "", func(context.Context, struct {
			N int `json:"n"`
		}) (string, error) {
			*ran++
			return "nothing", nil
		})
		return &agent.Agent{Name: name, Model: model, Tools: []agent.Tool{look}}
	}
	t.Run("shortened", func(t *testing.T) {
		t.Parallel()
		ran := 0
		a := newAgent(t, "ops", newModel(t, &counting{turns: 4}, chatAPI), &ran)
		a.Shorten = history.KeepNewest(1)
		r := &agent.Runner{MaxParallelCalls: 1}
		_, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
		if err != nil || ran != 8 {
			t.Errorf("ran %d times, %v", ran, err)
		}
	})
	t.Run("filtered", func(t *testing.T) {
		t.Parallel()
		ran := 0
		model := newModel(t, &counting{turns: 1}, chatAPI)
		first := newAgent(t, "first", newModel(t, handingOver(&counting{turns: 1}), chatAPI), &ran)
		second := newAgent(t, "second", model, &ran)
		first.Handoffs = []agent.Handoff{{Agent: second, Name: "over", Filter: history.DropToolItems}}
		r := &agent.Runner{MaxParallelCalls: 1}
		_, err := r.Run(t.Context(), first, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
		if err != nil || ran != 4 {
			t.Errorf("ran %d times, %v", ran, err)
		}
	})
}

// handingOver is the server, except that the last answer hands over.
func handingOver(c *counting) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if len(c.asked) < c.turns {
			return c.RoundTrip(req)
		}
		return answer(http.StatusOK, `{"id":"c","choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[`+
			`{"id":"call_9","type":"function","function":{"name":"over","arguments":"{}"}}]}}]}`), nil
	})
}
