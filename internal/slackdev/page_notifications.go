package slackdev

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Notification says that Slack called a person to a message: as a mention of them, of a group of theirs or of
// everybody; as a direct message; or as a reply in a thread that they follow. An edited message calls nobody: Slack
// does not say that it would, so who must be reached has to be named when a message is posted.
type Notification struct {
	Kind    string // "mention", "dm" or "reply"
	Channel string
	Thread  string // of a reply
	TS      string
	From    string
	Unread  bool
}

// attention is what people were called to, and how far they have read.
type attention struct {
	called map[string][]Notification    // by person, oldest first
	read   map[string]map[string]string // person -> conversation or "conversation/thread" -> newest ts read
}

// Notifications lists what a person was called to, oldest first. Messages that were deleted since are left out.
func (w *Workspace) Notifications(user string) []Notification {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.notifications(user)
}

func (w *Workspace) notifications(user string) []Notification {
	var out []Notification
	for _, n := range w.attention.called[user] {
		c, ok := w.convs[n.Channel]
		if !ok || c.byTS[n.TS] == nil || !slices.Contains(c.Members, user) {
			continue
		}
		n.Unread = n.TS > w.attention.read[user][readKey(n.Channel, n.Thread)]
		out = append(out, n)
	}
	return out
}

func readKey(channel, thread string) string {
	if thread == "" {
		return channel
	}
	return channel + "/" + thread
}

// markRead notes that a person has seen a conversation or thread up to a message, and that this did not go back.
// w.mu is held.
func (w *Workspace) markRead(user, channel, thread, ts string) bool {
	if w.attention.read == nil {
		w.attention.read = map[string]map[string]string{}
	}
	marks := w.attention.read[user]
	if marks == nil {
		marks = map[string]string{}
		w.attention.read[user] = marks
	}
	key := readKey(channel, thread)
	if ts <= marks[key] {
		return false
	}
	marks[key] = ts
	return true
}

// notify calls the people of the conversation to a message that is new. w.mu is held.
func (w *Workspace) notify(c *conversation, m *Message) {
	if w.attention.called == nil {
		w.attention.called = map[string][]Notification{}
	}
	thread := ""
	if m.ThreadTS != m.TS {
		thread = m.ThreadTS
	}
	named := w.mentioned(m)
	for _, user := range c.Members {
		kind := ""
		switch {
		case user == m.User || user == w.cfg.App.BotUserID:
			continue
		case c.kind() == "im" || c.kind() == "mpim":
			kind = "dm"
		case named[user] || named["!"]:
			kind = "mention"
		case thread != "" && w.follows(user, c, thread):
			kind = "reply"
		default:
			continue
		}
		w.attention.called[user] = append(w.attention.called[user],
			Notification{Kind: kind, Channel: c.ID, Thread: thread, TS: m.TS, From: m.User})
	}
}

// follows reports whether a person wrote the thread or in it, or was called to it.
func (w *Workspace) follows(user string, c *conversation, thread string) bool {
	here := func(n Notification) bool { return n.Channel == c.ID && (n.Thread == thread || n.TS == thread) }
	return slices.ContainsFunc(c.messages, func(m *Message) bool {
		return m.User == user && (m.TS == thread || m.ThreadTS == thread)
	}) || slices.ContainsFunc(w.attention.called[user], here)
}

// mentioned are the people a message names, by id and through their groups; "!" is everybody. Of a message with blocks
// the blocks count, since its text is then only what is shown where blocks are not.
func (w *Workspace) mentioned(m *Message) map[string]bool {
	out := map[string]bool{}
	if m.Blocks == nil {
		w.mentionedIn(out, map[string]any{"type": "mrkdwn", "text": m.Text})
		return out
	}
	var blocks any
	if json.Unmarshal(m.Blocks, &blocks) == nil {
		w.mentionedIn(out, blocks)
	}
	return out
}

func (w *Workspace) mentionedIn(out map[string]bool, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			w.mentionedIn(out, item)
		}
	case map[string]any:
		switch v["type"] {
		case "user":
			out[str(v["user_id"])] = true
		case "usergroup":
			w.mentionGroup(out, str(v["usergroup_id"]))
		case "broadcast":
			out["!"] = true
		case "mrkdwn":
			w.mentionedInText(out, str(v["text"]))
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			w.mentionedIn(out, v[key])
		}
	}
}

func (w *Workspace) mentionedInText(out map[string]bool, text string) {
	for part := range strings.SplitSeq(text, "<") {
		token, _, closed := strings.Cut(part, ">")
		target, _, _ := strings.Cut(token, "|")
		switch {
		case !closed:
		case strings.HasPrefix(target, "@"):
			out[target[1:]] = true
		case strings.HasPrefix(target, "!subteam^"):
			w.mentionGroup(out, strings.TrimPrefix(target, "!subteam^"))
		case slices.Contains([]string{"!here", "!channel", "!everyone"}, target):
			out["!"] = true
		}
	}
}

func (w *Workspace) mentionGroup(out map[string]bool, id string) {
	for _, g := range w.groups {
		if g.ID == id && !g.Disabled {
			for _, user := range g.Users {
				out[user] = true
			}
		}
	}
}
