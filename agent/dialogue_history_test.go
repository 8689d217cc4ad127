package agent_test

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"countersign/agent"
	"countersign/agent/history"
)

// shorten returns an Agent.Shorten; see dialogue.setup.
func shorten(how string) func(context.Context, *agent.History) error {
	if n, err := strconv.Atoi(how); err == nil {
		return history.KeepNewest(n)
	}
	return func(_ context.Context, h *agent.History) error {
		note, noted := strings.CutPrefix(how, "note=")
		switch {
		case noted && len(h.Turns) > 2:
			h.Turns[1].LeaveOut = true
			h.Note = strings.TrimSpace(h.Note + " " + note + " " + strconv.Itoa(h.LeftOut+1) + ".")
		case how == "all":
			for i := range h.Turns {
				h.Turns[i].LeaveOut = true
			}
		case how == "gone":
			h.Turns = h.Turns[1:]
		case how == "error":
			return errors.New("no summary")
		case how == "panic":
			panic("no summary")
		}
		return nil
	}
}
