package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/internal/fault"
)

// Metadata types of what the bot posts besides cards.
const (
	answerEvent = "countersign_answer"
	noticeEvent = "countersign_notice"
)

var _ approvals.Notifier = (*Bot)(nil)

// Notify posts a card, an answer, a notice, a reminder or an escalation, or brings the messages of a card up to date.
// See approvals.Notifier.
func (b *Bot) Notify(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	if _, err := b.client.inWorkspace(ctx, n.Workspace); errors.Is(err, approvals.ErrNotFound) {
		return approvals.Delivery{}, unreachable(fmt.Errorf("notify %s: %w", n.ID, err))
	} else if err != nil {
		return approvals.Delivery{}, fmt.Errorf("notify %s: %w", n.ID, err)
	}
	if n.Kind == approvals.NotifyNotice || n.Kind == approvals.NotifyCard {
		if _, err := b.settleStreams(ctx, n); err != nil && !leftAlone(err) {
			return approvals.Delivery{}, fmt.Errorf("notify %s: %w", n.ID, err)
		}
	}
	var d approvals.Delivery
	var err error
	u, home := n.Copy.Home(n.Workspace)
	switch {
	case n.Kind == approvals.NotifyCard && n.Card != nil && home:
		err = b.showAtHome(ctx, u)
	case n.Kind == approvals.NotifyCard && n.Card != nil:
		d, err = b.showCard(ctx, n)
	case n.Kind == approvals.NotifyAnswer:
		d, err = b.showAnswer(ctx, n)
	case n.Kind == approvals.NotifyNotice:
		d, err = b.showNotice(ctx, n)
	case n.Kind == approvals.NotifyReminder && n.Card != nil && n.Copy != "":
		d, err = b.remindCopy(ctx, n)
	case n.Kind == approvals.NotifyReminder && n.Card != nil:
		d, err = b.rendered(ctx, n, b.reminder)
	case n.Kind == approvals.NotifyState:
		d, err = b.showState(ctx, n)
	case n.Kind == approvals.NotifyEscalation && n.Card != nil:
		d, err = b.rendered(ctx, n, b.escalated)
	default:
		err = fmt.Errorf("no way to show kind %q: %w", n.Kind, approvals.ErrUndeliverable)
	}
	if err != nil {
		return approvals.Delivery{}, fmt.Errorf("notify %s: %w", n.ID, err)
	}
	b.settleStatus(n)
	b.showWhoIsAwaited(n)
	return d, nil
}

