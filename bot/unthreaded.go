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

func (r *roots) set(channel, thread, root string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.at) >= mostRoots {
		clear(r.at)
	}
	r.at[channel+" "+thread] = root
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

// postIn posts in the thread, or in the conversation when there is no such thread any more.
func (b *Bot) postIn(ctx context.Context, channel string, m message) (ts string, err error) {
	asked := m.thread
	ts, thread, err := b.client.postReply(ctx, channel, m)
	if word, _ := refusal(err); asked != "" && unthreadable(word) {
		m.thread = ""
		ts, thread, err = b.client.postReply(ctx, channel, m)
	}
	if err == nil && asked != "" && thread == "" {
		b.log.Info("a thread is gone; what belongs to it stands in the conversation", "channel", channel)
		b.roots.set(channel, asked, ts)
	}
	return ts, err
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
