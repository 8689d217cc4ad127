package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// cancelForm asks whether to end the run that a request belongs to.
func cancelForm() form {
	return form{
		title: wordsCancelRunAsk, submit: wordsCancelRun, close: wordsKeepRunning,
		ask: func(*approvals.Request) ([]slack.Block, phrase) {
			return paragraphs(phrase{wordsCancelRunMeans}), nil
		},
		open: (*Bot).mayCancel,
		do: func(b *Bot, ctx context.Context, s submitted) done {
			r, err := b.service.Recorded(ctx, s.id.workspace, s.note.Request)
			if err == nil {
				_, err = b.service.CancelRun(ctx, s.id.workspace, r.Run, s.by, "")
			}
			words, known := cancelled(err, s.by)
			if !known {
				b.log.Error("a run was not cancelled", "request", s.note.Request, "error", err)
			}
			return done{words: words, then: func(ctx context.Context) { b.refreshBelow(ctx, s) }}
		},
	}
}

// cancelRun ends the run that a request belongs to: the button of earlier versions, which has asked back itself.
func (b *Bot) cancelRun(ctx context.Context, c click) (answer, error) {
	if c.fromMenu() {
		return b.openForm(ctx, c)
	}
	failed := cancellation{unrecorded(errPanicked), errPanicked}
	end, late := inTime(ctx, b, c.arrived, failed, func(ctx context.Context) cancellation {
		return b.cancelFor(ctx, c)
	})
	if late == nil {
		return b.reply(c, end.words), end.unclear
	}
	return answer{then: func(ctx context.Context) {
		b.tell(ctx, c, wordsUnconfirmed())
		end := <-late
		if end.unclear != nil {
			b.log.Error("a run was not cancelled", "request", c.request, "error", end.unclear)
		}
		b.tell(ctx, c, end.words)
	}}, nil
}

// cancellation is what came of a press that ends a run; unclear says why it is not certain that it did not.
type cancellation struct {
	words   phrase
	unclear error
}

func (b *Bot) cancelFor(ctx context.Context, c click) cancellation {
	r, err := b.service.Request(ctx, c.id.workspace, c.request)
	if err != nil && !errors.Is(err, approvals.ErrNotFound) {
		return cancellation{wordsUnrecorded(), err}
	}
	if err == nil {
		if refusal := misplaced(c, r); refusal != nil {
			return cancellation{refusal, nil}
		}
		_, err = b.service.CancelRun(ctx, c.id.workspace, r.Run, c.by, "")
	}
	words, known := cancelled(err, c.by)
	if !known {
		return cancellation{words, fmt.Errorf("cancel run: %w", err)}
	}
	return cancellation{words, nil}
}

// cancelled says how a cancellation went; known is false when it is not certain.
func cancelled(err error, by approvals.UserID) (words phrase, known bool) {
	switch {
	case err == nil:
		return wordsRunCancelled(), true
	case errors.Is(err, approvals.ErrUnauthorized):
		return wordsCannotCancel(why(err)), true
	}
	if words, known = refusedDecision(err, nil, by); known {
		return words, true
	}
	return unrecorded(err), false
}
