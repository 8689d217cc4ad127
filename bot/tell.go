package bot

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// whisper shows a sentence to one person in a conversation, or in their conversation with the bot when that fails.
func (b *Bot) whisper(ctx context.Context, channel, thread, user string, p phrase) {
	err := b.ephemeral(ctx, channel, thread, user, p, []slack.Block{paragraph(p)})
	if err != nil {
		err = b.direct(ctx, user, p)
	}
	if err != nil {
		b.log.Warn("could not tell a person", "user", user, "channel", channel, "error", err)
	}
}

// ephemeral posts to one person in a conversation.
func (b *Bot) ephemeral(ctx context.Context, channel, thread, user string, p phrase, blocks []slack.Block) error {
	if channel == "" {
		return errors.New("no conversation")
	}
	m, err := newMessage(p, blocks)
	if err != nil {
		return err
	}
	m.thread = thread
	return b.patiently(ctx, methodEphemeral, channel, func() error {
		return b.client.postEphemeral(ctx, channel, user, m)
	})
}

// direct posts to a person's conversation with the bot.
func (b *Bot) direct(ctx context.Context, user string, p phrase) error {
	return b.directly(ctx, user, p, paragraphs(p))
}

// directly is direct for what is more than words.
func (b *Bot) directly(ctx context.Context, user string, p phrase, blocks []slack.Block) error {
	var channel string
	err := b.patiently(ctx, methodOpenDM, user, func() (err error) {
		channel, err = b.client.openDM(ctx, user)
		return err
	})
	if err != nil {
		return err
	}
	m, err := newMessage(p, blocks)
	if err != nil {
		return err
	}
	return b.patiently(ctx, methodPost, channel, func() error {
		_, err := b.client.postMessage(ctx, channel, m)
		return err
	})
}

// patiently repeats a call that Slack sends away for a moment. It is for words to people, which nobody repeats later.
func (b *Bot) patiently(ctx context.Context, method, channel string, call func() error) error {
	const attempts = 3
	turn := paced{method: method, channel: channel, what: rand.Text()}
	defer b.pace.forgo(turn)
	var err error
	for range attempts {
		if err = b.paced(turn, call); err == nil {
			return nil
		}
		retry, later := errors.AsType[*approvals.RetryError](err)
		if !later || retry.After > followTime/2 || !sleep(ctx, retry.After) {
			return err
		}
	}
	return err
}

// hookSender posts to response URLs.
type hookSender struct {
	client *http.Client
	api    *url.URL
}

func newHookSender(c *http.Client, api *url.URL) *hookSender {
	return &hookSender{api: api, client: &http.Client{
		Transport: c.Transport, Timeout: c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// message is what a response URL takes.
type hookMessage struct {
	Text            string        `json:"text"`
	Blocks          []slack.Block `json:"blocks,omitempty"`
	ResponseType    string        `json:"response_type"`
	ReplaceOriginal bool          `json:"replace_original"`
}

// errUntrustedHook is returned for addresses that are not Slack's.
var errUntrustedHook = errors.New("the response URL is not Slack's")

// send posts an ephemeral message. Its errors hold no address.
func (h *hookSender) send(ctx context.Context, to secretURL, m hookMessage) error {
	address, err := url.Parse(string(to))
	if err != nil || !h.trusted(address) {
		return errUntrustedHook
	}
	m.ResponseType = "ephemeral"
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("response URL: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(to), bytes.NewReader(body))
	if err != nil {
		return errors.New("response URL: unusable")
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := h.client.Do(req)
	if err != nil {
		return fmt.Errorf("response URL: %w", withoutAddress(err))
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("response URL: HTTP %d", resp.StatusCode)
	}
	if !taken(said) {
		return errors.New("response URL: not taken")
	}
	return nil
}

// taken reports whether the answer of a response URL says that Slack has shown the message: by the word ok, in JSON, or
// not at all.
func taken(answer []byte) bool {
	var said answerStatus
	if err := json.Unmarshal(answer, &said); err == nil {
		return said.OK
	}
	text := string(bytes.TrimSpace(answer))
	return text == "" || text == "ok"
}

// trusted reports whether the address is Slack's, or of the server that the Web API was configured to be.
func (h *hookSender) trusted(u *url.URL) bool {
	if u.Scheme == h.api.Scheme && u.Host == h.api.Host {
		return true
	}
	return u.Scheme == "https" && (u.Host == "hooks.slack.com" || u.Host == "hooks.slack-gov.com")
}

func withoutAddress(err error) error {
	var where *url.Error
	if errors.As(err, &where) {
		return where.Err
	}
	return err
}
