package slackdev

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Post writes a message as a person (or as another app's bot, when the User is
// one) and returns its ts. Text is in Slack's wire form: mentions are <@U…>, and
// &, < and > that mean themselves are escaped. It raises app_mention when the
// bot is mentioned in a channel it belongs to, message.im in a direct message,
// and message.channels or message.groups elsewhere, each if subscribed.
func (w *Workspace) Post(ctx context.Context, user, channel, text, threadTS string) (string, error) {
	return w.say(ctx, user, channel, text, threadTS, nil)
}

func (w *Workspace) say(
	ctx context.Context, user, channel, text, threadTS string, files []File,
) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, c, err := w.writer(ctx, user, channel)
	if err != nil {
		return "", err
	}
	if threadTS != "" {
		parent, ok := c.byTS[threadTS]
		if !ok {
			return "", fmt.Errorf("thread %s: %w", threadTS, ErrNoMessage)
		}
		setDefault(&parent.ThreadTS, parent.TS)
		threadTS = parent.ThreadTS
	}
	m := &Message{User: user, Text: text, ThreadTS: threadTS, Blocks: richText(text), clientMsgID: uuid(), files: files}
	if u.Bot || u.WorkflowBot {
		m.BotID, m.clientMsgID = "B"+user[1:], ""
	}
	w.add(c, m)
	w.emitMessage(c, m)
	w.touch()
	return m.TS, nil
}

// Edit changes a message of that person. When the new text mentions the bot,
// app_mention is raised again under a new event id.
func (w *Workspace) Edit(ctx context.Context, user, channel, ts, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, c, err := w.writer(ctx, user, channel)
	if err != nil {
		return err
	}
	m, ok := c.byTS[ts]
	if !ok || m.User != user {
		return fmt.Errorf("message %s of %s: %w", ts, user, ErrNoMessage)
	}
	before := w.messageObject(c, m, false)
	m.Text, m.Blocks, m.Edited = text, richText(text), true
	m.Revision++
	w.emitChanged(c, m, before)
	w.emitMention(c, m)
	w.touch()
	return nil
}

// writer checks that a person may write in a channel. w.mu is held.
func (w *Workspace) writer(ctx context.Context, user, channel string) (*User, *conversation, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if w.life.Err() != nil {
		return nil, nil, ErrClosed
	}
	u, c, err := w.member(user, channel)
	if err != nil {
		return nil, nil, err
	}
	if c.Archived {
		return nil, nil, fmt.Errorf("channel %s: %w", channel, ErrArchived)
	}
	if c.AdminsPost && !u.Admin {
		return nil, nil, fmt.Errorf("channel %s: %w", channel, ErrRestricted)
	}
	return u, c, nil
}

// emitMessage raises what a new message raises. w.mu is held.
func (w *Workspace) emitMessage(c *conversation, m *Message) {
	if !c.BotMember {
		return
	}
	inner := w.messageObject(c, m, false)
	inner["channel"], inner["channel_type"], inner["event_ts"] = c.ID, c.kind(), m.TS
	w.addTeams(inner, c, m)
	w.emit(subscription(c), inner, c.ExtShared)
	if m.BotID != w.cfg.App.BotID {
		w.emitMention(c, m)
	}
}

// emitMention raises app_mention; in a direct message nothing does.
func (w *Workspace) emitMention(c *conversation, m *Message) {
	if !c.BotMember || c.im != "" || !strings.Contains(m.Text, "<@"+w.cfg.App.BotUserID) {
		return
	}
	inner := w.messageObject(c, m, false)
	inner["type"], inner["channel"], inner["event_ts"] = "app_mention", c.ID, m.TS
	for _, key := range []string{
		"reply_count", "reply_users", "reply_users_count", "latest_reply", "is_locked", "subscribed",
		"subtype",
	} {
		delete(inner, key)
	}
	w.addTeams(inner, c, m)
	w.emit("app_mention", inner, c.ExtShared)
}

// addTeams says where the author of a message in a shared channel comes from.
func (w *Workspace) addTeams(inner map[string]any, c *conversation, m *Message) {
	if c.ExtShared {
		inner["user_team"], inner["source_team"] = w.teamOf(m.User), w.teamOf(m.User)
	}
}

func (w *Workspace) emitChanged(c *conversation, m *Message, before map[string]any) {
	w.emitSub(c, "message_changed", map[string]any{"message": w.messageObject(c, m, false), "previous_message": before})
}

func (w *Workspace) emitDeleted(c *conversation, m *Message, before map[string]any) {
	w.emitSub(c, "message_deleted", map[string]any{"deleted_ts": m.TS, "previous_message": before})
}

func (w *Workspace) emitSub(c *conversation, subtype string, extra map[string]any) {
	if !c.BotMember {
		return
	}
	ts := w.ids.ts()
	inner := map[string]any{
		"type": "message", "subtype": subtype, "hidden": true, "channel": c.ID,
		"channel_type": c.kind(), "ts": ts, "event_ts": ts,
	}
	maps.Copy(inner, extra)
	w.emit(subscription(c), inner, c.ExtShared)
}

// subscription is the event an app subscribes to for messages of a conversation.
func subscription(c *conversation) string {
	return map[string]string{
		"im": "message.im", "mpim": "message.mpim", "group": "message.groups", "channel": "message.channels",
	}[c.kind()]
}

// OpenHome looks at the App Home as a person; it raises app_home_opened.
func (w *Workspace) OpenHome(ctx context.Context, user string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := w.signedIn(user); err != nil {
		return err
	}
	inner := map[string]any{
		"type": "app_home_opened", "user": user, "channel": w.openDM(user).ID,
		"tab": "home", "event_ts": w.ids.ts(),
	}
	if v, ok := w.views[w.homes[user]]; ok {
		inner["view"] = w.viewObject(v, nil)
	}
	w.emit("app_home_opened", inner, false)
	w.touch()
	return nil
}

// token pattern of Slack's wire text: <@U…>, <#C…>, <!…>, <https://…|label>.
const wireToken = `<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>`

// richText is the block Slack's client adds to what a person writes.
func richText(text string) []byte {
	pattern := regexp.MustCompile(wireToken)
	plain := func(s string) string {
		return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
	}
	var elements []any
	addText := func(s string) {
		if s != "" {
			elements = append(elements, map[string]any{"type": "text", "text": plain(s)})
		}
	}
	at := 0
	for _, loc := range pattern.FindAllStringSubmatchIndex(text, -1) {
		addText(text[at:loc[0]])
		at = loc[1]
		sigil, body := text[loc[2]:loc[3]], text[loc[4]:loc[5]]
		switch {
		case sigil == "@":
			elements = append(elements, map[string]any{"type": "user", "user_id": body})
		case sigil == "#":
			elements = append(elements, map[string]any{"type": "channel", "channel_id": body})
		case sigil == "!" && strings.HasPrefix(body, "subteam^"):
			elements = append(elements, map[string]any{
				"type": "usergroup", "usergroup_id": strings.TrimPrefix(body, "subteam^"),
			})
		case sigil == "!" && slices.Contains([]string{"here", "channel", "everyone"}, body):
			elements = append(elements, map[string]any{"type": "broadcast", "range": body})
		case sigil == "":
			elements = append(elements, map[string]any{"type": "link", "url": plain(body)})
		default:
			addText(text[loc[0]:loc[1]])
		}
	}
	addText(text[at:])
	if elements == nil {
		return nil
	}
	return encode([]any{map[string]any{
		"type": "rich_text", "block_id": shortID(),
		"elements": []any{map[string]any{"type": "rich_text_section", "elements": elements}},
	}})
}
