package agent

import (
	"context"
	"fmt"
)

// shorten asks the agent what the model is not to be shown any more, and keeps the answer in the state: whoever goes on
// from there shows the same.
func (l *loop) shorten(ctx context.Context) error {
	if l.agent.Shorten == nil {
		return nil
	}
	f := l.frame
	h, shown := f.history()
	note := h.Note
	err := l.consultOne(ctx, "shortening", l.agent.Name, func() error { return l.agent.Shorten(ctx, h) })
	more := false
	if err == nil {
		more, err = f.leaveOut(h, shown, note)
	}
	if err != nil {
		return fmt.Errorf("shorten the history of agent %q: %w", l.agent.Name, err)
	}
	if more {
		l.log.InfoContext(ctx, "history shortened", "left_out", h.LeftOut)
		l.emit(HistoryShortened{Path: f.path(), LeftOut: h.LeftOut, Note: h.Note})
	}
	return nil
}
