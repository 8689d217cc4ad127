package bot

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/slack-go/slack"
)

// What the acknowledgement of a form has a window show, and what an update has it show later, go to Slack by different
// ways: an update that arrives first would be replaced by what the acknowledgement says, and that stand there for ever.
// So the acknowledgement gives the window an external id, and the update is addressed to that: until the
// acknowledgement has landed, Slack answers not_found.

// answeredView is a window that the acknowledgement of a form changes and that is filled later.
type answeredView struct {
	view     string // its id
	external string // its external id, once the acknowledgement has landed
}

// answeredLater has the window of a form show something first, and what fill makes once the form is acknowledged. fill
// shows it with updateAnswered.
func (s *submitted) answeredLater(first slack.ModalViewRequest, fill func(context.Context, answeredView)) answer {
	at := answeredView{view: s.View.ID, external: rand.Text()}
	first.ExternalID = at.external
	return answer{payload: becomes(first), then: func(ctx context.Context) { fill(ctx, at) }}
}

// untilLanded are the waits between tries to reach a window whose acknowledgement may not have landed yet. Slack waits
// three seconds for an acknowledgement: one that has not landed after all of them never will.
func untilLanded() []time.Duration {
	return []time.Duration{
		50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond,
		750 * time.Millisecond, time.Second, 1500 * time.Millisecond,
	}
}

// updateAnswered is updateView for a window that an acknowledgement has just changed. Where the acknowledgement never
// lands, the form still stands there, unless somebody has closed it: then the error is Slack's not_found.
func (b *Bot) updateAnswered(ctx context.Context, at answeredView, view slack.ModalViewRequest) error {
	return onceLanded(ctx, b.landing, at, func(to answeredView) error {
		view.ExternalID = to.external // which the window keeps
		return b.patiently(ctx, methodUpdateView, "", func() error {
			_, err := b.client.api.UpdateViewContext(ctx, view, to.external, "", to.view)
			return err
		})
	})
}

// onceLanded calls update with the external id alone for as long as that is not found, and after the waits with the id
// of the view alone.
func onceLanded(
	ctx context.Context, waits []time.Duration, at answeredView, update func(to answeredView) error,
) error {
	for i := 0; ; i++ {
		err := update(answeredView{external: at.external})
		if word, _ := refusal(err); word != "not_found" {
			return err
		}
		if i == len(waits) {
			return update(answeredView{view: at.view})
		}
		if !sleep(ctx, waits[i]) {
			return err
		}
	}
}
