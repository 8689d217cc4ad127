package slackdev

import (
	"regexp"
	"slices"
)

// Reaction is an emoji under a message, with those who put it there.
type Reaction struct {
	Name  string // without colons
	Users []string
}

// mostReactions is how many different emoji may stand under one message; the page of reactions.add has an error for
// more (too_many_emoji) and does not say how many, Slack's help says 23.
const mostReactions = 23

var reactionName = regexp.MustCompile(`^[a-z0-9_+'-]{1,100}(::skin-tone-[2-6])?$`)

// reactionsAdd is https://docs.slack.dev/reference/methods/reactions.add.
func (w *Workspace) reactionsAdd(a args) (reply, error) {
	m, name, err := w.reactedTo(a)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.Reactions, func(r Reaction) bool { return r.Name == name })
	switch {
	case i >= 0 && slices.Contains(m.Reactions[i].Users, w.cfg.App.BotUserID):
		return nil, fail("already_reacted")
	case i >= 0:
		m.Reactions = slices.Clone(m.Reactions)
		m.Reactions[i].Users = append(slices.Clone(m.Reactions[i].Users), w.cfg.App.BotUserID)
	case len(m.Reactions) >= mostReactions:
		return nil, fail("too_many_emoji")
	default:
		m.Reactions = append(slices.Clone(m.Reactions), Reaction{Name: name, Users: []string{w.cfg.App.BotUserID}})
	}
	return reply{}, nil
}

// reactionsRemove is https://docs.slack.dev/reference/methods/reactions.remove.
func (w *Workspace) reactionsRemove(a args) (reply, error) {
	m, name, err := w.reactedTo(a)
	if err != nil {
		return nil, err
	}
	own := func(u string) bool { return u == w.cfg.App.BotUserID }
	i := slices.IndexFunc(m.Reactions, func(r Reaction) bool {
		return r.Name == name && slices.ContainsFunc(r.Users, own)
	})
	if i < 0 {
		return nil, fail("no_reaction")
	}
	m.Reactions = slices.Clone(m.Reactions)
	left := slices.DeleteFunc(slices.Clone(m.Reactions[i].Users), own)
	if m.Reactions[i].Users = left; len(left) == 0 {
		m.Reactions = slices.Delete(m.Reactions, i, i+1)
	}
	return reply{}, nil
}

// reactedTo finds the message and reads the emoji. A bot reacts where it is a member only: the pages do not say what
// happens elsewhere.
func (w *Workspace) reactedTo(a args) (*Message, string, error) {
	if err := a.required("name"); err != nil {
		return nil, "", err
	}
	if a.str("channel") == "" || a.str("timestamp") == "" {
		return nil, "", fail("no_item_specified")
	}
	c, err := w.conversation(a.str("channel"))
	switch {
	case err != nil:
		return nil, "", err
	case !c.BotMember:
		return nil, "", fail("not_in_channel")
	case c.Archived:
		return nil, "", fail("is_archived")
	case !reactionName.MatchString(a.str("name")):
		return nil, "", fail("invalid_name")
	}
	m, ok := c.byTS[a.str("timestamp")]
	if !ok {
		return nil, "", fail("message_not_found")
	}
	return m, a.str("name"), nil
}

func reactionObjects(all []Reaction) (out []any) {
	for _, r := range all {
		out = append(out, map[string]any{"name": r.Name, "users": r.Users, "count": len(r.Users)})
	}
	return out
}

// emitShared raises https://docs.slack.dev/reference/events/channel_shared, which apps hear of channels that they are
// in. w.mu is held.
func (w *Workspace) emitShared(c *conversation) {
	if !c.BotMember {
		return
	}
	w.emit("channel_shared", map[string]any{
		"type": "channel_shared", "connected_team_id": "E0OTHER", "channel": c.ID, "event_ts": w.ids.ts(),
	}, true)
}
