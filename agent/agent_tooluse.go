package agent

import (
	"context"
	"errors"
	"slices"
)

// ToolUseBehavior says what happens when the calls of a turn have their outputs. The zero value calls the model
// again. At most one of the fields may be set. A rejection, or a call that could not run, never ends a run: the model
// reads it. Nor does a turn that hands over.
type ToolUseBehavior struct {
	// StopOnFirst ends the run with the output of the first call of the turn, in the model's order, that was carried
	// out.
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

// mayEnd reports whether the calls could end the run, so that no further model call would follow them. A turn that
// hands over does not.
func (b *ToolUseBehavior) mayEnd(calls []*call) bool {
	if slices.ContainsFunc(calls, func(c *call) bool { return c.Kind == KindHandoff && c.Problem == "" }) {
		return false
	}
	if b.StopOnFirst || b.Decide != nil {
		return true
	}
	return slices.ContainsFunc(calls, func(c *call) bool { return slices.Contains(b.StopAt, c.Tool) })
}
