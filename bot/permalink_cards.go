package bot

import (
	"context"
	"sync"

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

// linked adds to the card of a request that was asked anew the link to the question that has taken its place.
func (b *Bot) linked(ctx context.Context, r *approvals.Request, shown card) card {
	next := successor(r)
	if next == "" {
		return shown
	}
	now, err := b.service.Recorded(ctx, r.Workspace, next)
	if err != nil {
		b.log.Warn("the request that took the place of another cannot be read", "request", r.ID, "error", err)
		return shown
	}
	if len(now.Cards) == 0 {
		b.awaited.add(next, r.ID) // its card is posted after this one
	}
	return shown.followedBy(r, b.entries(ctx, []*approvals.Request{now})[0])
}

// followedBy adds the question that is asked now to the card of r.
func (c card) followedBy(r *approvals.Request, now entry) card {
	line := append(phrase{asksNow}, now.named()...)
	linked := "plain"
	if now.link != "" {
		linked = "linked"
	}
	last := stamp([]slack.Block{paragraph(line)}, blockPrefix(r)+".next."+linked)
	with := append(c.blocks[:len(c.blocks):len(c.blocks)], last...)
	if encoded, ok := fitted(with); ok {
		c.blocks, c.encoded = with, encoded
	}
	return c
}

// successor is the request that asks now what a superseded or stale one did; empty for none.
func successor(r *approvals.Request) approvals.RequestID {
	switch {
	case r.Status == approvals.RequestSuperseded:
		return r.SupersededBy
	case r.Status == approvals.RequestStale && r.Replaced != nil:
		return r.Replaced.ID
	}
	return ""
}

// mostAwaited is how many cards wait for a link at once. It is lossy: a card without one has the id, and the thread.
const mostAwaited = 1000

// awaitedLinks are the requests whose cards are to lead to one that is not posted yet.
type awaitedLinks struct {
	mu   sync.Mutex
	from map[approvals.RequestID]approvals.RequestID
}

func newAwaitedLinks() *awaitedLinks {
	return &awaitedLinks{from: map[approvals.RequestID]approvals.RequestID{}}
}

func (a *awaitedLinks) add(to, from approvals.RequestID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.from) < mostAwaited {
		a.from[to] = from
	}
}

func (a *awaitedLinks) take(to approvals.RequestID) (from approvals.RequestID, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	from, ok = a.from[to]
	delete(a.from, to)
	return from, ok
}

// relink brings the card of the request whose place r has taken up to date, once r has a card of its own.
func (b *Bot) relink(ctx context.Context, r *approvals.Request, at approvals.Delivery) {
	from, ok := b.awaited.take(r.ID)
	if !ok {
		return
	}
	old, err := b.service.Request(ctx, r.Workspace, from)
	if err != nil {
		b.log.Warn("a card cannot be linked to the one that follows it", "request", from, "error", err)
		return
	}
	now := *r
	now.Cards = []approvals.Card{{Channel: at.Channel, Message: at.Message}}
	shown := newCard(old).followedBy(old, b.entries(ctx, []*approvals.Request{&now})[0])
	for _, place := range old.Cards {
		if place.Copy != "" || place.Bare {
			continue
		}
		if err := b.update(ctx, place, shown, old); err != nil && !gone(err) {
			b.log.Warn("a card cannot be linked to the one that follows it", "request", from, "error", err)
		}
	}
}
