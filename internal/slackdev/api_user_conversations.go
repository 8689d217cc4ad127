package slackdev

import "slices"

// The rules of users.conversations are those of Slack's page about it, as of 2026:
// https://docs.slack.dev/reference/methods/users.conversations ("the page" below).

// conversationScopes are the scopes for each type of conversation that the page lists.
var conversationScopes = []struct{ kind, scope string }{
	{"public_channel", "channels:read"}, {"private_channel", "groups:read"}, {"mpim", "mpim:read"}, {"im", "im:read"},
}

// conversationsMaxLimit is the largest limit: "an integer with a max value of 999", says the page, and has the error
// invalid_limit. The default is 100.
const conversationsMaxLimit = 999

// usersConversations lists the conversations that a person is in, or the bot when no person is named.
func (w *Workspace) usersConversations(a args) (reply, error) {
	if err := w.needTeam(a); err != nil {
		return nil, err
	}
	kinds, err := w.conversationKinds(a)
	if err != nil {
		return nil, err
	}
	if limit := a.number("limit", 0); a.has("limit") && (limit < 1 || limit > conversationsMaxLimit) {
		return nil, fail("invalid_limit")
	}
	user := a.str("user")
	if _, known := w.users[user]; user != "" && user != w.cfg.App.BotUserID && !known {
		return nil, fail("user_not_found") // the page names no word for this; it is the one of users.info
	}
	all := []any{}
	for _, id := range w.corder {
		c := w.convs[id]
		if slices.Contains(kinds, c.listedAs()) && w.listedOf(c, user) &&
			!(c.Archived && a.flag("exclude_archived", false)) {
			all = append(all, w.limitedChannelObject(c))
		}
	}
	page, next, err := paginate(all, a, conversationsMaxLimit)
	if err != nil {
		return nil, err
	}
	return reply{"channels": page, "next_cursor": next}, nil
}

// conversationKinds reads the types, public_channel by default: invalid_types for one that does not exist,
// missing_scope for one whose scope was not granted.
func (w *Workspace) conversationKinds(a args) ([]string, error) {
	kinds := a.list("types")
	if len(kinds) == 0 {
		kinds = []string{"public_channel"}
	}
	for _, kind := range kinds {
		i := slices.IndexFunc(conversationScopes, func(s struct{ kind, scope string }) bool { return s.kind == kind })
		if i < 0 {
			return nil, fail("invalid_types")
		}
		if err := w.needScope(conversationScopes[i].scope); err != nil {
			return nil, err
		}
	}
	return kinds, nil
}

// listedAs is the conversation's type in lists.
func (c *conversation) listedAs() string {
	switch c.kind() {
	case "im":
		return "im"
	case "mpim":
		return "mpim"
	case "group":
		return "private_channel"
	}
	return "public_channel"
}

// listedOf reports whether the bot is told that the person is in the conversation. The page: "Non-public channels are
// restricted to those where the calling user shares membership." Of public channels it says both that the membership of
// others can be browsed and that a bot token gets what the bot shares with the person; see Config.SharedConversations.
func (w *Workspace) listedOf(c *conversation, user string) bool {
	switch {
	case user == "" || user == w.cfg.App.BotUserID:
		return c.BotMember
	case !slices.Contains(c.Members, user):
		return false
	case c.kind() == "channel" && !w.cfg.SharedConversations:
		return true
	}
	return c.BotMember
}

// limitedChannelObject is a conversation without is_member and num_members, which the page says are left out.
func (w *Workspace) limitedChannelObject(c *conversation) map[string]any {
	object := w.channelObject(c)
	delete(object, "is_member")
	delete(object, "num_members")
	return object
}
