package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/agent/guardrail"
	"countersign/agent/internal/strictjson"
)

// conclude checks an answer and ends the conversation with it.
func (l *loop) conclude(ctx context.Context) error {
	answer := *l.frame.answer
	if l.OnError != nil && l.frame.refused() {
		cause := &failed{failedRefusal, answer, fmt.Errorf("%w: %s", ErrRefusal, excerptLong(answer))}
		if err := l.fallBack(ctx, cause); err != error(cause) {
			return err
		}
	}
	if err := l.guardAnswer(ctx, answer); err != nil {
		return err
	}
	return l.end(ctx, answer)
}

// guardAnswer checks an answer.
func (l *loop) guardAnswer(ctx context.Context, answer string) error {
	if o := l.agent.Output; o != nil {
		if err := l.safely(ctx, "output schema", l.agent.Name, func() error { return o.check(answer) }); err != nil {
			wrong := fmt.Errorf("%w: the answer of agent %q: %w", ErrModelBehavior, l.agent.Name, err)
			if errors.Is(err, errPanic) {
				return wrong // the fault is not the answer's
			}
			return &failed{failedOutput, answer, wrong}
		}
	}
	for _, g := range l.agent.OutputGuardrails {
		in := guardrail.Result{Stage: guardrail.Output, Guardrail: g.Name}
		check := func(ctx context.Context) (guardrail.Verdict, error) { return g.Check(ctx, l.agent, answer) }
		if err := l.guardAgent(ctx, in, check); err != nil {
			return err
		}
	}
	return nil
}

var errNotJSONObject = errors.New("it is not a JSON object")

// check reports whether the answer is what the schema asks for, as far as that is known here.
func (o *OutputSchema) check(answer string) error {
	if !json.Valid([]byte(answer)) || firstByte([]byte(answer)) != '{' {
		return errNotJSONObject
	}
	if err := strictjson.Unique([]byte(answer), maxItemDepth); err != nil { // readers differ in what such a text says
		return err
	}
	if o.Validate == nil {
		return nil
	}
	return o.Validate(json.RawMessage(answer))
}

// endTurn forgets the calls of a turn that all have their output, and takes the answer if one of them is it.
func (l *loop) endTurn(ctx context.Context) error {
	f := l.frame
	b := &l.agent.ToolUse
	if slices.ContainsFunc(f.calls, (*call).goesToProvider) { // the model is called again (hitl F15)
		f.calls = slices.DeleteFunc(f.calls, func(c *call) bool { return !c.goesToProvider() })
		return nil
	}
	if len(f.calls) == 0 || b.none() || f.answer != nil {
		f.calls = nil
		return nil
	}
	var results []ToolResult
	for _, c := range f.calls {
		if c.Ran {
			results = append(results, ToolResult{CallID: c.ID, Tool: c.Tool, Output: f.outputText(c.ID)})
		}
	}
	answer, end, err := l.endsWith(ctx, b, results)
	if err != nil {
		return err
	}
	f.calls = nil
	if end {
		if quotedLen(answer) > maxItemsBytes-l.state.size {
			return fmt.Errorf(
				"%w: the answer of the tool use behavior of agent %q is too long", ErrConfig, l.agent.Name)
		}
		answer = validText(answer)
		f.answer = &answer
	}
	return l.checkpoint(ctx)
}

func (l *loop) endsWith(
	ctx context.Context, b *ToolUseBehavior, results []ToolResult,
) (answer string, end bool, err error) {
	if len(results) == 0 {
		return "", false, nil
	}
	if b.Decide != nil {
		err = l.consultOne(ctx, "tool use behavior", l.agent.Name, func() (err error) {
			answer, end, err = b.Decide(ctx, results)
			return err
		})
		if err != nil {
			return "", false, fmt.Errorf("tool use behavior of agent %q: %w", l.agent.Name, err)
		}
		return answer, end, nil
	}
	for _, r := range results {
		if b.StopOnFirst || slices.Contains(b.StopAt, r.Tool) {
			return r.Output, true, nil
		}
	}
	return "", false, nil
}
