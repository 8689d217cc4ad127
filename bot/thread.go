package bot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/internal/visible"
)

var _ approvals.Reader = (*Bot)(nil)

// mostThreadPages bounds how much of a thread is read, 200 messages a page.
const mostThreadPages = 5

// Thread reads a thread for the run that was asked for in it. See approvals.Reader and
// https://docs.slack.dev/reference/methods/conversations.replies. Where the app may not read, it says so once in the
// log and asks no more for a while.
func (b *Bot) Thread(
	ctx context.Context, ws approvals.WorkspaceID, place approvals.Place, since time.Time,
) ([]approvals.Remark, error) {
	id, err := b.client.inWorkspace(ctx, ws)
	if err != nil {
		return nil, fmt.Errorf("read thread: %w", err)
	}
	if b.closed.has(place.Channel) {
		return nil, errThreadClosed
	}
	all, err := b.client.replies(ctx, place.Channel, place.Thread, since)
	word, refused := refusal(err)
	switch {
	case refused && word == "missing_scope":
		b.closed.add(place.Channel)
		b.warn.once("thread "+missing(err), func() {
			b.log.Warn("threads are not read: the Slack app lacks a scope", "scope", missing(err))
		})
		return nil, errThreadClosed
	case refused && !endsToken(word):
		b.log.Warn("a thread cannot be read", "channel", place.Channel, "reason", word)
		return nil, errThreadClosed
	case err != nil:
		return nil, fmt.Errorf("read thread: %w", err)
	}
	remarks := make([]approvals.Remark, 0, len(all))
	for _, m := range all {
		if r, ok := m.remark(id); ok {
			remarks = append(remarks, r)
		}
	}
	return remarks, nil
}

var errThreadClosed = &approvals.UnreadableError{Why: wordsThreadClosed}

// replies reads a thread, its first message too, as far back as since. See readings.
func (c *Client) replies(ctx context.Context, channel, thread string, since time.Time) (all []reply, err error) {
	form := url.Values{
		"channel": {channel}, "ts": {thread}, "include_all_metadata": {"true"}, "limit": {"200"},
		"oldest": {strconv.FormatInt(since.Unix(), 10) + ".000000"},
	}
	what := form.Encode()
	all = c.threadsRead.resume(what, form)
	for range mostThreadPages {
		var page struct {
			Messages []reply        `json:"messages"`
			Metadata cursorMetadata `json:"response_metadata"`
		}
		if err := c.ask(ctx, methodReplies, form, &page); err != nil {
			return nil, c.threadsRead.broken(what, all, form, err)
		}
		all = append(all, page.Messages...)
		if page.Metadata.NextCursor == "" {
			return all, nil
		}
		form.Set("cursor", page.Metadata.NextCursor)
	}
	return nil, approvals.ErrTooLong
}

// reply is what is read of a message in a thread.
type reply struct {
	postedMessage
	Type    string       `json:"type"`
	Subtype string       `json:"subtype"`
	Text    string       `json:"text"`
	Files   []attachment `json:"files"`
}

// remark returns the message for approvals. ok is false for what nobody said: that somebody came or left.
func (m *reply) remark(id identity) (r approvals.Remark, ok bool) {
	r = approvals.Remark{Message: m.TS, At: timeOfTS(m.TS)}
	if m.User == id.botUser || m.BotID != "" && m.BotID == id.botID {
		run, _ := m.Metadata.EventPayload["run"].(string)
		request, _ := m.Metadata.EventPayload["request"].(string)
		r.Own, r.Run, r.Request = true, approvals.RunID(run), approvals.RequestID(request)
		return r, true
	}
	if !slices.Contains([]string{"", "file_share", "thread_broadcast", "me_message", "bot_message"}, m.Subtype) {
		return r, false
	}
	if m.BotID == "" && isUserID(m.User) { // else an app wrote it, perhaps in somebody's name
		r.By = approvals.NewUserID(id.workspace, m.User)
	}
	r.ToBot = saysTo(m.Text, id.botUser)
	r.Text, _ = visible.Text(withoutMention(m.Text, id.botUser), visible.ManyLines)
	r.Files = files(m.Files)
	return r, true
}

// saysTo reports whether a text mentions the user.
func saysTo(text, user string) bool {
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if m[1] == user {
			return true
		}
	}
	return false
}

// timeOfTS is when a message was written; the zero time where its ts says nothing.
func timeOfTS(ts string) time.Time {
	whole, part, _ := strings.Cut(ts, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	micro, err2 := strconv.ParseInt(part, 10, 64)
	if errors.Join(err, err2) != nil {
		return time.Time{}
	}
	return time.Unix(sec, micro*int64(time.Microsecond)).UTC()
}

// warnings remembers what was warned of. The zero value is ready.
type warnings struct{ said sync.Map }

// once calls say unless it was called for the same thing before.
func (w *warnings) once(what string, say func()) {
	if _, before := w.said.LoadOrStore(what, true); !before {
		say()
	}
}

// places remembers conversations or methods, at most a thousand. The zero value is ready.
type places struct {
	mu  sync.Mutex
	all map[string]bool
}

func (p *places) add(channel string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil || len(p.all) >= 1000 {
		p.all = map[string]bool{}
	}
	p.all[channel] = true
}

// addNew is add, and reports whether it was not remembered before.
func (p *places) addNew(channel string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[channel] {
		return false
	}
	if p.all == nil || len(p.all) >= 1000 {
		p.all = map[string]bool{}
	}
	p.all[channel] = true
	return true
}

// take reports whether the conversation was remembered, and forgets it.
func (p *places) take(channel string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := p.all[channel]
	delete(p.all, channel)
	return had
}

func (p *places) has(channel string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[channel]
}

// closedFor is for how long nothing is tried that Slack has refused for good: an app may be installed again, with
// more scopes, or be invited.
const closedFor = 10 * time.Minute

// closures remembers conversations and methods for closedFor, at most a thousand. The zero value is ready.
type closures struct {
	mu    sync.Mutex
	since map[string]time.Time
}

func (c *closures) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since == nil || len(c.since) >= 1000 {
		c.since = map[string]time.Time{}
	}
	c.since[what] = time.Now()
}

func (c *closures) has(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, ok := c.since[what]
	return ok && time.Since(since) < closedFor
}

// missing names the scope that Slack says is missing.
func missing(err error) string {
	var e slack.SlackErrorResponse
	errors.As(err, &e)
	return label(e.Needed, 60)
}
