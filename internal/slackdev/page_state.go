package slackdev

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	pageMessages = 300 // newest messages of a channel that the page shows
	pageActivity = 60
	pageDetail   = 6000 // characters of JSON shown for one entry
)

// pageState is everything one person's page shows.
func (w *Workspace) pageState(user string) map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.users[user]; !ok && len(w.order) > 0 {
		user = w.order[0]
	}
	w.openDM(user)
	return map[string]any{
		"version": w.version, "me": user, "tries": append([]Try{}, w.cfg.Tries...), "mode": w.cfg.Mode,
		"connections": len(w.sock.conns), "team": map[string]any{"name": w.cfg.Team.Name, "domain": w.cfg.Team.Domain},
		"app":      map[string]any{"name": w.cfg.App.Name, "user": w.cfg.App.BotUserID},
		"commands": nonNil(w.cfg.Commands), "shortcuts": w.pageShortcuts(), "users": w.pageUsers(),
		"groups": w.pageGroups(), "channels": w.pageChannels(user), "statuses": w.pageStatuses(),
		"views": w.pageViews(w.stacks[user]), "home": w.pageViews([]string{w.homes[user]}),
		"activity": w.pageActivity(), "notifications": w.pageNotified(user), "startOver": w.cfg.StartOver != nil,
		"instance": w.instance, "chats": w.pageChats(w.openDM(user)), "stoppable": w.pageStoppable(user),
		"agent": !w.cfg.NoAgents,
	}
}

func (w *Workspace) pageShortcuts() []any {
	out := []any{}
	for _, s := range w.cfg.Shortcuts {
		out = append(out, map[string]any{"name": s.Name, "id": s.CallbackID})
	}
	return out
}

func (w *Workspace) pageUsers() []any {
	out := []any{}
	for _, id := range w.order {
		u := w.users[id]
		badge := ""
		switch {
		case u.Deleted:
			badge = "deactivated"
		case u.Bot || u.WorkflowBot:
			badge = "app"
		case u.Stranger:
			badge = "external"
		case u.Guest || u.UltraRestricted:
			badge = "guest"
		}
		called, news := w.pageCalled(id)
		out = append(out, map[string]any{
			"id": u.ID, "name": u.Name, "real": u.RealName, "badge": badge, "called": called, "news": news,
		})
	}
	return out
}

func (w *Workspace) pageGroups() []any {
	out := []any{}
	for _, g := range w.groups {
		out = append(out, map[string]any{"id": g.ID, "handle": cmp.Or(g.Handle, g.Name)})
	}
	return out
}

// pageChannels are the conversations of a person, with messages and ephemerals
// in order.
func (w *Workspace) pageChannels(user string) []any {
	out := []any{}
	for _, id := range w.corder {
		c := w.convs[id]
		if !slices.Contains(c.Members, user) {
			continue
		}
		messages := c.messages[max(0, len(c.messages)-pageMessages):]
		shown := make([]any, 0, len(messages))
		for _, m := range messages {
			shown = append(shown, w.pageMessage(c, m))
		}
		ephemeral := []any{}
		for _, m := range w.ephemerals[user] {
			if m.Channel == id {
				ephemeral = append(ephemeral, w.pageMessage(c, m))
			}
		}
		out = append(out, map[string]any{
			"id": id, "name": c.Name, "kind": c.kind(), "topic": c.Topic, "shared": c.ExtShared, "archived": c.Archived,
			"members": len(c.Members), "bot": c.BotMember, "messages": shown, "ephemeral": ephemeral,
			"people": c.Members, "unread": w.unread(user, c), "called": w.calledIn(user, c.ID),
		})
	}
	return out
}

// pageMessage is a message as the page draws it. What stands under it is what the API says does.
func (w *Workspace) pageMessage(c *conversation, m *Message) map[string]any {
	out := map[string]any{
		"channel": m.Channel, "ts": m.TS, "thread": m.ThreadTS, "user": m.User, "bot": m.BotID != "", "text": m.Text,
		"blocks": m.Blocks, "edited": m.Edited, "rev": m.Revision, "ephemeral": m.Ephemeral, "broadcast": m.Broadcast,
	}
	object := w.messageObject(c, m, false)
	for _, key := range []string{"reactions", "files"} {
		if v, ok := object[key]; ok {
			out[key] = v
		}
	}
	out["streaming"] = m.streaming
	out["deleted"] = object["subtype"] == "tombstone"
	return out
}

func (w *Workspace) pageViews(ids []string) []any {
	out := []any{}
	for _, id := range ids {
		if v, ok := w.views[id]; ok {
			out = append(out, map[string]any{
				"id": v.ID, "type": v.Type, "title": v.Title, "submit": v.SubmitLabel, "close": v.CloseLabel,
				"blocks": v.Blocks, "rev": v.revision,
			})
		}
	}
	return out
}

