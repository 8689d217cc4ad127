package bot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// maxAnswer bounds what is read of one answer of the Web API.
const maxAnswer = 16 << 20

// call makes one request that slack-go should not make for us: it decodes every block of every message it reads, which
// costs more than all the rest of a call, and an element it does not know makes the whole answer unreadable. out
// receives the answer unless it is nil; the header comes back for the scopes in it. Errors are of the kinds slack-go
// returns.
func (c *Client) call(ctx context.Context, method, token string, form url.Values, out any) (http.Header, error) {
	return c.send(ctx, method, token, "application/x-www-form-urlencoded", encodeForm(form), out)
}

// callJSON is call, with the bot's token, for a method that takes JSON: of those that write, nearly all do. See
// https://docs.slack.dev/apis/web-api#posting-json.
func (c *Client) callJSON(ctx context.Context, method string, body []byte, out any) (http.Header, error) {
	return c.send(ctx, method, c.token, "application/json; charset=utf-8", body, out)
}

func (c *Client) send(
	ctx context.Context, method, token, contentType string, sent []byte, out any,
) (http.Header, error) {
	if late(ctx) {
		return nil, fmt.Errorf("call %s: %w", method, context.DeadlineExceeded)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.apiURL+method, bytes.NewReader(sent))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", contentType)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	defer resp.Body.Close()
	if err := statusError(resp); err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	buffer := takeBuffer(resp.ContentLength)
	defer buffer.giveBack()
	_, err = buffer.ReadFrom(io.LimitReader(resp.Body, maxAnswer))
	body := buffer.Bytes() // which what is decoded from it does not refer to
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	if strings.HasPrefix(method, "chat.") {
		body = without(body, repeated)
	}
	status, err := statusOf(body, out != nil)
	if err != nil {
		return nil, fmt.Errorf("call %s: unreadable answer: %w", method, err)
	}
	if token == c.token {
		c.standing.heard(method, status.Error)
		c.regranted(resp.Header.Get("X-OAuth-Scopes"))
	}
	if !status.OK {
		refused := slack.SlackErrorResponse{Err: status.Error, Needed: status.Needed}
		return nil, fmt.Errorf("call %s: %w", method, refused)
	}
	if out == nil {
		return resp.Header, nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return nil, fmt.Errorf("call %s: unreadable answer: %w", method, err)
	}
	return resp.Header, nil
}

// answerStatus is what every answer of the Web API says.
type answerStatus struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error"`
	Needed string `json:"needed"`
}

// statusOf reads what an answer says of itself. One that begins with the word that all is well, as Slack's do, is not
// decoded for it, only checked to be JSON, and not even that where the rest of it is decoded anyway.
func statusOf(body []byte, decoded bool) (s answerStatus, err error) {
	if bytes.HasPrefix(body, []byte(`{"ok":true,`)) && bytes.Count(body, []byte(`"ok"`)) == 1 &&
		!bytes.Contains(body, []byte(`"error"`)) && (decoded || json.Valid(body)) {
		return answerStatus{OK: true}, nil
	}
	err = json.Unmarshal(body, &s)
	return s, err
}

// late reports whether the deadline has passed. A process that was stopped for a while, and goes on, may find that out
// here before the timer of ctx does: somebody else has taken its work over by then.
func late(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// repeated is what the answers of the methods about messages repeat of one that was posted or changed; nobody reads it.
var repeated = omit{"message": {"blocks": nil, "text": nil, "metadata": nil, "bot_profile": nil}}

func statusError(resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			seconds = 1
		}
		return &slack.RateLimitedError{RetryAfter: time.Duration(seconds) * time.Second}
	case resp.StatusCode != http.StatusOK:
		return slack.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	}
	return nil
}

// refusal returns Slack's error word when err is an answer of Slack that says nothing was done.
func refusal(err error) (string, bool) {
	var e slack.SlackErrorResponse
	if !errors.As(err, &e) {
		return "", false
	}
	switch e.Err {
	case "", "fatal_error", "internal_error", "request_timeout", "service_unavailable", "ratelimited", "rate_limited",
		"update_failed", "external_channel_migrating":
		return "", false
	}
	return e.Err, true
}

// limited returns how long Slack asks to wait when err says that there were too many calls.
func limited(err error) (time.Duration, bool) {
	var r *slack.RateLimitedError
	if errors.As(err, &r) {
		return max(r.RetryAfter, time.Second), true
	}
	var status slack.StatusCodeError
	if errors.As(err, &status) && status.Code == http.StatusTooManyRequests {
		return time.Second, true
	}
	var e slack.SlackErrorResponse
	if errors.As(err, &e) && (e.Err == "ratelimited" || e.Err == "rate_limited") {
		return time.Second, true
	}
	return 0, false
}

// uncertain reports whether the call may have been carried out although it failed.
func uncertain(err error) bool {
	if err == nil {
		return false
	}
	_, refused := refusal(err)
	_, waits := limited(err)
	return !refused && !waits
}

// postedMessage is what is read of a message that is already in a conversation.
type postedMessage struct {
	TS       string `json:"ts"`
	ThreadTS string `json:"thread_ts"`
	User     string `json:"user"`
	BotID    string `json:"bot_id"`
	Blocks   []struct {
		ID       string `json:"block_id"`
		Task     string `json:"task_id"` // of a task card, as what follows
		Title    string `json:"title"`
		Status   string `json:"status"`
		Elements []struct {
			Text any `json:"text"` // a string in a context block
		} `json:"elements"`
	} `json:"blocks"`
	Metadata struct {
		EventType    string         `json:"event_type"`
		EventPayload map[string]any `json:"event_payload"`
	} `json:"metadata"`
}
