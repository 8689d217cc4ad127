package slackdev

import (
	"context"
	"fmt"
	"slices"
)

// pageNotifications is how many of a person's notifications the page lists.
const pageNotifications = 60

// pageCalled are the marks of a person: how many messages call them that they have not read (mentions and direct
// messages, which Slack counts in a red badge), and whether anything else is new.
func (w *Workspace) pageCalled(user string) (called int, news bool) {
	for _, n := range w.notifications(user) {
		switch {
		case n.Unread && n.Kind != "reply":
			called++
		case n.Unread:
			news = true
		}
	}
	for _, id := range w.corder {
		news = news || w.unread(user, w.convs[id]) > 0
	}
	return called, news
}

// unread counts the messages of a conversation that a person has not seen. Replies count in their threads.
func (w *Workspace) unread(user string, c *conversation) int {
	if !slices.Contains(c.Members, user) {
		return 0
	}
	n, seen := 0, w.attention.read[user][c.ID]
	for _, m := range c.messages {
		reply := m.ThreadTS != "" && m.ThreadTS != m.TS && !m.Broadcast
		if m.TS > seen && m.User != user && !reply {
			n++
		}
	}
	return n
}

// calledIn counts the unread mentions and direct messages of a conversation, its threads included.
func (w *Workspace) calledIn(user, channel string) int {
	n := 0
	for _, called := range w.notifications(user) {
		if called.Unread && called.Channel == channel && called.Kind != "reply" {
			n++
		}
	}
	return n
}

// pageNotified lists a person's newest notifications, newest first.
func (w *Workspace) pageNotified(user string) []any {
	out := []any{}
	all := w.notifications(user)
	for _, n := range slices.Backward(all[max(0, len(all)-pageNotifications):]) {
		out = append(out, map[string]any{
			"kind": n.Kind, "channel": n.Channel, "thread": n.Thread, "ts": n.TS, "user": n.From, "unread": n.Unread,
			"text": w.convs[n.Channel].byTS[n.TS].Text,
		})
	}
	return out
}

// pageRead notes what the page has shown to somebody.
func (w *Workspace) pageRead(_ context.Context, in pageAct) (pageAnswer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, _, err := w.member(in.User, in.Channel); err != nil {
		return pageAnswer{}, fmt.Errorf("read: %w", err)
	}
	if w.markRead(in.User, in.Channel, in.Thread, in.TS) {
		w.touch()
	}
	return pageAnswer{}, nil
}

// pageStartOver begins the whole demonstration again; the page reconnects to what comes after it.
func (w *Workspace) pageStartOver(context.Context, pageAct) (pageAnswer, error) {
	if w.cfg.StartOver == nil {
		return pageAnswer{}, fmt.Errorf("start over: %w", ErrUnknown)
	}
	w.cfg.StartOver()
	return pageAnswer{}, nil
}