// rendered posts what render makes of the notification.
func (b *Bot) rendered(
	ctx context.Context, n *approvals.Notification,
	render func(context.Context, *approvals.Notification) ([]post, error),
) (approvals.Delivery, error) {
	posts, err := render(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	return b.deliver(ctx, n, posts)
}

// showCard updates the messages that show the request to the people of the copy, or posts the first one. A message
// that has disappeared is posted anew, and a card takes the place of a list that has, where one is not needed any more.
// When Slack finds the card too large after all, one with only the beginning of the call takes its place.
func (b *Bot) showCard(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	if len(n.Card.Cards) > 0 {
		b.way.yield(ctx) // before the card is made: many may wait
	}
	if n.Copy == "" {
		b.homes.changed(n.Card)
	}
	list, err := b.updateList(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	listed := approvals.Delivery{Channel: list.Channel, Listed: list.Message}
	switch own, inList := shownIn(n); {
	case own:
	case inList && (list.Message != "" || n.Card.Status != approvals.RequestPending || n.Listing()):
		return listed, nil // where there is none any more, a reminder brings one anew
	case n.Card.Status == approvals.RequestPending && n.Listing():
		return b.digest(ctx, n)
	}
	b.inform(ctx, n.Card)
	bare, err := b.showsBare(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	shown := b.cardFor(ctx, n.Card, n.Copy, bare)
	d, err := b.showCopy(ctx, n, shown)
	if shown.canShorten() && tooLarge(err) {
		b.log.Warn("Slack refuses a card as too large, showing a shorter one", "request", n.Card.ID)
		d, err = b.showCopy(ctx, n, shown.shortened(n.Card))
	}
	if d.Channel == n.Place.Channel {
		d.Bare = bare
	}
	if err == nil && list.Message != "" {
		d.Channel, d.Listed = list.Channel, list.Message // the person's conversation, as that of the card
	}
	return d, err
}

// shownIn reports how the people of the copy are shown the request: in a message of its own, or in a list.
func shownIn(n *approvals.Notification) (own, list bool) {
	for _, at := range n.Card.Cards {
		own = own || at.Copy == n.Copy && !at.List
		list = list || at.Copy == n.Copy && at.List
	}
	return own, list
}

// tooLarge reports whether Slack refused the blocks of a message.
func tooLarge(err error) bool {
	switch word, _ := refusal(err); word {
	case "msg_blocks_too_long", "msg_too_long", "invalid_blocks", "invalid_blocks_format":
		return true
	}
	return false
}

// errAnew says that the card is to be posted anew.
var errAnew = errors.New("cannot be changed")

func undeliverable(err error) error { return fmt.Errorf("%w: %w", err, approvals.ErrUndeliverable) }

// recorded reports whether the message is one the request's record knows.
func recorded(r *approvals.Request, ts string) bool {
	for _, at := range r.Cards {
		if at.Message == ts {
			return true
		}
	}
	return false
}

// gone reports whether an update found that there is nothing to update any more.
func gone(err error) bool {
	switch word, _ := refusal(err); word {
	case "message_not_found", "cant_update_message", "edit_window_closed",
		"channel_not_found", "is_inactive", "not_in_channel", "is_archived":
		return true
	}
	return false
}

// update replaces a message by the card.
func (b *Bot) update(ctx context.Context, at approvals.Card, shown card, r *approvals.Request) error {
	return b.repost(ctx, at.Channel, at.Message, shown.post(r))
}

// repost replaces a message, after the acknowledgements that are due.
func (b *Bot) repost(ctx context.Context, channel, ts string, p post) error {
	m, err := p.message("")
	if err != nil {
		return err
	}
	return b.paced(paced{method: methodUpdate, channel: channel, what: channel + " " + ts}, func() error {
		return b.client.updateMessage(ctx, channel, ts, m)
	})
}

// post returns the card as a message, and how to find it again: the request's card that its record does not know yet.
func (c card) post(r *approvals.Request) post {
	same := func(m postedMessage) bool {
		return m.Metadata.EventType == cardEvent && m.Metadata.EventPayload["request"] == string(r.ID) &&
			!recorded(r, m.TS)
	}
	return post{text: c.text, blocks: c.blocks, encoded: c.encoded, metadata: c.metadata(r), same: same}
}

// message returns the post as Slack takes it.
func (p post) message(thread string) (message, error) {
	m := message{text: p.text.fallback(), blocks: p.encoded, metadata: &p.metadata, thread: thread}
	if m.blocks != nil {
		return m, nil
	}
	var err error
	m.blocks, err = encodeBlocks(p.blocks)
	return m, err
}

// paced makes a call when its turn has come. A call that has to wait, or that Slack sends away, is a
// *approvals.RetryError.
func (b *Bot) paced(c paced, call func() error) error {
	defer b.pace.enter(c.method)()
	began, answered := time.Now(), false // before its turn: what is learnt meanwhile is news to it
	if wait := b.pace.wait(c); wait > 0 {
		return &approvals.RetryError{After: wait, Err: fmt.Errorf("%s in %s: slowed down", c.method, c.channel)}
	}
	defer func() {
		if !answered { // a panic too
			b.pace.dropped(c)
		}
	}()
	err := call()
	after, limit := limited(err)
	if answered = err == nil || limit; answered {
		b.pace.done(c, began, after)
	}
	switch {
	case limit: // its next turn, which is behind those promised before
		after = max(after, b.pace.wait(c))
		return &approvals.RetryError{After: after, Err: fmt.Errorf("%s in %s: %w", c.method, c.channel, err)}
	case err != nil:
		return fmt.Errorf("%s in %s: %w", c.method, c.channel, err)
	}
	return nil
}

// post is one message to be posted, and how to recognise it when it is there already.
type post struct {
	text     phrase
	blocks   []slack.Block
	encoded  json.RawMessage // the blocks, where that has been done before
	metadata slack.SlackMetadata
	same     func(postedMessage) bool
	instead  string // the message whose place it takes, if that is still there
}

// deliver posts the messages in order where the run was asked for, or to the requester when that place is closed to
// the bot. It returns where the first one is.
func (b *Bot) deliver(ctx context.Context, n *approvals.Notification, posts []post) (approvals.Delivery, error) {
	d, err := b.postAll(ctx, n, n.Place.Channel, n.Place.Thread, posts)
	word, refused := refusal(err)
	if !refused || mendable(word) {
		return d, err
	}
	switch {
	case !elsewhere(word):
		return d, fmt.Errorf("%w: %w", err, approvals.ErrUndeliverable)
	case n.Copy != "": // which is for that channel, and for nobody else
		return d, unreachable(err)
	case n.Place.Direct:
		return d, unreachable(err)
	}
	b.log.Warn("cannot post in the conversation, writing to the requester",
		"run", n.Run, "channel", n.Place.Channel, "reason", word)
	return b.deliverDirect(ctx, n, displaced(n, word, posts))
}

// displaced says above the first of the posts why they are not where the run was asked for. word is how Slack refuses
// them there.
func displaced(n *approvals.Notification, word string, posts []post) []post {
	line := wordsDisplaced(room(n.Place.Channel), word)
	if n.Card != nil && n.Card.Status == approvals.RequestPending {
		line = append(line, wordsNobodyElseSees()...)
	}
	posts = slices.Clone(posts)
	if len(posts) > 0 {
		posts[0] = posts[0].under(stamp([]slack.Block{paragraph(line)}, string(n.ID)+".here"))
	}
	return posts
}

// under puts blocks above those of the post, where there is room for them.
func (p post) under(above []slack.Block) post {
	raw := p.encoded
	if raw == nil {
		var err error
		if raw, err = encodeBlocks(p.blocks); err != nil {
			return p
		}
	}
	over, err := encodeBlocks(above)
	blocks := append(blockValues(over), blockValues(raw)...)
	if err != nil || len(blocks) > maxBlocks {
		return p
	}
	if all, err := json.Marshal(blocks); err == nil && len(all) <= maxMessage {
		p.encoded = all
	}
	return p
}

// mendable reports whether an operator can make the same call succeed, so that it is worth repeating.
func mendable(word string) bool {
	switch word {
	case "missing_scope", "no_permission", "access_denied", "accesslimited", "team_added_to_org":
		return true
	}
	return endsToken(word) // not what is to be shown is the reason, but who shows it
}

// elsewhere reports whether the place is the reason for a refusal, rather than the message.
func elsewhere(word string) bool {
	switch word {
	case "channel_not_found", "not_in_channel", "is_archived",
		"restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel",
		"restricted_action_non_threadable_channel", "restricted_action_thread_locked",
		"cannot_reply_to_message", "thread_not_found", "message_limit_exceeded", "messages_tab_disabled":
		return true
	}
	return false
}

// unreachable says that nothing can be delivered to where err comes from.
func unreachable(err error) error {
	return fmt.Errorf("%w: %w: %w", err, approvals.ErrUndeliverable, approvals.ErrUnreachable)
}

// deliverDirect posts to the requester's conversation with the bot.
func (b *Bot) deliverDirect(ctx context.Context, n *approvals.Notification, posts []post) (approvals.Delivery, error) {
	requester, err := b.requester(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	return b.deliverTo(ctx, n, requester, posts)
}

// deliverTo posts to a person's conversation with the bot.
func (b *Bot) deliverTo(
	ctx context.Context, n *approvals.Notification, to approvals.UserID, posts []post,
) (approvals.Delivery, error) {
	if !isUserID(to.Local()) {
		return approvals.Delivery{}, unreachable(fmt.Errorf("%s is not in Slack", to))
	}
	channel, err := b.openDM(ctx, to.Local())
	if word, refused := refusal(err); refused && !mendable(word) {
		return approvals.Delivery{}, unreachable(err)
	} else if err != nil {
		return approvals.Delivery{}, err
	}
	d, err := b.postAll(ctx, n, channel, "", posts)
	switch word, refused := refusal(err); {
	case refused && elsewhere(word):
		return d, unreachable(err)
	case refused && !mendable(word):
		return d, fmt.Errorf("%w: %w", err, approvals.ErrUndeliverable)
	}
	return d, err
}

func (b *Bot) requester(ctx context.Context, n *approvals.Notification) (approvals.UserID, error) {
	if n.Card != nil {
		return n.Card.Requester, nil
	}
	run, err := b.service.Run(ctx, n.Workspace, n.Run)
	if errors.Is(err, approvals.ErrNotFound) {
		return "", fmt.Errorf("no requester: %w: %w", err, approvals.ErrUndeliverable)
	}
	if err != nil {
		return "", fmt.Errorf("find requester: %w", err)
	}
	return run.Requester, nil
}

// openDM returns the person's conversation with the bot, in its turn.
func (b *Bot) openDM(ctx context.Context, user string) (channel string, err error) {
	err = b.paced(paced{method: methodOpenDM, channel: user, what: user}, func() (err error) {
		channel, err = b.client.openDM(ctx, user)
		return err
	})
	return channel, err
}

func (c *Client) openDM(ctx context.Context, user string) (string, error) {
	parameters := &slack.OpenConversationParameters{Users: []string{user}, ReturnIM: false}
	channel, _, _, err := c.api.OpenConversationContext(ctx, parameters)
	if err != nil {
		return "", err
	}
	return channel.ID, nil
}

// postAll posts the messages that are not there yet, in order.
func (b *Bot) postAll(
	ctx context.Context, n *approvals.Notification, channel, thread string, posts []post,
) (approvals.Delivery, error) {
	there, err := b.earlier(ctx, n, channel, b.roots.of(channel, thread))
	if err != nil {
		return approvals.Delivery{}, err
	}
	var first approvals.Delivery
	for i, p := range posts {
		ts, in := find(there, p)
		if ts == "" && p.instead != "" {
			ts, in, err = p.instead, thread, b.repost(ctx, channel, p.instead, p)
			if word, refused := refusal(err); gone(err) || refused && !mendable(word) { // better twice than never
				ts, err = "", nil
			}
		}
		switch {
		case err != nil:
		case ts == "":
			ts, in, err = b.postOne(ctx, n, channel, b.roots.of(channel, thread), p)
			if word, _ := refusal(err); thread != "" && unthreadable(word) {
				var outside []postedMessage
				if outside, err = b.earlier(ctx, n, channel, ""); err != nil {
					return approvals.Delivery{}, err
				}
				there = append(there, outside...)
				ts, in, err = b.postOutside(ctx, n, channel, there, p)
			}
		case n.Card != nil: // what it shows may have been decided since
			err = b.repost(ctx, channel, ts, p)
		}
		if err != nil {
			if later, off := errors.AsType[*approvals.RetryError](err); off && i == 0 && len(there) == 0 {
				later.Unsent = true
				b.unsent.add(n.ID)
			} else {
				b.unsent.settle(n.ID)
			}
			return approvals.Delivery{}, err
		}
		b.unsent.settle(n.ID)
		if i == 0 {
			first = approvals.Delivery{Channel: channel, Message: ts}
		}
		if thread != "" && (in == "" || in == ts) && b.roots.set(channel, thread, ts) && i < len(posts)-1 {
			below, err := b.earlier(ctx, n, channel, ts)
			if err != nil {
				return approvals.Delivery{}, err
			}
			there = append(there, below...)
		}
	}
	b.doubts.settle(n.ID)
	return first, nil
}

// earlier lists the bot's messages in the place when an earlier attempt may have posted there.
func (b *Bot) earlier(ctx context.Context, n *approvals.Notification, channel, thread string) ([]postedMessage, error) {
	if b.surelyFirst(n) {
		return nil, nil
	}
	there, err := b.ownAbout(ctx, n, channel, thread)
	if word, _ := refusal(err); word == "thread_not_found" && thread != "" { // then it went to the conversation
		there, err = b.ownAbout(ctx, n, channel, "")
	}
	if word, refused := refusal(err); refused {
		// Without the right to read back, a doubled message is the lesser harm.
		b.log.Warn("cannot look for an earlier post", "run", n.Run, "channel", channel, "reason", word)
		return nil, nil
	}
	return there, err
}

// surelyFirst reports whether nothing of the notification can be in Slack: it has never been tried, or was put off each
// time. Where other processes deliver too the record says so, else this process remembers. What was made at a time to
// come may be of the process before, whose clock was ahead.
func (b *Bot) surelyFirst(n *approvals.Notification) bool {
	switch {
	case b.doubts.has(n.ID) || n.Begun || !n.Created.After(b.started):
		return false
	case b.alone:
		return !n.Created.After(time.Now()) && n.Attempts == 0 || b.unsent.has(n.ID)
	}
	return true
}

// ownAbout lists the bot's messages since about when the notification was made, when there is a turn for it.
func (b *Bot) ownAbout(
	ctx context.Context, n *approvals.Notification, channel, thread string,
) (there []postedMessage, err error) {
	// The store's clock may be ahead of Slack's. A thread is short, so that a look far back costs little; a post that
	// is not seen is doubled.
	drift := 24 * time.Hour
	turn := paced{method: methodReplies, channel: channel, what: string(n.ID)}
	if thread == "" {
		turn.method, drift = methodHistory, 20*time.Minute
	}
	err = b.paced(turn, func() error {
		var err error
		there, err = b.client.own(ctx, channel, thread, n.Created.Add(-drift))
		return err
	})
	return there, err
}

// find returns the message that the post is already, and its thread.
func find(there []postedMessage, p post) (ts, thread string) {
	for _, m := range there {
		if p.same(m) {
			return m.TS, m.ThreadTS
		}
	}
	return "", ""
}

// postOne posts a message and returns the thread that it is in too, as postReply does.
func (b *Bot) postOne(
	ctx context.Context, n *approvals.Notification, channel, thread string, p post,
) (ts, in string, err error) {
	m, err := p.message(thread)
	if err != nil {
		return "", "", err
	}
	turn := paced{
		method: methodPost, channel: channel, what: string(n.ID), cosmetic: n.Kind == approvals.NotifyReminder,
	}
	err = b.paced(turn, func() error {
		if n.Kind == approvals.NotifyCard {
			if err := fault.Error("card.before_post"); err != nil {
				return err
			}
		}
		var err error
		ts, in, err = b.client.postReply(ctx, channel, m)
		if uncertain(err) {
			b.doubts.add(n.ID)
		}
		return err
	})
	if err == nil && n.Kind == approvals.NotifyCard {
		fault.Point("card.after_post_before_ts")
	}
	return ts, in, err
}
