package bot

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slack-go/slack"
)

// message is what chat.postMessage, chat.update and chat.postEphemeral take.
type message struct {
	text     string          // for notifications and screen readers
	blocks   json.RawMessage // an array
	metadata *slack.SlackMetadata
	thread   string // ts of the message it answers; empty begins none
}

// newMessage returns a message of blocks for which p stands in notifications.
func newMessage(p phrase, blocks []slack.Block) (message, error) {
	raw, err := encodeBlocks(blocks)
	return message{text: p.fallback(), blocks: raw}, err
}

// encode returns the message as Slack takes it in JSON, which costs less than a form in which most characters of the
// blocks are escaped. begin writes what comes before it.
func (m message) encode(begin func(*blockWriter)) ([]byte, error) {
	const others = 512
	w := blockWriter{out: make([]byte, 0, len(m.blocks)+len(m.text)+others)}
	begin(&w)
	w.value("text", m.text)
	if len(m.blocks) > 0 {
		w.key("blocks")
		w.out = append(w.out, m.blocks...)
	}
	w.optional("thread_ts", m.thread)
	if m.metadata != nil {
		w.key("metadata")
		w.other(m.metadata)
	}
	w.end()
	if w.err != nil {
		return nil, fmt.Errorf("encode a message: %w", w.err)
	}
	return w.out, nil
}

// postMessage posts in a conversation and returns the message's ts. Links are not unfolded: what a model writes may
// name an address that tells somebody what it was asked.
func (c *Client) postMessage(ctx context.Context, channel string, m message) (ts string, err error) {
	ts, _, err = c.postReply(ctx, channel, m)
	return ts, err
}

// postReply is postMessage, and returns the thread that the message is in too: none, when Slack has put it into the
// conversation itself because the message that it answers is gone.
func (c *Client) postReply(ctx context.Context, channel string, m message) (ts, thread string, err error) {
	body, err := m.encode(func(w *blockWriter) {
		w.begin("channel", channel)
		w.bool("unfurl_links", false)
		w.bool("unfurl_media", false)
	})
	if err != nil {
		return "", "", err
	}
	var posted struct {
		TS      string `json:"ts"`
		Message *struct {
			ThreadTS string `json:"thread_ts"`
		} `json:"message"`
	}
	if _, err := c.callJSON(ctx, methodPost, body, &posted); err != nil {
		return "", "", err
	}
	switch {
	case posted.TS == "":
		return "", "", fmt.Errorf("call %s: the answer does not say which message it is", methodPost)
	case posted.Message == nil: // servers that do not repeat it
		return posted.TS, m.thread, nil
	}
	return posted.TS, posted.Message.ThreadTS, nil
}

// updateMessage replaces a message. The answer repeats the whole message; only whether it is one is read.
func (c *Client) updateMessage(ctx context.Context, channel, ts string, m message) error {
	body, err := m.encode(func(w *blockWriter) {
		w.begin("channel", channel)
		w.value("ts", ts)
	})
	if err != nil {
		return err
	}
	_, err = c.callJSON(ctx, methodUpdate, body, nil)
	return err
}

// postEphemeral shows a message to one person in a conversation.
func (c *Client) postEphemeral(ctx context.Context, channel, user string, m message) error {
	body, err := m.encode(func(w *blockWriter) {
		w.begin("channel", channel)
		w.value("user", user)
	})
	if err != nil {
		return err
	}
	_, err = c.callJSON(ctx, methodEphemeral, body, nil)
	return err
}
