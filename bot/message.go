package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

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

func (m message) form() (url.Values, error) {
	form := url.Values{"text": {m.text}, "blocks": {string(m.blocks)}}
	if m.thread != "" {
		form.Set("thread_ts", m.thread)
	}
	if m.metadata != nil {
		raw, err := json.Marshal(m.metadata)
		if err != nil {
			return nil, fmt.Errorf("encode metadata: %w", err)
		}
		form.Set("metadata", string(raw))
	}
	return form, nil
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
	form, err := m.form()
	if err != nil {
		return "", "", err
	}
	form.Set("channel", channel)
	form.Set("unfurl_links", "false")
	form.Set("unfurl_media", "false")
	var posted struct {
		TS      string `json:"ts"`
		Message *struct {
			ThreadTS string `json:"thread_ts"`
		} `json:"message"`
	}
	if _, err := c.call(ctx, methodPost, c.token, form, &posted); err != nil {
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
	form, err := m.form()
	if err != nil {
		return err
	}
	form.Set("channel", channel)
	form.Set("ts", ts)
	_, err = c.call(ctx, methodUpdate, c.token, form, nil)
	return err
}

// postEphemeral shows a message to one person in a conversation.
func (c *Client) postEphemeral(ctx context.Context, channel, user string, m message) error {
	form, err := m.form()
	if err != nil {
		return err
	}
	form.Set("channel", channel)
	form.Set("user", user)
	_, err = c.call(ctx, methodEphemeral, c.token, form, nil)
	return err
}
