package slackdev

import (
	"slices"
	"strings"
)

// conversation finds a channel the app may know about. A private channel it is
// not in does not exist for it. w.mu is held.
func (w *Workspace) conversation(id string) (*conversation, error) {
	c, ok := w.convs[id]
	if !ok || c.Private && !c.BotMember {
		return nil, fail("channel_not_found")
	}
	return c, nil
}

// readable finds a channel and checks the scope "<kind>:<what>".
func (w *Workspace) readable(id, what string) (*conversation, error) {
	c, err := w.conversation(id)
	if err != nil {
		return nil, err
	}
	return c, w.needScope(c.scope(what))
}

// scope names the scope for this kind of conversation, e.g. "groups:read".
func (c *conversation) scope(what string) string {
	switch c.kind() {
	case "im":
		return "im:" + what
	case "mpim":
		return "mpim:" + what
	case "group":
		return "groups:" + what
	}
	return "channels:" + what
}

func (w *Workspace) conversationsInfo(a args) (reply, error) {
	if err := a.required("channel"); err != nil {
		return nil, err
	}
	c, err := w.readable(a.str("channel"), "read")
	if err != nil {
		return nil, err
	}
	return reply{"channel": w.channelObject(c)}, nil
}

func (w *Workspace) conversationsList(a args) (reply, error) {
	if err := w.needTeam(a); err != nil {
		return nil, err
	}
	kinds := a.list("types")
	if len(kinds) == 0 {
		kinds = []string{"public_channel"}
	}
	names := map[string]string{"channel": "public_channel", "group": "private_channel", "im": "im", "mpim": "mpim"}
	all := []any{}
	for _, id := range w.corder {
		c, err := w.conversation(id)
		if err != nil || !slices.Contains(kinds, names[c.kind()]) || c.Archived && a.flag("exclude_archived", false) {
			continue
		}
		if err := w.needScope(c.scope("read")); err != nil {
			return nil, err
		}
		all = append(all, w.channelObject(c))
	}
	page, next, err := paginate(all, a, 1000)
	if err != nil {
		return nil, err
	}
	return reply{"channels": page, "next_cursor": next}, nil
}

func (w *Workspace) conversationsMembers(a args) (reply, error) {
	if err := a.required("channel"); err != nil {
		return nil, err
	}
	c, err := w.readable(a.str("channel"), "read")
	if err != nil {
		return nil, err
	}
	all := []any{}
	for _, m := range c.Members {
		all = append(all, m)
	}
	if c.BotMember {
		all = append(all, w.cfg.App.BotUserID)
	}
	page, next, err := paginate(all, a, 1000)
	if err != nil {
		return nil, err
	}
	return reply{"members": page, "next_cursor": next}, nil
}

func (w *Workspace) conversationsOpen(a args) (reply, error) {
	if id := a.str("channel"); id != "" {
		c, err := w.conversation(id)
		if err != nil || c.im == "" {
			return nil, fail("channel_not_found")
		}
		return reply{"channel": map[string]any{"id": c.ID}, "no_op": true, "already_open": true}, nil
	}
	users := a.list("users")
	switch {
	case len(users) == 0:
		return nil, fail("users_list_not_supplied")
	case len(users) > 1:
		return nil, fail("not_enough_users") // group direct messages are not modelled
	}
	u, ok := w.users[users[0]]
	switch {
	case !ok:
		return nil, fail("user_not_found")
	case u.Deleted:
		return nil, fail("user_disabled")
	}
	_, existed := w.convs[dmID(u.ID)]
	return reply{"channel": map[string]any{"id": w.openDM(u.ID).ID}, "no_op": existed, "already_open": existed}, nil
}

func (w *Workspace) conversationsHistory(a args) (reply, error) {
	c, err := w.historyOf(a)
	if err != nil {
		return nil, err
	}
	var list []*Message
	for _, m := range slices.Backward(c.messages) {
		if (m.ThreadTS == "" || m.ThreadTS == m.TS || m.Broadcast) && within(m.TS, a) {
			list = append(list, m)
		}
	}
	return w.messagePage(c, list, a)
}

func (w *Workspace) conversationsReplies(a args) (reply, error) {
	if err := a.required("ts"); err != nil {
		return nil, err
	}
	c, err := w.historyOf(a)
	if err != nil {
		return nil, err
	}
	ts := a.str("ts")
	if _, ok := c.byTS[ts]; !ok {
		return nil, fail("thread_not_found")
	}
	var list []*Message
	for _, m := range c.messages {
		if m.TS == ts || m.ThreadTS == ts && within(m.TS, a) {
			list = append(list, m)
		}
	}
	return w.messagePage(c, list, a)
}

func (w *Workspace) historyOf(a args) (*conversation, error) {
	if err := a.required("channel"); err != nil {
		return nil, err
	}
	c, err := w.readable(a.str("channel"), "history")
	if err != nil {
		return nil, err
	}
	if !c.BotMember {
		return nil, fail("not_in_channel")
	}
	return c, nil
}

// within applies oldest, latest and inclusive.
func within(ts string, a args) bool {
	oldest, latest := a.str("oldest"), a.str("latest")
	if a.flag("inclusive", false) && (ts == oldest || ts == latest) {
		return true
	}
	return (oldest == "" || compareTS(ts, oldest) > 0) && (latest == "" || compareTS(ts, latest) < 0)
}

// compareTS orders timestamps; they may differ in the length of their seconds.
func compareTS(a, b string) int {
	aSec, aFrac, _ := strings.Cut(a, ".")
	bSec, bFrac, _ := strings.Cut(b, ".")
	if len(aSec) != len(bSec) {
		return len(aSec) - len(bSec)
	}
	return strings.Compare(aSec+"."+aFrac, bSec+"."+bFrac)
}

func (w *Workspace) messagePage(c *conversation, list []*Message, a args) (reply, error) {
	metadata := a.flag("include_all_metadata", false)
	all := make([]any, len(list))
	for i, m := range list {
		all[i] = w.messageObject(c, m, metadata)
	}
	most := 999
	if w.cfg.FewReads {
		most = 15
	}
	page, next, err := paginate(all, a, most)
	if err != nil {
		return nil, err
	}
	return reply{"messages": page, "has_more": next != "", "next_cursor": next}, nil
}

// channelObject is a conversation as the API shows it.
func (w *Workspace) channelObject(c *conversation) map[string]any {
	if c.im != "" {
		return map[string]any{
			"id": c.ID, "created": 0, "is_im": true, "is_org_shared": false, "is_archived": false,
			"user": c.im, "is_user_deleted": w.users[c.im] != nil && w.users[c.im].Deleted, "priority": 0,
		}
	}
	text := func(s string) map[string]any { return map[string]any{"value": s, "creator": "", "last_set": 0} }
	return map[string]any{
		"id": c.ID, "name": c.Name, "name_normalized": c.Name, "created": 0, "creator": w.cfg.App.BotUserID,
		"is_channel": !c.Private, "is_group": false, "is_im": false, "is_mpim": c.Group, "is_private": c.Private,
		"is_archived": c.Archived, "is_general": c.Name == "general", "is_member": c.BotMember,
		"is_shared": c.ExtShared, "is_ext_shared": c.ExtShared, "is_org_shared": false,
		"is_pending_ext_shared": false, "pending_shared": []string{}, "context_team_id": w.cfg.Team.ID,
		"topic": text(c.Topic), "purpose": text(""), "previous_names": []string{}, "unlinked": 0,
	}
}
