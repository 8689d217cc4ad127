package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// caller is a model that calls the tool "look" until the conversation is long enough, and then "transfer".
type caller struct{ items int }

// Generate implements [model.ToolCallingChatModel].
func (c caller) Generate(_ context.Context, said []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	name := "look"
	if len(said) >= c.items { // of them one is the instruction
		name = "transfer"
	}
	call := schema.ToolCall{
		ID: "call_" + strconv.Itoa(len(said)), Type: "function",
		Function: schema.FunctionCall{Name: name, Arguments: "{}"},
	}
	return schema.AssistantMessage("", []schema.ToolCall{call}), nil
}

// Stream implements [model.ToolCallingChatModel].
func (c caller) Stream(
	ctx context.Context, said []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m, err := c.Generate(ctx, said, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

// WithTools implements [model.ToolCallingChatModel].
func (c caller) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return c, nil }

// stopwatch is a store in memory that knows when the tool paused, when the checkpoint arrived and when the tool was
// called again: eino encodes and decodes inside a run, with nothing to call from outside.
type stopwatch struct {
	mu            sync.Mutex
	data          []byte
	paused, saved time.Time
	reached       time.Time
}

// Get implements [adk.CheckPointStore].
func (s *stopwatch) Get(context.Context, string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data, s.data != nil, nil
}

// Set implements [adk.CheckPointStore].
func (s *stopwatch) Set(_ context.Context, _ string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.saved = data, time.Now()
	return nil
}

// interrupt pauses a run where it is called. Nobody ever answers, so one long run is saved and loaded as often as we
// like.
func (s *stopwatch) interrupt(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = time.Now()
	err := tool.Interrupt(ctx, "go on?")
	s.paused = time.Now()
	return err
}

// states prints how long eino takes to save and to load a paused run, at several lengths of the conversation: of its
// agent (adk), whose checkpoint holds the graph's state and the events of the run, and of the smallest graph whose
// state is the conversation and nothing else, the best it can do. What a graph does between node and store counts too.
func states(ctx context.Context, lengths []int) error {
	schema.RegisterName[*conversation]("bench_conversation")
	for _, items := range lengths {
		for _, c := range []struct {
			name string
			make func(context.Context, int, *stopwatch) (func(context.Context) error, error)
		}{{"eino, agent", agentPause}, {"eino, graph", graphPause}} {
			watch := new(stopwatch)
			pause, err := c.make(ctx, items, watch)
			if err != nil {
				return err
			}
			if err := printState(ctx, c.name, items, watch, pause); err != nil {
				return fmt.Errorf("%s of %d items: %w", c.name, items, err)
			}
		}
	}
	return nil
}

// printState prints the mean times of a pause that loads what the one before has saved.
func printState(
	ctx context.Context, name string, items int, watch *stopwatch, pause func(context.Context) error,
) error {
	if err := pause(ctx); err != nil { // from the start
		return err
	}
	first := len(watch.data)
	var save, load time.Duration
	reps := max(3, 2000/items)
	for n := range 1 + reps { // the first warms up
		start := time.Now()
		if err := pause(ctx); err != nil {
			return err
		}
		if n > 0 {
			load += watch.reached.Sub(start)
			save += watch.saved.Sub(watch.paused)
		}
	}
	if first < 500*(items/2-1) || len(watch.data) > first+first/10 {
		return fmt.Errorf("the checkpoint has %d bytes at first and %d in the end", first, len(watch.data))
	}
	mean := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / float64(reps) }
	return printLine(struct {
		Name   string  `json:"name"`
		Items  int     `json:"items"`
		Encode float64 `json:"encode_ms"`
		Decode float64 `json:"decode_ms"`
		Bytes  int     `json:"bytes"`
	}{name, items, mean(save), mean(load), len(watch.data)})
}

var filler = strings.Repeat("x", 500)

// agentPause returns what runs an agent up to the pause the first time and resumes it up to the same pause afterwards.
func agentPause(ctx context.Context, items int, watch *stopwatch) (func(context.Context) error, error) {
	look, err := utils.InferTool("look", "Look.", func(context.Context, struct{}) (string, error) {
		return filler, nil
	})
	if err != nil {
		return nil, err
	}
	transfer, err := utils.InferTool("transfer", "Transfer.", func(ctx context.Context, _ struct{}) (string, error) {
		return "", watch.interrupt(ctx)
	})
	if err != nil {
		return nil, err
	}
	r, err := newRunner(ctx, caller{items}, watch, items, look, transfer)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		var err error
		var it *adk.AsyncIterator[*adk.AgentEvent]
		if watch.data == nil {
			it = r.Query(ctx, "go", adk.WithCheckPointID("run"))
		} else if it, err = r.Resume(ctx, "run"); err != nil {
			return err
		}
		asked, _, err := drain(it)
		if err == nil && asked == "" {
			err = errors.New("the run did not pause")
		}
		return err
	}, nil
}

// conversation is the state of the graph.
type conversation struct{ Messages []*schema.Message }

// graphPause returns what runs a graph of one node up to a pause in it, with a conversation made up beforehand.
func graphPause(ctx context.Context, items int, watch *stopwatch) (func(context.Context) error, error) {
	messages := []*schema.Message{schema.UserMessage("go")}
	for len(messages) < items {
		call, err := caller{items}.Generate(ctx, messages)
		if err != nil {
			return nil, err
		}
		messages = append(messages, call, schema.ToolMessage(filler, call.ToolCalls[0].ID))
	}
	g := compose.NewGraph[string, string](compose.WithGenLocalState(func(context.Context) *conversation {
		return &conversation{messages}
	}))
	err := g.AddLambdaNode("ask", compose.InvokableLambda(func(ctx context.Context, in string) (string, error) {
		err := compose.ProcessState(ctx, func(_ context.Context, c *conversation) error {
			if len(c.Messages) != len(messages) {
				return fmt.Errorf("%d messages came back, not %d", len(c.Messages), len(messages))
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		return "", watch.interrupt(ctx)
	}))
	if err = errors.Join(err, g.AddEdge(compose.START, "ask"), g.AddEdge("ask", compose.END)); err != nil {
		return nil, err
	}
	r, err := g.Compile(ctx, compose.WithCheckPointStore(watch))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := r.Invoke(ctx, "go", compose.WithCheckPointID("run"))
		if _, paused := compose.ExtractInterruptInfo(err); paused {
			return nil
		}
		return errors.Join(err, errors.New("the graph did not pause"))
	}, nil
}
