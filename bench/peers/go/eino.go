package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
)

// transferInput are the arguments of the tool that a cycle asks about.
type transferInput struct {
	Amount float64 `json:"amount" jsonschema:"required"`
	To     string  `json:"to" jsonschema:"required"`
}

// chatModel is eino's client of OpenAI. It speaks Chat Completions only. Its connection pool is as large as ours: with
// the default one nearly every call at 64 at once opens a connection.
func chatModel(ctx context.Context, url string) (model.ToolCallingChatModel, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 128
	return openai.NewChatModel(ctx, &openai.ChatModelConfig{
		APIKey: "bench", BaseURL: url, Model: "bench-model", HTTPClient: &http.Client{Transport: t},
	})
}

func newRunner(
	ctx context.Context, m model.ToolCallingChatModel, store adk.CheckPointStore, turns int, tools ...tool.BaseTool,
) (*adk.Runner, error) {
	a, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "bench", Description: "Moves money.", Instruction: "You move money.", Model: m, MaxIterations: turns,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: a, CheckPointStore: store}), nil
}

// cycles prints the figures of runs that pause, are saved durably, loaded, approved and resumed.
func cycles(ctx context.Context, kind, url, dir string, total, width int) error {
	store, err := openStore(kind, dir, width)
	if err != nil {
		return err
	}
	defer store.Close()
	m, err := chatModel(ctx, url)
	if err != nil {
		return err
	}
	var effects atomic.Int64
	transfer, err := utils.InferTool("transfer", "Move money between two accounts.",
		func(ctx context.Context, _ transferInput) (string, error) {
			if asked, _, _ := tool.GetInterruptState[any](ctx); !asked {
				return "", tool.Interrupt(ctx, "approve the transfer?")
			}
			if target, answered, approved := tool.GetResumeContext[bool](ctx); !target || !answered || !approved {
				return "", tool.Interrupt(ctx, "approve the transfer?")
			}
			effects.Add(1)
			return "transferred", nil
		})
	if err != nil {
		return err
	}
	r, err := newRunner(ctx, m, store, 0, transfer)
	if err != nil {
		return err
	}
	f, err := measure(ctx, "eino, "+kind, total, width, func(ctx context.Context, i int) error {
		id := "run_" + strconv.Itoa(i)
		asked, _, err := drain(r.Query(ctx, "transfer 250 to acme", adk.WithCheckPointID(id)))
		if err != nil {
			return err
		}
		if asked == "" {
			return fmt.Errorf("run %d did not pause", i)
		}
		resumed, err := r.ResumeWithParams(ctx, id, &adk.ResumeParams{Targets: map[string]any{asked: true}})
		if err != nil {
			return err
		}
		if asked, answer, err := drain(resumed); err != nil || asked != "" || answer == "" {
			return errors.Join(err, fmt.Errorf("run %d did not end: asks %q, answers %q", i, asked, answer))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n := int(effects.Load()); n != total+min(2*width, 64) {
		return fmt.Errorf("%d effects of %d cycles and the warm-up", n, total)
	}
	return printLine(f)
}

// plain prints the figures of runs with one tool call that nobody is asked about.
func plain(ctx context.Context, url string, total, width int) error {
	m, err := chatModel(ctx, url)
	if err != nil {
		return err
	}
	var effects atomic.Int64
	transfer, err := utils.InferTool("transfer", "Move money between two accounts.",
		func(context.Context, transferInput) (string, error) {
			effects.Add(1)
			return "transferred", nil
		})
	if err != nil {
		return err
	}
	r, err := newRunner(ctx, m, nil, 0, transfer)
	if err != nil {
		return err
	}
	f, err := measure(ctx, "eino, Chat Completions", total, width, func(ctx context.Context, i int) error {
		asked, answer, err := drain(r.Query(ctx, "transfer 250 to acme"))
		if err != nil || asked != "" || answer == "" {
			return errors.Join(err, fmt.Errorf("run %d did not end: asks %q, answers %q", i, asked, answer))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n := int(effects.Load()); n != total+min(2*width, 64) {
		return fmt.Errorf("%d effects of %d runs and the warm-up", n, total)
	}
	return printLine(f)
}

// drain reads a run to its end or pause: the id of the question, if it asks one, and what was said last.
func drain(events *adk.AsyncIterator[*adk.AgentEvent]) (asked, answer string, err error) {
	for {
		e, ok := events.Next()
		if !ok {
			return asked, answer, err
		}
		if e.Err != nil {
			err = errors.Join(err, e.Err)
		}
		if e.Action != nil && e.Action.Interrupted != nil {
			for _, c := range e.Action.Interrupted.InterruptContexts {
				if c.IsRootCause {
					asked = c.ID
				}
			}
		}
		if e.Output != nil && e.Output.MessageOutput != nil && e.Output.MessageOutput.Message != nil {
			answer = e.Output.MessageOutput.Message.Content
		}
	}
}
