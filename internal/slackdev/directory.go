package slackdev

import (
	"fmt"
	"slices"
	"strings"
)

// SetUser enters a person or changes one, for example to make a guest of them.
func (w *Workspace) SetUser(u User) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.putUser(u)
	w.touch()
}

// SetChannel enters a channel or changes one; its messages stay.
func (w *Workspace) SetChannel(ch Channel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.putChannel(ch)
	w.touch()
}

// SetChannelMembers replaces the people of a channel; botMember says whether
// the bot is in it.
func (w *Workspace) SetChannelMembers(channel string, members []string, botMember bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.convs[channel]
	if !ok || c.im != "" {
		return unknown("channel", channel)
	}
	c.Members, c.BotMember = slices.Clone(members), botMember
	w.touch()
	return nil
}

// SetUserGroup enters or replaces a user group and raises subteam_members_changed.
func (w *Workspace) SetUserGroup(g UserGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.groups, func(have UserGroup) bool { return have.ID == g.ID })
	if i < 0 {
		w.groups = append(w.groups, g)
	} else {
		w.groups[i] = g
	}
	w.emit("subteam_members_changed", map[string]any{
		"type": "subteam_members_changed", "subteam_id": g.ID, "team_id": w.cfg.Team.ID,
		"date_update": eventTime(), "event_ts": w.ids.ts(),
	}, false)
	w.touch()
}

// Users lists the people, the bot not included.
func (w *Workspace) Users() []User {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]User, len(w.order))
	for i, id := range w.order {
		out[i] = *w.users[id]
	}
	return out
}

// DM returns the bot's direct message channel with a person.
func (w *Workspace) DM(user string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.openDM(user).ID
}

// openDM finds or makes a direct message. w.mu is held.
func (w *Workspace) openDM(user string) *conversation {
	id := dmID(user)
	c, ok := w.convs[id]
	if !ok {
		c = &conversation{
			Channel: Channel{ID: id, Members: []string{user}, BotMember: true},
			im:      user, byTS: map[string]*Message{},
		}
		w.convs[id] = c
		w.corder = append(w.corder, id)
	}
	return c
}

func (w *Workspace) putUser(u User) {
	setDefault(&u.TeamID, w.cfg.Team.ID)
	setDefault(&u.Name, strings.ToLower(strings.TrimPrefix(u.ID, "U")))
	setDefault(&u.RealName, u.Name)
	setDefault(&u.TZ, "Etc/UTC")
	setDefault(&u.Email, u.Name+"@"+w.cfg.Team.Domain+".example")
	if _, ok := w.users[u.ID]; !ok {
		w.order = append(w.order, u.ID)
	}
	w.users[u.ID] = &u
}

func (w *Workspace) putChannel(ch Channel) {
	setDefault(&ch.Name, strings.ToLower(ch.ID))
	ch.Private = ch.Private || ch.Group // is_private is true of them too: java-slack-sdk, conversations.info.json
	ch.Members = slices.Clone(ch.Members)
	if c, ok := w.convs[ch.ID]; ok {
		c.Channel = ch
		return
	}
	w.convs[ch.ID] = &conversation{Channel: ch, byTS: map[string]*Message{}}
	w.corder = append(w.corder, ch.ID)
}

// member checks that the person exists and may use the conversation.
func (w *Workspace) member(user, channel string) (*User, *conversation, error) {
	u, err := w.signedIn(user)
	if err != nil {
		return nil, nil, err
	}
	c, ok := w.convs[channel]
	if !ok && channel == dmID(user) {
		c, ok = w.openDM(user), true
	}
	if !ok {
		return nil, nil, unknown("channel", channel)
	}
	if !slices.Contains(c.Members, user) {
		return nil, nil, fmt.Errorf("%s in %s: %w", user, channel, ErrNotMember)
	}
	return u, c, nil
}

// signedIn finds a person who can do something: nobody whose account is deactivated can.
func (w *Workspace) signedIn(user string) (*User, error) {
	u, ok := w.users[user]
	switch {
	case !ok:
		return nil, unknown("user", user)
	case u.Deleted:
		return nil, fmt.Errorf("user %q is deactivated: %w", user, ErrUnknown)
	}
	return u, nil
}

// label is how the conversation is called in payloads.
func (c *conversation) label() string {
	if c.im != "" {
		return "directmessage"
	}
	if c.Private && !c.Group {
		return "privategroup"
	}
	return c.Name
}

// kind is the channel_type of message events.
func (c *conversation) kind() string {
	switch {
	case c.im != "":
		return "im"
	case c.Group:
		return "mpim"
	case c.Private:
		return "group"
	}
	return "channel"
}

// dmID is the id of the bot's direct message with a person.
func dmID(user string) string { return "D" + user[min(1, len(user)):] }
