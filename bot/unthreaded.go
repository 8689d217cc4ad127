package bot

import (
	"context"
	"sync"

	"countersign/approvals"
)

// mostRoots bounds how many lost threads are remembered.
const mostRoots = 10_000

// roots are the messages that take the place of a thread's first one. Slack posts a reply to a message that was deleted
// before anybody had replied into the channel, without a word: what the bot says next is to stand with it.
type roots struct {
	mu sync.Mutex
	at map[string]string
}

func newRoots() *roots { return &roots{at: map[string]string{}} }

// of returns where to reply instead of in the thread.
func (r *roots) of(channel, thread string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if root, ok := r.at[channel+" "+thread]; ok {
		return root
	}
	return thread
}

// set has root take the place of the thread, and reports whether it has not done so before.
func (r *roots) set(channel, thread, root string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := channel + " " + thread
	if r.at[key] == root {
		return false
	}
	if len(r.at) >= mostRoots {
		clear(r.at)
	}
	r.at[key] = root
	return true
}

// unthreadable reports whether Slack refuses a reply because of its thread, so that the conversation itself takes it.
func unthreadable(word string) bool {
	switch word {
	case "thread_not_found", "cannot_reply_to_message",
		"restricted_action_thread_locked", "restricted_action_non_threadable_channel":
		return true
	}
	return false
}

// postOutside posts in the conversation itself what a thread in it does not take, unless it is among what an earlier
// attempt has posted there.
func (b *Bot) postOutside(
	ctx context.Context, n *approvals.Notification, channel string, there []postedMessage, p post,
) (ts, in string, err error) {
	b.log.Info("a thread is closed; what belongs to it stands in the conversation", "channel", channel)
	if ts, in = find(there, p); ts == "" {
		return b.postOne(ctx, n, channel, "", p)
	}
	if n.Card != nil {
		err = b.repost(ctx, channel, ts, p)
	}
	return ts, in, err
}

// insistTries is how often an update that Slack refuses for a reason nobody here knows is tried again.
const insistTries = 5

// insist deals with an update that Slack refused, when trying the same again is not certain to succeed. A settled card
// loses its buttons at least: words alone take its place. nil means that they do, errAnew that the card is to be posted
// once more.
func (b *Bot) insist(ctx context.Context, n *approvals.Notification, at approvals.Card, shown card, err error) error {
	word, _ := refusal(err)
	if n.Card.Status != approvals.RequestPending {
		bare := shown
		bare.blocks, bare.encoded = paragraphs(shown.text), nil
		if b.update(ctx, at, bare, n.Card) == nil {
			b.log.Warn("Slack refuses a card, showing words alone", "request", n.Card.ID, "reason", word)
			return nil
		}
	}
	switch {
	case n.Attempts < insistTries && !unusable(word):
		return err
	case n.Card.Status == approvals.RequestPending && unusable(word):
		return undeliverable(err)
	}
	b.log.Warn("Slack refuses to change a card, posting it anew", "request", n.Card.ID, "reason", word)
	return errAnew
}

// unusable reports whether Slack's word says that it will never take these arguments.
func unusable(word string) bool {
	switch word {
	case "invalid_arguments", "invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long",
		"no_text", "metadata_too_large", "invalid_metadata_format", "invalid_array_arg", "invalid_form_data":
		return true
	}
	return false
}
