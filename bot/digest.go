package bot

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// listEvent is the metadata type of messages that list what waits for a person.
const listEvent = "countersign_list"

// digestEvery is how long a person is not called again by a list: until then the one that they have is changed.
const digestEvery = 10 * time.Minute

// digest lists all that waits for the person whom the notification is for, in place of one more message of its own. A
// list that is young is brought up to date, which calls nobody; else there is a new one, and the one before says so.
func (b *Bot) digest(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	list := b.listPost(ctx, n)
	at, had := b.lists.newest(n)
	if had && postedWithin(at.Message, b.lists.every) {
		err := b.repost(ctx, at.Channel, at.Message, list)
		if err == nil || !gone(err) {
			return listedAt(at.Channel, at.Message), undelivered(err)
		}
	}
	channel, err := b.copyChannel(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	if had {
		err := b.repost(ctx, at.Channel, at.Message, earlierList(n))
		if word, refused := refusal(err); err != nil && (!refused || mendable(word)) {
			return approvals.Delivery{}, err
		}
	}
	d, err := b.postAll(ctx, n, channel, "", []post{list})
	if err == nil {
		b.lists.posted(n, d)
	}
	return listedAt(d.Channel, d.Message), undelivered(err)
}

// earlierList is what becomes of a list when there is a newer one.
func earlierList(n *approvals.Notification) post {
	p := phrase{wordsListedAnew}
	return post{
		text: p, blocks: stamp(paragraphs(p), string(n.ID)+".earlier"),
		metadata: slack.SlackMetadata{EventType: listEvent, EventPayload: map[string]any{"copy": string(n.Copy)}},
	}
}

// lists are where this process has listed requests for people last: what else waited then was read before that.
type lists struct {
	every time.Duration // see digestEvery

	mu sync.Mutex
	at map[approvals.UserID]approvals.Card
}

// mostLists bounds how many are remembered.
const mostLists = 10_000

// posted notes that the person whom the notification is for has a new list.
func (l *lists) posted(n *approvals.Notification, d approvals.Delivery) {
	u, person := n.Copy.Person(n.Workspace)
	if !person {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil || len(l.at) >= mostLists {
		l.at = map[approvals.UserID]approvals.Card{}
	}
	l.at[u] = approvals.Card{Channel: d.Channel, Message: d.Message}
}

// newest returns the newest list that the person has, by the records and by what this process remembers.
func (l *lists) newest(n *approvals.Notification) (approvals.Card, bool) {
	at, ok := newestList(n)
	u, _ := n.Copy.Person(n.Workspace)
	l.mu.Lock()
	defer l.mu.Unlock()
	if here, posted := l.at[u]; posted && here.Message > at.Message {
		return here, true
	}
	return at, ok
}

func listedAt(channel, ts string) approvals.Delivery {
	return approvals.Delivery{Channel: channel, Message: ts, List: true}
}

// updateList brings the person's list up to date where it names the request, or is to name it beside its card, and
// returns which message that is; empty where there is none, or none any more. Of several lists it is the newest.
func (b *Bot) updateList(ctx context.Context, n *approvals.Notification) (at approvals.Card, err error) {
	own, inList := shownIn(n)
	_, known := newestList(n)
	isNew := known && !own && n.Card.Status == approvals.RequestPending && !n.Listing()
	if !inList && !isNew {
		return approvals.Card{}, nil
	}
	at, _ = b.lists.newest(n)
	switch err := b.repost(ctx, at.Channel, at.Message, b.listPost(ctx, n)); {
	case gone(err), isNew && errors.Is(undelivered(err), approvals.ErrUndeliverable): // its card is not lost by that
		return approvals.Card{}, nil
	case err != nil:
		return approvals.Card{}, undelivered(err)
	}
	return at, nil
}

// newestList returns the newest message that lists requests for the person, this one among them.
func newestList(n *approvals.Notification) (at approvals.Card, ok bool) {
	for _, r := range append(slices.Clip(n.Waiting), n.Card) {
		for _, c := range r.Cards {
			if c.Copy == n.Copy && c.List && c.Message > at.Message {
				at, ok = c, true
			}
		}
	}
	return at, ok
}

// postedWithin reports whether a message is as young, by the clock in its ts.
func postedWithin(ts string, d time.Duration) bool {
	seconds, _, _ := strings.Cut(ts, ".")
	at, err := strconv.ParseInt(seconds, 10, 64)
	return err == nil && time.Since(time.Unix(at, 0)) < d
}

// listPost renders the list: what waits longest comes first.
func (b *Bot) listPost(ctx context.Context, n *approvals.Notification) post {
	id := string(n.ID)
	p := post{
		text: phrase{wordsWaitingForYou(n.WaitingAll)},
		metadata: slack.SlackMetadata{EventType: listEvent, EventPayload: map[string]any{
			"notification": id, "copy": string(n.Copy),
		}},
		same: func(m postedMessage) bool {
			return m.Metadata.EventType == listEvent && m.Metadata.EventPayload["notification"] == id
		},
	}
	p.blocks = stamp([]slack.Block{header(wordsWaitingForYou(n.WaitingAll))}, id)
	shown := 0
	for _, r := range n.Waiting {
		rows := append(slices.Clip(p.blocks), b.listRow(ctx, r)...)
		if !fitsReply(rows) {
			break
		}
		p.blocks, shown = rows, shown+1
	}
	if left := n.WaitingAll - shown; left > 0 {
		p.blocks = append(p.blocks, stamp(paragraphs(wordsMoreListed(left)), id+".more")...)
	}
	return p
}

// listRow names one request, with the way to it and the button that shows it whole.
func (b *Bot) listRow(ctx context.Context, r *approvals.Request) []slack.Block {
	line := append(phrase{strong(headline(r)), "\n", r.Requester, wordsIn}, b.whereAsked(ctx, r)...)
	if !r.Expires.IsZero() {
		line = append(line, wordsUntil(r.Expires)...)
	}
	row := []slack.Block{
		paragraph(line), slack.NewActionBlock("", button(r, actDetails, wordsShowDetails, slack.StyleDefault)),
	}
	return stamp(row, blockPrefix(r)+"."+string(r.ID))
}

// fitsReply leaves room for the lines around a list in a message.
func fitsReply(blocks []slack.Block) bool { return len(blocks) <= maxBlocks-4 && fits(blocks) }
