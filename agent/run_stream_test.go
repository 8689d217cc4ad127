package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
)

// slowModel says one word, thinks for an hour, says another word, and then returns both as its answer.
type slowModel struct {
	late    bool // it thinks before the first word
	stopped bool // nobody wanted the second word any more
}

func (*slowModel) Respond(context.Context, *agent.ModelRequest) (*agent.ModelResponse, error) {
	return nil, errors.New("asked for the whole answer at once")
}

func (m *slowModel) RespondStream(
	ctx context.Context, _ *agent.ModelRequest, emit func(agent.ModelDelta) bool,
) (*agent.ModelResponse, error) {
	if m.late {
		time.Sleep(time.Hour)
	}
	emit(agent.ModelDelta{Text: "Hello "})
	if !m.late {
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
		}
	}
	m.stopped = !emit(agent.ModelDelta{Text: "world."})
	return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("Hello world.")}}, ctx.Err()
}

// hitl J1: a piece of text reaches the consumer as soon as the model has it, while the rest is still to come, from an
// agent used as a tool as well. The control is a model that keeps its first word back.
func TestFirstDeltaComesAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		model *slowModel
		first time.Duration
	}{{"at once", &slowModel{}, 0}, {"control", &slowModel{late: true}, time.Hour}} {
		slow := &agent.Agent{Name: "slow", Model: tt.model}
		outer := &agent.Agent{Name: "ops", Tools: []agent.Tool{slow.AsTool("ask", "")}, Model: scripted.New(
			scripted.Calls(scripted.Call("c1", "ask", `{"input":"hello"}`)), scripted.Say(""),
		)}
		for _, a := range []*agent.Agent{slow, outer} {
			t.Run(tt.name+" "+a.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start, first := time.Now(), time.Duration(-1)
					var text string
					stream := new(agent.Runner).Stream(
						t.Context(), a, []agent.Item{agent.UserMessage("hello")}, agent.RunOptions{})
					for e := range stream.Events() {
						if d, ok := e.(agent.ModelText); ok {
							if text += d.Text; first < 0 {
								first = time.Since(start)
							}
						}
					}
					_, err := stream.Result()
					must(t, err)
					if first != tt.first || time.Since(start) != time.Hour || text != "Hello world." {
						t.Errorf("first word after %v, want %v; the end after %v, with %q",
							first, tt.first, time.Since(start), text)
					}
				})
			})
		}
	}
}

// hitl J6: a consumer that leaves while the model is writing cancels the model call, and Stream returns when it has
// ended.
func TestConsumerLeavesWhileTheModelWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := &slowModel{}
		start := time.Now()
		for e := range new(agent.Runner).Stream(t.Context(), &agent.Agent{Name: "slow", Model: model},
			[]agent.Item{agent.UserMessage("hello")}, agent.RunOptions{}).Events() {
			if _, ok := e.(agent.ModelText); ok {
				break
			}
		}
		if !model.stopped || time.Since(start) != 0 {
			t.Errorf("the model went on: stopped %v, after %v", model.stopped, time.Since(start))
		}
	})
}

// A consumer that panics, and a tool's hook that panics under a stream, leave no goroutine behind.
func TestStreamOfAPanickingConsumer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // fails when a goroutine stays
		defer func() {
			if recover() != "consumer" {
				t.Error("the consumer's panic did not come through")
			}
		}()
		for range new(agent.Runner).Stream(t.Context(), &agent.Agent{Name: "slow", Model: &slowModel{}},
			[]agent.Item{agent.UserMessage("hello")}, agent.RunOptions{}).Events() {
			panic("consumer")
		}
	})
}

// namelessModel answers in turn with responses that have the ids; an empty one is a response without.
type namelessModel struct {
	ids   []string
	asked []agent.ModelRequest
}

func (m *namelessModel) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	n := len(m.asked)
	m.asked = append(m.asked, *req)
	if n+1 == len(m.ids) {
		return &agent.ModelResponse{ID: m.ids[n], Items: []agent.Item{agent.AssistantMessage("Done.")}}, nil
	}
	call := scripted.Call("c"+string(rune('1'+n)), "look", `{}`)
	return &agent.ModelResponse{ID: m.ids[n], Items: []agent.Item{call}}, nil
}

// hitl K11: a chain goes on from the last response that has an id; what came after it is sent again.
func TestChainOverAResponseWithoutID(t *testing.T) {
	t.Parallel()
	model := &namelessModel{ids: []string{"r1", "", "r3", "r4"}}
	a := &agent.Agent{Name: "ops", Model: model, Tools: []agent.Tool{agent.NewTool("look", "", noop[struct{}])}}
	_, err := (&agent.Runner{}).Run(
		t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{Conversation: &agent.Conversation{}})
	must(t, err)
	want := []struct {
		previous string
		items    []agent.ItemType
	}{
		{"", []agent.ItemType{agent.ItemMessage}},
		{"r1", []agent.ItemType{agent.ItemFunctionCallOutput}},
		{"r1", []agent.ItemType{agent.ItemFunctionCallOutput, agent.ItemFunctionCall, agent.ItemFunctionCallOutput}},
		{"r3", []agent.ItemType{agent.ItemFunctionCallOutput}},
	}
	for n, req := range model.asked {
		same := req.PreviousResponseID == want[n].previous && len(req.Items) == len(want[n].items)
		for i := range req.Items {
			same = same && req.Items[i].Type == want[n].items[i]
		}
		if !same {
			t.Errorf("request %d: previous %q, %s", n, req.PreviousResponseID, describe(req.Items))
		}
	}
}

// The result of a stream is that of its run, whether its events were read or not; it is not there meanwhile, and the
// events are there once.
func TestStreamResult(t *testing.T) {
	t.Parallel()
	a := &agent.Agent{Name: "ops", Model: scripted.New(scripted.Say("Hello."))}
	hello := []agent.Item{agent.UserMessage("hello")}
	unread := new(agent.Runner).Stream(t.Context(), a, hello, agent.RunOptions{})
	for range 2 {
		if res, err := unread.Result(); err != nil || res.FinalOutput != "Hello." {
			t.Fatalf("got %+v, %v", res, err)
		}
	}
	for e := range unread.Events() {
		t.Errorf("an event after the end: %+v", e)
	}
	read := new(agent.Runner).Stream(t.Context(), a, hello, agent.RunOptions{})
	events := 0
	for range read.Events() {
		events++
		if _, err := read.Result(); !errors.Is(err, agent.ErrConfig) {
			t.Errorf("a result before the end: %v", err)
		}
	}
	if res, err := read.Result(); err != nil || res.FinalOutput != "Hello." || events == 0 {
		t.Errorf("got %+v, %v after %d events", res, err, events)
	}
	left := new(agent.Runner).Stream(t.Context(), a, hello, agent.RunOptions{})
	for range left.Events() {
		break
	}
	if res, err := left.Result(); !errors.Is(err, context.Canceled) || res == nil || res.State.Finished() {
		t.Errorf("a consumer that left: got %+v, %v", res, err)
	}
}
