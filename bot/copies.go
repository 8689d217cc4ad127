package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// showCopy shows the request to the people of one copy: it updates the messages that they have, or posts the first one.
// A settled request is posted to nobody who has not seen it.
func (b *Bot) showCopy(ctx context.Context, n *approvals.Notification, shown card) (approvals.Delivery, error) {
	last, deleted, err := b.updateCopy(ctx, n, shown)
	if err != nil || last.Message != "" {
		return last, err
	}
	if deleted && n.Card.AsksNow != "" && n.Copy == "" {
		return approvals.Delivery{}, nil // what is asked now has a card of its own
	}
	if n.Copy == "" {
		return b.deliver(ctx, n, []post{b.calling(ctx, n, shown)})
	}
	channel, err := b.copyChannel(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	p := b.calling(ctx, n, shown)
	if n.Card.Status != approvals.RequestPending {
		there, err := b.earlier(ctx, n, channel, "")
		if ts, _ := find(there, p); err != nil || ts == "" {
			return approvals.Delivery{}, err
		}
	}
	d, err := b.postAll(ctx, n, channel, "", []post{p})
	return d, undelivered(err)
}

// undelivered says of a refusal to post to people for whom there is no other place that no attempt can succeed.
func undelivered(err error) error {
	word, refused := refusal(err)
	switch {
	case !refused || mendable(word):
		return err
	case elsewhere(word):
		return unreachable(err)
	}
	return fmt.Errorf("%w: %w", err, approvals.ErrUndeliverable)
}

// updateCopy updates the messages that show the request to the people of the copy. One that is gone is passed over. The
// error is ErrUnreachable where a settled request stands on none of them, and on one as it was. deleted means that
// there were some, and none stands there any more, be it as it was.
func (b *Bot) updateCopy(
	ctx context.Context, n *approvals.Notification, shown card,
) (last approvals.Delivery, deleted bool, err error) {
	var stuck error
	had, stands := false, false
	for _, at := range n.Card.Cards {
		if at.Copy != n.Copy || at.List {
			continue
		}
		had = true
		err := b.update(ctx, at, shown, n.Card)
		word, refused := refusal(err)
		stands = stands || word != "message_not_found"
		switch {
		case gone(err) && n.Copy != "" && n.Card.Status != approvals.RequestPending && word != "message_not_found":
			stuck = unreachable(err) // it stands there as it was; another may have been posted since
			continue
		case gone(err):
			continue
		case refused && !mendable(word): // to repeat it for ever would hold up the whole queue
			if tooLarge(err) && shown.canShorten() {
				return approvals.Delivery{}, false, undeliverable(err) // a shorter one may do
			}
			if err := b.insist(ctx, n, at, shown, err); errors.Is(err, errAnew) {
				continue
			} else if err != nil {
				return approvals.Delivery{}, false, err
			}
		case err != nil:
			return approvals.Delivery{}, false, err
		}
		last = approvals.Delivery{Channel: at.Channel, Message: at.Message, Bare: shown.bare}
	}
	if last.Message == "" && stuck != nil {
		return approvals.Delivery{}, false, stuck
	}
	return last, had && !stands, nil
}

// copyChannel finds the conversation that the copy is shown in.
func (b *Bot) copyChannel(ctx context.Context, n *approvals.Notification) (string, error) {
	if channel, ok := n.Copy.Channel(); ok {
		return channel, nil
	}
	u, ok := n.Copy.Person(n.Workspace)
	if !ok || !isUserID(u.Local()) {
		return "", unreachable(fmt.Errorf("no way to reach %q in Slack", n.Copy))
	}
	channel, err := b.openDM(ctx, u.Local())
	if word, refused := refusal(err); refused && !mendable(word) {
		return "", unreachable(err)
	}
	return channel, err
}

// cardFor renders the request for the people of the copy.
func (b *Bot) cardFor(ctx context.Context, r *approvals.Request, copyOf approvals.Copy, bare bool) card {
	if bare {
		return bareCard(r)
	}
	c := b.linked(ctx, r, copyOf, newCard(r))
	if copyOf == "" && !onlyElsewhere(r) {
		return c
	}
	return c.led(b.needsYou(ctx, r, copyOf), r)
}

// onlyElsewhere reports whether the request's own card is where its requester alone reads it, because the place where
// the run was asked for did not take it.
func onlyElsewhere(r *approvals.Request) (elsewhere bool) {
	for _, at := range r.Cards {
		if at.Copy != "" {
			continue
		}
		if at.Channel == r.Place.Channel {
			return false
		}
		elsewhere = true
	}
	return elsewhere
}

// cardAt renders the request for a message that shows it.
func (b *Bot) cardAt(ctx context.Context, r *approvals.Request, channel, ts string) card {
	i := slices.IndexFunc(r.Cards, func(at approvals.Card) bool { return at.Channel == channel && at.Message == ts })
	if i < 0 {
		return b.cardFor(ctx, r, "", r.Called.Bare)
	}
	at := r.Cards[i]
	return b.cardFor(ctx, r, at.Copy, at.Bare || at.Copy == "" && r.Called.Bare)
}

// led puts a line above the card, where there is room for it.
func (c card) led(line phrase, r *approvals.Request) card {
	above := stamp([]slack.Block{paragraph(line)}, blockPrefix(r)+".for")
	blocks := append(above, c.blocks...)
	if raw, ok := fitted(blocks); ok {
		c.blocks, c.encoded = blocks, raw
	}
	return c
}

// needsYou is the first line of a copy: who asks, where, and a way there.
func (b *Bot) needsYou(ctx context.Context, r *approvals.Request, copyOf approvals.Copy) phrase {
	if _, person := copyOf.Person(r.Workspace); person && r.Status == approvals.RequestPending {
		return wordsNeedsYouIn(r.Requester, b.whereAsked(ctx, r))
	}
	return wordsAsksIn(r.Requester, b.whereAsked(ctx, r))
}

// whereAsked names the conversation of the request, and leads there.
func (b *Bot) whereAsked(ctx context.Context, r *approvals.Request) phrase {
	if r.Place.Direct {
		return phrase{wordsDirectToMe}
	}
	return phrase{room(r.Place.Channel), " · ", b.threadLink(ctx, r)}
}

// threadLink leads to the message that shows the request in its own thread, or to the thread. Without the address of
// the workspace it is nothing.
func (b *Bot) threadLink(ctx context.Context, r *approvals.Request) any {
	id, err := b.client.identify(ctx)
	if err != nil || id.url == "" {
		return wordsItsThread
	}
	at := r.Place.Thread
	for _, c := range r.Cards {
		if c.Copy == "" && c.Channel == r.Place.Channel {
			at = c.Message
		}
	}
	return href{wordsOpenThread, permalink(id.url, r.Place.Channel, at, r.Place.Thread)}
}

// outsiders reports whether people of other organisations read what is shown of the run in the channel, by what was
// known at most a minute ago, or since Slack last said that a channel was shared; five seconds ago where there are
// other processes, to which Slack may have said so.
func (b *Bot) outsiders(ctx context.Context, ws approvals.WorkspaceID, channel string) (bool, error) {
	return b.outsidersSince(ctx, ws, channel, noTime)
}

// sharedAge is how old what is known may be of who reads a channel, where Slack may have told another process that it
// is shared.
const sharedAge = 5 * time.Second

// outsidersSince is outsiders by what was asked at or after the instant.
func (b *Bot) outsidersSince(
	ctx context.Context, ws approvals.WorkspaceID, channel string, since time.Time,
) (bool, error) {
	if young := time.Now().Add(-sharedAge); !b.alone && since.Before(young) {
		since = young
	}
	ch, err := b.client.Channel(ctx, ws, channel, since)
	word, refused := refusal(err)
	switch {
	case errors.Is(err, approvals.ErrNotFound), refused && !mendable(word), word == "missing_scope":
		return false, nil // nothing can be posted there, or an operator has not let the bot ask
	case err != nil:
		return false, fmt.Errorf("whether a channel is shared: %w", err)
	}
	return ch.External, nil
}

// showsBare reports whether the notification is shown where people of other organisations read it.
func (b *Bot) showsBare(ctx context.Context, n *approvals.Notification) (bool, error) {
	if _, person := n.Copy.Person(n.Workspace); person || n.Place.Direct {
		return false, nil
	}
	if n.Anew {
		return b.outsidersSince(ctx, n.Workspace, n.Place.Channel, time.Now())
	}
	return b.outsiders(ctx, n.Workspace, n.Place.Channel)
}

// bareCard says that the request waits, or how it ended, and nothing of what is called.
func bareCard(r *approvals.Request) card {
	c := card{text: newCard(r).text, bare: true}
	lines := []phrase{append(slices.Clone(c.text), ".")}
	if r.Status == approvals.RequestPending {
		lines = append(lines, wordsSharedPending(), deadline(r))
	} else {
		lines = append(lines, wordsSharedSettled(r.ID))
	}
	lines = append(lines, phrase{code(string(r.ID))})
	c.blocks = stamp([]slack.Block{paragraph(lines...)}, blockPrefix(r)+".bare")
	return c
}

// onUnrecordedCopy reports whether the button stands in a message of the bot that shows the request to one of those it
// calls, and that is not recorded yet. Slack hands on clicks on the bot's own messages only, with what the bot attached
// to them.
func (c click) onUnrecordedCopy(r *approvals.Request) bool {
	meta := c.Message.Metadata
	copyOf := approvals.Copy(textOf(meta.EventPayload["copy"]))
	if meta.EventType != cardEvent || copyOf == "" || meta.EventPayload["request"] != string(r.ID) ||
		!slices.Contains(r.Called.Copies, copyOf) {
		return false
	}
	if channel, ok := copyOf.Channel(); ok {
		return c.channel() == channel
	}
	return copyOf == approvals.CopyFor(c.by)
}

// channelShared has everything that waits in a channel shown anew, now that people of another organisation read it. See
// https://docs.slack.dev/reference/events/channel_shared.
func (b *Bot) channelShared(ctx context.Context, id identity, channel string) (answer, error) {
	if !isChannelID(channel) {
		return answer{}, nil
	}
	b.client.channels.forget(channel)
	if err := b.service.ShowAgain(ctx, id.workspace, channel); err != nil {
		return answer{}, fmt.Errorf("channel shared: %w", err)
	}
	return answer{}, nil
}

// showAtHome shows somebody anew what waits for them on their own page, after it has changed; also when this process
// has not seen them open it.
func (b *Bot) showAtHome(ctx context.Context, u approvals.UserID) error {
	b.homes.known(u)
	return undelivered(b.publishHome(ctx, u))
}

// shownRequests lists the requests that have buttons among the blocks.
func shownRequests(blocks []slack.Block) (ids []approvals.RequestID) {
	for _, block := range blocks {
		row, ok := block.(*slack.ActionBlock)
		if !ok || row.Elements == nil {
			continue
		}
		for _, e := range row.Elements.ElementSet {
			press, ok := e.(*slack.ButtonBlockElement)
			if !ok {
				continue
			}
			id := approvals.RequestID(press.Value)
			if mentionedRequest.MatchString(press.Value) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
