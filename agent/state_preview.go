package agent

import (
	"context"
	"fmt"
)

// Preview returns the question of in as it would stand if Approve bound its call to the Arguments or Fields of opts:
// they are read and validated as Approve does it, the tool's preconditions are looked up, and Digest is that of what
// would run. Nothing in the state changes but that toolsets are asked for their tools.
//
// Errors are those of Approve; the toolset's when it cannot say what tools it has; and ErrStale when the tool is
// defined otherwise than when the question was put.
func (s *RunState) Preview(ctx context.Context, in Interruption, opts ApproveOptions) (Interruption, error) {
	next, err := s.preview(ctx, &in, opts)
	if err != nil {
		return Interruption{}, fmt.Errorf("preview %s: %w", excerptLong(in.ID), err)
	}
	return next, nil
}

func (s *RunState) preview(ctx context.Context, in *Interruption, opts ApproveOptions) (Interruption, error) {
	c, f, err := s.question(in)
	switch {
	case err != nil:
		return Interruption{}, err
	case opts.Arguments == nil && opts.Fields == nil:
		return Interruption{}, fmt.Errorf("%w: neither Arguments nor Fields", ErrConfig)
	}
	if err := opts.check(in.Kind); err != nil {
		return Interruption{}, err
	}
	if f.tool(c) == nil {
		if err := s.resolve(ctx); err != nil {
			return Interruption{}, err
		}
	}
	tool := f.tool(c)
	if tool != nil && !f.unchanged(c, tool) {
		return Interruption{}, fmt.Errorf("%w: tool %q is defined otherwise now", ErrStale, c.Tool)
	}
	arguments, err := f.decidedArguments(c, opts)
	if err != nil {
		return Interruption{}, err
	}
	changed := *c
	changed.Arguments, changed.Preconditions = arguments, nil
	if tool.Preconditions != nil {
		if changed.Preconditions, err = tool.lookUpSafely(ctx, f.toolCall(&changed)); err != nil {
			return Interruption{}, fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	changed.bind(*c.Definition)
	return f.interruption(&changed), nil
}

// lookUpSafely is lookUp for callers outside a run, which cannot recover from the application's code.
func (t *Tool) lookUpSafely(ctx context.Context, view ToolCall) (found []string, err error) {
	defer func() {
		if recover() != nil {
			found, err = nil, fmt.Errorf("preconditions of tool %q: %w", t.Name, errPanic)
		}
	}()
	return t.lookUp(ctx, view)
}
