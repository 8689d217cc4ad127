package slackdev

import (
	"fmt"
	"slices"
)

// Join puts people into a channel; the bot may be one of them.
func (w *Workspace) Join(channel string, users ...string) error {
	return w.change(channel, users, func(c *conversation, user string) {
		switch {
		case user == w.cfg.App.BotUserID:
			c.BotMember = true
		case !slices.Contains(c.Members, user):
			c.Members = append(slices.Clone(c.Members), user)
		}
	})
}

// Leave takes people out of a channel, as when they leave or are removed; the bot may be one of them. It raises
// member_left_channel (https://docs.slack.dev/reference/events/member_left_channel) for as long as the bot is there to
// hear it. What they have open stays open: a click that was on its way still arrives, see [Workspace.Payload].
func (w *Workspace) Leave(channel string, users ...string) error {
	return w.change(channel, users, func(c *conversation, user string) {
		if user == w.cfg.App.BotUserID {
			c.BotMember = false
			return
		}
		w.leave(c, user)
	})
}

// Archive archives a channel: nobody writes there any more. No event is raised, which the app has not asked for.
func (w *Workspace) Archive(channel string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.convs[channel]
	if !ok {
		return unknown("channel", channel)
	}
	c.Archived = true
	w.touch()
	return nil
}

// Deactivate closes a person's account. They are signed out, and removed from all channels, says
// https://slack.com/help/articles/204475027-Deactivate-a-members-account; it does not speak of user groups, so there
// they stay. To try what a list means that still names somebody deactivated, use [Workspace.SetUser].
func (w *Workspace) Deactivate(user string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, ok := w.users[user]
	if !ok {
		return unknown("user", user)
	}
	gone := *u
	gone.Deleted = true
	w.users[user] = &gone
	for _, id := range w.corder {
		if c := w.convs[id]; c.im == "" {
			w.leave(c, user)
		}
	}
	w.closeAll(user)
	w.touch()
	return nil
}

// change applies do to each user of a channel that exists.
func (w *Workspace) change(channel string, users []string, do func(*conversation, string)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.convs[channel]
	if !ok || c.im != "" {
		return unknown("channel", channel)
	}
	for _, user := range users {
		if _, known := w.users[user]; !known && user != w.cfg.App.BotUserID {
			return fmt.Errorf("%s in %s: %w", user, channel, ErrUnknown)
		}
		do(c, user)
	}
	w.touch()
	return nil
}

// leave takes a person out of a channel. w.mu is held.
func (w *Workspace) leave(c *conversation, user string) {
	i := slices.Index(c.Members, user)
	if i < 0 {
		return
	}
	c.Members = slices.Delete(slices.Clone(c.Members), i, i+1)
	if !c.BotMember {
		return
	}
	w.emit("member_left_channel", map[string]any{
		"type": "member_left_channel", "user": user, "channel": c.ID, "channel_type": c.ID[:1],
		"team": w.teamOf(user), "event_ts": w.ids.ts(),
	}, c.ExtShared)
}