// entry is one line of what the bot did.
type entry struct {
	ID     string    `json:"id"` // for its detail
	At     time.Time `json:"at"`
	Way    string    `json:"way"` // "in" towards the app, "out" from it
	What   string    `json:"what"`
	Result string    `json:"result"`
	Good   bool      `json:"good"`
	Open   bool      `json:"open"` // no result yet
	Millis float64   `json:"ms"`
}

// pageActivity merges the newest calls and deliveries, newest last.
func (w *Workspace) pageActivity() []entry {
	var out []entry
	for i := max(0, len(w.calls)-pageActivity); i < len(w.calls); i++ {
		c := w.calls[i]
		e := entry{
			ID: fmt.Sprint("c", i), At: c.Time, Way: "out", What: c.Method, Good: c.OK, Open: c.Answer == nil,
			Result: "ok", Millis: millis(c.Took),
		}
		if !c.OK {
			e.Result = cmp.Or(c.Error, "error")
		}
		out = append(out, e)
	}
	for i := max(0, len(w.sent)-pageActivity); i < len(w.sent); i++ {
		d := w.sent[i]
		e := entry{
			ID: fmt.Sprint("d", i), At: d.Sent, Way: "in", What: d.Type, Good: !d.Acked.IsZero(),
			Open: d.Acked.IsZero() && d.Error == "", Result: "acknowledged",
		}
		if e.Good {
			e.Millis = millis(d.Acked.Sub(d.Sent))
		} else {
			e.Result = cmp.Or(d.Error, "waiting")
		}
		if d.Attempt > 0 {
			e.What += " (again)"
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b entry) int { return a.At.Compare(b.At) })
	return append([]entry{}, out[max(0, len(out)-pageActivity):]...)
}

// activityDetail is the JSON behind an entry, empty for an unknown id.
func (w *Workspace) activityDetail(id string) string {
	if id == "" {
		return ""
	}
	i, err := strconv.Atoi(id[1:])
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil || i < 0:
	case id[0] == 'c' && i < len(w.calls):
		return detail(map[string]any{"arguments": w.calls[i].Args, "answer": w.calls[i].Answer})
	case id[0] == 'd' && i < len(w.sent):
		return detail(map[string]any{"payload": w.sent[i].Payload, "answer": w.sent[i].AckPayload})
	}
	return ""
}

func millis(d time.Duration) float64 { return float64(d.Round(100*time.Microsecond)) / 1e6 }

// secretKeys are never shown: whoever has them can act as the app.
var secretKeys = regexp.MustCompile(`("(?:response_url|trigger_id|token|url)": ")(?:[^"\\]|\\.)*(")`)

func detail(v map[string]any) string {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return ""
	}
	runes := []rune(secretKeys.ReplaceAllString(string(raw), "${1}…${2}"))
	if len(runes) > pageDetail {
		return string(runes[:pageDetail]) + "\n… cut here"
	}
	return string(runes)
}

// typedNames finds @name, #channel and addresses in what a person typed.
var typedNames = regexp.MustCompile(`@[A-Za-z0-9][A-Za-z0-9._-]*|#[a-z0-9][a-z0-9_-]*|https?://[^\s<>|]+`)

// typed turns what a person typed into Slack's wire form.
func (w *Workspace) typed(text string) string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	w.mu.Lock()
	defer w.mu.Unlock()
	return typedNames.ReplaceAllStringFunc(escape.Replace(text), func(s string) string {
		if strings.HasPrefix(s, "http") {
			return "<" + s + ">"
		}
		if s == "@here" || s == "@channel" || s == "@everyone" {
			return "<!" + s[1:] + ">"
		}
		name := strings.TrimRight(s[1:], ".-")
		tail := s[1+len(name):]
		if id, ok := w.named(s[0], name); ok {
			return id + tail
		}
		return s
	})
}

// named finds the wire form of @name or #name. w.mu is held.
func (w *Workspace) named(sigil byte, name string) (string, bool) {
	if sigil == '#' {
		for _, c := range w.convs {
			if c.im == "" && c.Name == name {
				return "<#" + c.ID + ">", true
			}
		}
		return "", false
	}
	if strings.EqualFold(name, w.cfg.App.Name) {
		return "<@" + w.cfg.App.BotUserID + ">", true
	}
	for _, u := range w.users {
		if strings.EqualFold(u.Name, name) {
			return "<@" + u.ID + ">", true
		}
	}
	for _, g := range w.groups {
		if strings.EqualFold(g.Handle, name) {
			return "<!subteam^" + g.ID + ">", true
		}
	}
	return "", false
}
