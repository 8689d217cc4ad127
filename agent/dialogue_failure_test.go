package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"countersign/agent"
)

// onError returns a RunOptions.OnError that notes what it is given; see dialogue.setup.
func (d *dialogue) onError(how string) func(context.Context, *agent.Failure) (*agent.Fallback, error) {
	if how == "none" {
		return nil
	}
	return func(_ context.Context, f *agent.Failure) (*agent.Fallback, error) {
		d.note(fmt.Sprintf(
			"failure %s of %s, answer %q, %d items, run %s", name(f.Err), f.Agent.Name,
			f.Answer, len(f.Items), f.Run.ID,
		))
		switch how {
		case "decline":
			return nil, nil
		case "error":
			return nil, errors.New("no idea")
		case "panic":
			panic("no idea")
		}
		text, unrecorded := strings.CutPrefix(how, "unrecorded=")
		return &agent.Fallback{Text: text, Unrecorded: unrecorded}, nil
	}
}
