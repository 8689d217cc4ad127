package slackdev

import (
	"encoding/json"
	"slices"
	"strings"
)

// add stores a new message and returns it. w.mu is held.
func (w *Workspace) add(c *conversation, m *Message) *Message {
	m.Channel, m.TS, m.Revision = c.ID, w.ids.ts(), 1
	if parent, ok := c.byTS[m.ThreadTS]; ok && parent.ThreadTS == "" {
		parent.ThreadTS = parent.TS
		parent.Revision++
	}
	c.messages = append(c.messages, m)
	c.byTS[m.TS] = m
	if w.chats[c.ID+"/"+m.TS] == nil { // nobody is called to a chat that they have opened
		w.notify(c, m)
	}
	if m.BotID == w.cfg.App.BotID {
		delete(w.statuses, c.ID+"/"+m.ThreadTS)
	}
	return m
}

// remove deletes a message, ephemeral ones included. w.mu is held.
func (w *Workspace) remove(m *Message) {
	drop := func(have *Message) bool { return have == m }
	if m.Ephemeral {
		w.ephemerals[m.VisibleTo] = slices.DeleteFunc(w.ephemerals[m.VisibleTo], drop)
		return
	}
	c := w.convs[m.Channel]
	c.messages = slices.DeleteFunc(c.messages, drop)
	delete(c.byTS, m.TS)
}

// addEphemeral stores a message for one person. w.mu is held.
func (w *Workspace) addEphemeral(user, channel, threadTS string, d draft) *Message {
	m := w.fromDraft(d)
	m.Channel, m.TS, m.ThreadTS, m.Revision = channel, w.ids.ts(), threadTS, 1
	m.Ephemeral, m.VisibleTo = true, user
	w.ephemerals[user] = append(w.ephemerals[user], m)
	return m
}

// messageObject is a message as the API and events show it.
func (w *Workspace) messageObject(c *conversation, m *Message, metadata bool) map[string]any {
	out := map[string]any{"type": "message", "user": m.User, "text": m.Text, "ts": m.TS, "team": w.teamOf(m.User)}
	if m.BotID != "" {
		out["bot_id"] = m.BotID
	}
	if m.appID != "" {
		out["app_id"] = m.appID
	}
	if m.BotID == w.cfg.App.BotID {
		out["bot_profile"] = map[string]any{
			"id": w.cfg.App.BotID, "app_id": w.cfg.App.ID, "name": w.cfg.App.Name, "deleted": false,
			"updated": 0, "team_id": w.cfg.Team.ID, "icons": map[string]any{},
		}
	}
	if m.clientMsgID != "" {
		out["client_msg_id"] = m.clientMsgID
	}
	if m.Blocks != nil {
		out["blocks"] = m.Blocks
	}
	if m.Edited {
		out["edited"] = map[string]any{"user": m.User, "ts": m.TS}
	}
	if m.Broadcast {
		out["subtype"] = "thread_broadcast"
	}
	if m.files != nil {
		out["files"], out["upload"], out["subtype"] = w.fileObjects(m.files), false, "file_share"
	}
	if m.Deleted {
		out["subtype"], out["hidden"] = "tombstone", true
	}
	if metadata && m.Metadata != nil {
		out["metadata"] = m.Metadata
	}
	if len(m.Reactions) > 0 {
		out["reactions"] = reactionObjects(m.Reactions)
	}
	w.addThread(out, c, m)
	return out
}

// addThread adds what Slack says about a reply or a parent.
func (w *Workspace) addThread(out map[string]any, c *conversation, m *Message) {
	if m.ThreadTS == "" {
		return
	}
	out["thread_ts"] = m.ThreadTS
	if m.ThreadTS != m.TS {
		if parent, ok := c.byTS[m.ThreadTS]; ok {
			out["parent_user_id"] = parent.User
		}
		return
	}
	var users []string
	count, latest := 0, ""
	for _, r := range c.messages {
		if r.ThreadTS == m.TS && r.TS != m.TS {
			count, latest = count+1, r.TS
			if !slices.Contains(users, r.User) {
				users = append(users, r.User)
			}
		}
	}
	out["reply_count"], out["reply_users_count"] = count, len(users)
	out["reply_users"], out["latest_reply"] = nonNil(users), latest
	out["is_locked"], out["subscribed"] = false, true
}

