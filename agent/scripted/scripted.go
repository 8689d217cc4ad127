// Package scripted is a model that plays a script: for tests, demonstrations and benchmarks, with no network and no
// dependency beyond the standard library.
//
// A script is a list of steps, one per model call. In Go:
//
//	model := scripted.New(
//		scripted.Calls(scripted.Call("call_1", "transfer", `{"amount":5}`)),
//		scripted.Say("Done."),
//	)
//
// As text, for [Parse]: each line of a step is a verb and its argument; empty lines and lines that begin with # mean
// nothing. The first step of that script is
//
//	reasoning I need to pay.
//	call call_1 transfer {"amount":5}
//
// and the second
//
//	expect paid 5
//	say Done.
//	usage 120 8
//
// The verbs:
//
//	say TEXT          a message; several lines make one message of several lines
//	reasoning TEXT    a reasoning item
//	call ID TOOL ARGS a function call; ARGS is the rest of the line, as it is
//	raw JSON          any item in the provider's form
//	usage IN OUT      tokens that the step costs
//	fail TEXT         the step is an error, once; the next call continues after it
//	expect TEXT       the newest item of the request must contain the text
//
// A Model keeps no conversation: it finds its place from the request, by the ids of the items it produced earlier. One
// Model therefore serves many runs at once, across saving, loading and restarts, and a session's next run continues
// the script. Two things follow. A step needs at least one item that survives in the conversation: one made only of
// repeated calls, which the runner drops, is played again. And a failing step leaves no trace in a conversation, so
// the Model itself remembers that it has failed, for all runs together. Where a request leaves the conversation to the
// provider, the place follows from the previous response's id, or is remembered under the conversation's id.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"countersign/agent"
)

// Step is what the model does in one turn.
type Step struct {
	Items []agent.Item // an item with Raw is played as it is; others get an id
	Usage agent.Usage
	// Err, if set, is returned instead of the items, the first time the step is reached.
	Err error
	// Check looks at the request before the step is played; its error is the model's.
	Check func(*agent.ModelRequest) error
}

// Call returns the item of a function call.
func Call(id, tool, arguments string) agent.Item {
	return agent.Item{Type: agent.ItemFunctionCall, CallID: id, Name: tool, Arguments: arguments}
}

// Say is the step of answering with the text.
func Say(text string) Step { return Step{Items: []agent.Item{agent.AssistantMessage(text)}} }

// Calls is the step of making calls.
func Calls(calls ...agent.Item) Step { return Step{Items: calls} }

// Fail is the step of failing once.
func Fail(err error) Step { return Step{Err: err} }

// Model plays a script. It is safe for concurrent use.
type Model struct {
	steps []Step

	mu            sync.Mutex
	failed        map[int]bool
	conversations map[string]int // next step of the conversations that requests name
	requests      []agent.ModelRequest
}

var _ agent.StreamModel = (*Model)(nil)

// New returns a model that plays the steps.
func New(steps ...Step) *Model {
	m := &Model{failed: make(map[int]bool), conversations: make(map[string]int)}
	for n, step := range steps {
		step.Items = slices.Clone(step.Items)
		for k := range step.Items {
			mark(&step.Items[k], n, k)
		}
		m.steps = append(m.steps, step)
	}
	return m
}

const idPrefix = "scripted_"

// mark gives an item the id by which the model finds its place again, and the verbatim JSON a provider would give it.
func mark(it *agent.Item, step, item int) {
	if it.Raw != nil {
		return
	}
	it.ID = fmt.Sprintf("%s%d_%d", idPrefix, step, item)
	it.Raw = it.Wire()
}

// Respond implements agent.Model.
func (m *Model) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.record(req)
	n := m.skipFailed(m.next(req))
	if n >= len(m.steps) {
		return nil, fmt.Errorf("scripted: the script has %d steps, and step %d is asked for", len(m.steps), n+1)
	}
	step := m.steps[n]
	if step.Check != nil {
		if err := step.Check(req); err != nil {
			return nil, fmt.Errorf("scripted: step %d: %w", n+1, err)
		}
	}
	if step.Err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.failed[n] = true
		return nil, step.Err
	}
	usage := step.Usage
	usage.Requests = 1
	if req.Conversation != "" {
		m.mu.Lock()
		m.conversations[req.Conversation] = n + 1
		m.mu.Unlock()
	}
	return &agent.ModelResponse{ID: "resp_" + strconv.Itoa(n+1), Items: slices.Clone(step.Items), Usage: usage}, nil
}

// RespondStream implements agent.StreamModel: texts come word by word.
func (m *Model) RespondStream(
	ctx context.Context, req *agent.ModelRequest, emit func(agent.ModelDelta) bool,
) (*agent.ModelResponse, error) {
	resp, err := m.Respond(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, it := range resp.Items {
		for word := range strings.SplitAfterSeq(it.Text, " ") {
			d := agent.ModelDelta{ItemID: it.ID}
			switch it.Type {
			case agent.ItemMessage:
				d.Text = word
			case agent.ItemReasoning:
				d.Reasoning = word
			}
			if d.Text+d.Reasoning != "" && !emit(d) {
				return resp, nil
			}
		}
	}
	return resp, nil
}

// next returns the step after the newest one that the request shows.
func (m *Model) next(req *agent.ModelRequest) int {
	if req.Conversation != "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.conversations[req.Conversation]
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(req.PreviousResponseID, "resp_")); err == nil && n > 0 {
		return n
	}
	for _, it := range slices.Backward(req.Items) {
		rest, ok := strings.CutPrefix(it.ID, idPrefix)
		if !ok {
			continue
		}
		step, _, _ := strings.Cut(rest, "_")
		if n, err := strconv.Atoi(step); err == nil && n >= 0 {
			return n + 1
		}
	}
	return 0
}

func (m *Model) skipFailed(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n < len(m.steps) && m.failed[n] {
		n++
	}
	return n
}

// expect returns a check that the newest item of the request contains the text.
func expect(text string) func(*agent.ModelRequest) error {
	return func(req *agent.ModelRequest) error {
		if len(req.Items) == 0 {
			return fmt.Errorf("expected %q, and the request is empty", text)
		}
		last := req.Items[len(req.Items)-1]
		if !strings.Contains(last.Text+last.Output, text) {
			return fmt.Errorf("expected %q in the newest item, which is %s", text, last.Wire())
		}
		return nil
	}
}

func rawItem(text string) (agent.Item, error) {
	return agent.ParseItem(json.RawMessage(text))
}
