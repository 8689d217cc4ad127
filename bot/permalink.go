package bot

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/approvals"
)

const (
	// linkAge is how old an answer about the link to a message may be. Links do not change; that a message has none
	// may.
	linkAge = 10 * time.Minute
	// linkTime bounds how long something that shows requests waits for the links to their cards.
	linkTime = 2 * time.Second
	// linksAtOnce is how many links are asked for at the same time.
	linksAtOnce = 4
)

// permalink returns the address of a message; empty where Slack gives none: the message was deleted, or the bot has no
// right to it. See https://docs.slack.dev/reference/methods/chat.getPermalink.
func (c *Client) permalink(ctx context.Context, channel, ts string) (string, error) {
	return c.links.get(ctx, channel+" "+ts, time.Time{}, func(ctx context.Context) (string, error) {
		var answer struct {
			Permalink string `json:"permalink"`
		}
		err := c.ask(ctx, methodPermalink, url.Values{"channel": {channel}, "message_ts": {ts}}, &answer)
		if _, refused := refusal(err); refused {
			return "", nil
		}
		if !strings.HasPrefix(answer.Permalink, "https://") {
			return "", err
		}
		return answer.Permalink, err
	})
}

// whereShown returns the message that shows the request in the conversation where it was asked for: its card, the last
// one where it was posted anew, else the message that began the thread.
func whereShown(r *approvals.RequestHead) (at approvals.Card, ok bool) {
	for _, card := range slices.Backward(r.Cards) {
		if card.Copy == "" && card.Channel == r.Place.Channel {
			return approvals.Card{Channel: card.Channel, Message: card.Message}, true
		}
	}
	if isChannelID(r.Place.Channel) && isMessageTS(r.Place.Thread) {
		return approvals.Card{Channel: r.Place.Channel, Message: r.Place.Thread}, true
	}
	return approvals.Card{}, false
}

// link returns the address of what shows the request; empty where there is none, or it cannot be found out now. It is
// never an error: whoever reads about a request is told its channel in any case.
func (b *Bot) link(ctx context.Context, r *approvals.RequestHead) string {
	at, ok := whereShown(r)
	if !ok {
		return ""
	}
	address, err := b.client.permalink(ctx, at.Channel, at.Message)
	if err != nil {
		b.log.Debug("the link to a card cannot be found out", "request", r.ID, "error", err)
	}
	if address != "" || err != nil || len(r.Cards) == 0 {
		return address
	}
	thread := *r // its card was deleted
	thread.Cards = nil
	if at, ok = whereShown(&thread); ok {
		address, _ = b.client.permalink(ctx, at.Channel, at.Message)
	}
	return address
}

// setting is what a list says of a request beside what its record holds.
type setting struct {
	link string // to its card; empty: there is none
	// shared says that the conversation is shared with others than the workspace, or that this is not known: no
	// arguments of the request stand in lists.
	shared bool
}

// settings finds out the settings of requests, in their order. It takes linkTime at most.
func (b *Bot) settings(ctx context.Context, heads []*approvals.RequestHead) []setting {
	ctx, cancel := context.WithTimeout(ctx, linkTime)
	defer cancel()
	out := make([]setting, len(heads))
	turns := make(chan int, len(heads))
	for i := range heads {
		turns <- i
	}
	close(turns)
	var asking sync.WaitGroup
	for range min(linksAtOnce, len(heads)) {
		asking.Go(func() {
			for i := range turns {
				out[i] = setting{link: b.link(ctx, heads[i]), shared: b.shared(ctx, heads[i])}
			}
		})
	}
	asking.Wait()
	return out
}

// shared reports whether others than the people of the workspace are in the request's conversation, as far as is known:
// where it cannot be found out, they may be.
func (b *Bot) shared(ctx context.Context, r *approvals.RequestHead) bool {
	if r.Place.Direct {
		return false
	}
	channel, err := b.client.Channel(ctx, r.Workspace, r.Place.Channel, time.Time{})
	if err != nil {
		b.log.Debug("whether a channel is shared cannot be found out", "channel", r.Place.Channel, "error", err)
	}
	return err != nil || channel.Shared
}
