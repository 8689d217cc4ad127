package bot

import (
	"context"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// leadingTo names a request for people of its conversation: what it does, its id, and a link to its card.
func (b *Bot) leadingTo(ctx context.Context, r *approvals.Request) phrase {
	return b.entries(ctx, []*approvals.Request{r})[0].named()
}

// named is what a request does, its id, and a link to its card.
func (e entry) named() phrase {
	return append(phrase{strong(e.name()), " · ", code(string(e.ID))}, e.open()...)
}

// linked adds to the card of a request that was asked anew the question that has taken its place, with a link. Once
// that has a card, the one in the thread is shown again and leads there. Copies lead to the thread before: their people
// may not be asked about the new call, and read no more of it than its id.
func (b *Bot) linked(ctx context.Context, r *approvals.Request, copyOf approvals.Copy, shown card) card {
	if r.AsksNow == "" {
		return shown
	}
	now, err := b.service.Recorded(ctx, r.Workspace, r.AsksNow)
	if err != nil {
		b.log.Warn("the request that took the place of another cannot be read", "request", r.ID, "error", err)
		return shown
	}
	e := b.entries(ctx, []*approvals.Request{now})[0]
	if copyOf != "" {
		return shown.followedBy(r, e, append(phrase{code(string(e.ID))}, e.open()...))
	}
	return shown.followedBy(r, e, e.named())
}

// followedBy adds the question that is asked now, as named, to the card of r.
func (c card) followedBy(r *approvals.Request, now entry, named phrase) card {
	line := append(phrase{wordsAskedAnew}, named...)
	linked := "plain"
	if at, ok := whereShown(&now.RequestHead); ok && now.link != "" {
		linked = "linked." + at.Message // a block that changes has another id
	}
	last := stamp([]slack.Block{paragraph(line)}, blockPrefix(r)+".next."+linked)
	with := append(c.blocks[:len(c.blocks):len(c.blocks)], last...)
	if encoded, ok := fitted(with); ok {
		c.blocks, c.encoded = with, encoded
	}
	return c
}
