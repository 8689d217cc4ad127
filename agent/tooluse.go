package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ToolUseBehavior says what happens when the calls of a turn have their outputs. The zero value calls the model again.
// At most one of the fields may be set. A rejection, or a call that could not run, never ends a run: the model reads it.
// Nor does a turn that hands over.
type ToolUseBehavior struct {
	// StopOnFirst ends the run with the output of the first call of the turn, in the model's order, that was carried out.
	StopOnFirst bool
	// StopAt ends the run with the output of the first call that was carried out of a tool with one of the names.
	StopAt []string
	// Decide looks at what was carried out and says whether the run ends, and with which answer.
	Decide func(ctx context.Context, results []ToolResult) (answer string, end bool, err error)
}

// ToolResult is a call of the turn that was carried out.
type ToolResult struct {
	CallID string
	Tool   string
	Output string // as the model reads it
}

var errTwoBehaviors = errors.New("ToolUse says more than one of StopOnFirst, StopAt and Decide")

func (b *ToolUseBehavior) check() error {
	n := 0
	for _, set := range []bool{b.StopOnFirst, len(b.StopAt) > 0, b.Decide != nil} {
		if set {
			n++
		}
	}
	if n > 1 {
		return errTwoBehaviors
	}
	return nil
}

func (b *ToolUseBehavior) none() bool {
	return !b.StopOnFirst && len(b.StopAt) == 0 && b.Decide == nil
}

// mayEnd reports whether the calls could end the run, so that no further model call would follow them.
func (b *ToolUseBehavior) mayEnd(calls []*call) bool {
	if b.StopOnFirst || b.Decide != nil {
		return true
	}
	return slices.ContainsFunc(calls, func(c *call) bool { return slices.Contains(b.StopAt, c.Tool) })
}

// endTurn forgets the calls of a turn that all have their output, and takes the answer if one of them is it.
func (l *loop) endTurn(ctx context.Context) error {
	f := l.frame
	b := &l.agent.ToolUse
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
			return fmt.Errorf("%w: the answer of the tool use behavior of agent %q is too long", ErrConfig, l.agent.Name)
		}
		answer = validText(answer)
		f.answer = &answer
	}
	return l.checkpoint(ctx)
}

func (l *loop) endsWith(ctx context.Context, b *ToolUseBehavior, results []ToolResult) (answer string, end bool, err error) {
	if len(results) == 0 {
		return "", false, nil
	}
	if b.Decide != nil {
		l.outside(func() {
			err = l.safely(ctx, "tool use behavior", l.agent.Name, func() (err error) {
				answer, end, err = b.Decide(ctx, results)
				return err
			})
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

// outputText returns the output of the call with the id.
func (f *frame) outputText(callID string) string {
	for _, it := range slices.Backward(f.items) {
		if it.IsOutput() && it.CallID == callID {
			return it.Output
		}
	}
	return ""
}
