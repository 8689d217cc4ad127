package bot

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// done is what came of a form that is no decision about one request.
type done struct {
	words    phrase             // what the person is told
	err      error              // why it was refused; nil: it was not
	mendable bool               // sending the same form again may help
	wrong    map[string]string  // what is wrong with what was typed, by the input's block id
	request  *approvals.Request // as it stands; nil where it could not be read
	then     func(context.Context)
}

// inTime calls f beside the handler that calls it, and returns what f does when that comes within decideBudget of the
// click or form; else late, which receives it. failed stands for f when that panics. A slow store then costs nobody
// the acknowledgement that Slack waits for.
func inTime[T any](
	ctx context.Context, b *Bot, arrived time.Time, failed T, f func(context.Context) T,
) (result T, late <-chan T) {
	ended := make(chan T, 1)
	b.work.aside(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, decideLimit)
		defer cancel()
		ended <- f(ctx)
	}, func() { ended <- failed })
	timer := time.NewTimer(time.Until(arrived.Add(decideBudget)))
	defer timer.Stop()
	select {
	case result = <-ended:
		return result, nil
	case <-timer.C:
		return result, ended
	}
}

// doForm does what submitting the form means, and answers it in time.
func (b *Bot) doForm(ctx context.Context, s submitted) answer {
	failed := done{words: unrecorded(errPanicked), mendable: true}
	d, late := inTime(ctx, b, s.arrived, failed, func(ctx context.Context) done { return s.form.do(b, ctx, s) })
	switch {
	case late != nil:
		return s.answeredLater(wordsView(wordsUnconfirmed()), func(ctx context.Context, at answeredView) {
			b.doneLate(ctx, s, at, <-late)
		})
	case d.wrong != nil:
		return wrong(d.wrong)
	}
	a := b.formRefused(s, d.request, d.err, d.words, d.mendable)
	a.then = d.then
	return a
}

// doneLate says what came of a form that took longer than Slack waits. What was typed comes back where sending it again
// may help.
func (b *Bot) doneLate(ctx context.Context, s submitted, at answeredView, d done) {
	words := d.words
	if d.wrong != nil {
		words = phrase{strings.Join(slices.Sorted(maps.Values(d.wrong)), " ")}
	}
	show := wordsView(words)
	again := d.mendable || d.wrong != nil
	if again && d.request == nil {
		d.request, _ = b.service.Recorded(ctx, s.id.workspace, s.note.Request) // without it the words alone are shown
	}
	if again && d.request != nil {
		if v, _, refuse := formAs(s.act, d.request); refuse == nil {
			v.PrivateMetadata = s.View.Private
			v.Blocks.BlockSet = append([]slack.Block{paragraph(words)}, refilled(v.Blocks.BlockSet, s.values)...)
			show = v
		}
	}
	if err := b.updateAnswered(ctx, at, show); err != nil {
		b.whisper(ctx, "", "", s.User.ID, words)
	}
	if d.then != nil {
		d.then(ctx)
	}
}