func (w *Workspace) teamOf(user string) string {
	if u, ok := w.users[user]; ok {
		return u.TeamID
	}
	return w.cfg.Team.ID
}

// Buttons lists the buttons of the message in reading order.
func (m Message) Buttons() []Button { return buttonsOf(m.Blocks) }

// Button finds a button by its action id.
func (m Message) Button(actionID string) (Button, bool) {
	i := slices.IndexFunc(m.Buttons(), func(b Button) bool { return b.ActionID == actionID })
	if i < 0 {
		return Button{}, false
	}
	return m.Buttons()[i], true
}

// Shown is everything a reader of the message sees as text: the blocks' texts,
// or Text when there are no blocks. It is not what notifications show; that is
// Text.
func (m Message) Shown() string {
	if m.Blocks == nil {
		return m.Text
	}
	return shownText(m.Blocks)
}

// Buttons lists the buttons of the view in reading order.
func (v View) Buttons() []Button { return buttonsOf(v.Blocks) }

// Shown is everything a reader of the view sees as text.
func (v View) Shown() string { return shownText(v.Blocks) }

func buttonsOf(blocks json.RawMessage) []Button {
	var out []Button
	for _, el := range interactive(blocks) {
		if el.kind() != "button" {
			continue
		}
		text, _ := el.def["text"].(map[string]any)
		_, confirm := el.def["confirm"].(map[string]any)
		out = append(out, Button{
			ActionID: el.actionID(), BlockID: el.blockID, Value: str(el.def["value"]), Text: str(text["text"]),
			Style: str(el.def["style"]), URL: str(el.def["url"]), Confirm: confirm,
		})
	}
	return out
}

// shownText walks blocks in order and joins the texts, one line per block.
func shownText(blocks json.RawMessage) string {
	var list []any
	if json.Unmarshal(blocks, &list) != nil {
		return ""
	}
	var lines []string
	for _, b := range list {
		var sb strings.Builder
		appendText(&sb, b)
		lines = append(lines, strings.TrimSpace(sb.String()))
	}
	return strings.Join(lines, "\n")
}

// appendText writes the visible parts of one block or element.
func appendText(sb *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			appendText(sb, item)
		}
	case map[string]any:
		appendObject(sb, v)
	}
}

func appendObject(sb *strings.Builder, m map[string]any) {
	switch m["type"] {
	case "user":
		sb.WriteString("<@" + str(m["user_id"]) + ">")
		return
	case "channel":
		sb.WriteString("<#" + str(m["channel_id"]) + ">")
		return
	case "usergroup":
		sb.WriteString("<!subteam^" + str(m["usergroup_id"]) + ">")
		return
	case "date":
		sb.WriteString(str(m["fallback"]))
		return
	case "emoji":
		sb.WriteString(":" + str(m["name"]) + ":")
		return
	}
	if s, ok := m["text"].(string); ok {
		sb.WriteString(s)
		if m["type"] == "plain_text" || m["type"] == "mrkdwn" {
			sb.WriteString("\n")
		}
		return
	}
	for _, key := range []string{
		"alt_text", "text", "label", "hint", "title", "details", "output", "fields", "elements", "element", "accessory",
		"rows", "tasks",
	} {
		switch part := m[key].(type) {
		case string:
			sb.WriteString(part + "\n")
		default:
			appendText(sb, part)
		}
	}
	if t, _ := m["type"].(string); strings.HasPrefix(t, "rich_text_") {
		sb.WriteString("\n")
	}
}

func str(v any) string {
	s, _ := v.(string)
	return s
}
