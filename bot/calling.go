package bot

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"

	"countersign/approvals"
)

// calling returns the card as it is posted for the first time: whom it mentions, and nobody else, is called by it.
// Slack tells nobody of a mention in a message that is changed, so later versions of the card may name anybody.
func (b *Bot) calling(ctx context.Context, n *approvals.Notification, shown card) post {
	r := n.Card
	asCopy := func(c card) post {
		p := c.post(r)
		p.metadata.EventPayload["copy"] = string(n.Copy)
		return p
	}
	p := asCopy(shown)
	if !r.Called.Planned || r.Status != approvals.RequestPending { // of an earlier version, or it calls nobody
		return p
	}
	keep := mentionedOf{users: map[string]bool{}, groups: map[string]bool{}}
	if n.Copy == "" {
		for _, u := range r.Called.Users {
			keep.users[u.Local()] = true
		}
		for _, g := range r.Called.Groups {
			keep.groups[g] = true
		}
		var ok bool
		if p, ok = p.alsoFor(r, keep); !ok && shown.canShorten() { // better less of the call than people not called
			p, ok = asCopy(shown.shortened(r)).alsoFor(r, keep)
		}
		if !ok {
			b.log.Warn("a card has no room to call everybody whom it should", "request", r.ID)
		}
	}
	if _, channel := n.Copy.Channel(); !channel {
		keep.users[r.Requester.Local()] = true // it is their thread, or a conversation that they are not in
	}
	return b.hushed(ctx, r.Workspace, p, keep)
}

// mentionedOf are people and groups that a message mentions, by their ids.
type mentionedOf struct{ users, groups map[string]bool }

// alsoFor adds a line for those who are to be called and whom the card does not mention by itself. ok is false where
// there is no room for it.
func (p post) alsoFor(r *approvals.Request, all mentionedOf) (with post, ok bool) {
	raw := p.encoded
	if raw == nil {
		var err error
		if raw, err = encodeBlocks(p.blocks); err != nil {
			return p, true
		}
	}
	has := mentionedOf{users: map[string]bool{}, groups: map[string]bool{}}
	eachMention(blockValues(raw), func(m map[string]any) {
		has.users[textOf(m["user_id"])], has.groups[textOf(m["usergroup_id"])] = true, true
	})
	line := phrase{wordsCalled}
	and := func(who any) {
		if len(line) > 1 {
			line = append(line, ", ")
		}
		line = append(line, who)
	}
	for _, u := range r.Called.Users {
		if all.users[u.Local()] && !has.users[u.Local()] {
			and(u)
		}
	}
	for _, g := range r.Called.Groups {
		if all.groups[g] && !has.groups[g] {
			and(group(g))
		}
	}
	if len(line) == 1 {
		return p, true
	}
	blocks := append(slices.Clip(p.blocks), stamp(paragraphs(line), blockPrefix(r)+".call")...)
	if !fits(blocks) {
		return p, false
	}
	p.blocks, p.encoded = blocks, nil
	return p, true
}

// hushed returns the post with names in the place of all mentions but those of keep.
func (b *Bot) hushed(ctx context.Context, ws approvals.WorkspaceID, p post, keep mentionedOf) post {
	raw := p.encoded
	if raw == nil {
		var err error
		if raw, err = encodeBlocks(p.blocks); err != nil {
			return p
		}
	}
	blocks := blockValues(raw)
	changed := false
	eachMention(blocks, func(m map[string]any) {
		user, g := textOf(m["user_id"]), textOf(m["usergroup_id"])
		if keep.users[user] || keep.groups[g] {
			return
		}
		name := b.client.groupName(ctx, g)
		if user != "" {
			name = b.nameOf(ctx, approvals.NewUserID(ws, user))
		}
		clear(m)
		m["type"], m["text"], m["style"] = "text", name, map[string]any{"bold": true}
		changed = true
	})
	if changed {
		if quiet, err := json.Marshal(blocks); err == nil {
			p.encoded = quiet
		}
	}
	p.text = p.text.hushed(func(u approvals.UserID) (string, bool) {
		return b.nameOf(ctx, u), keep.users[u.Local()]
	})
	return p
}

// hushed returns the phrase with names in the place of people whom known does not report as to be mentioned.
func (p phrase) hushed(known func(approvals.UserID) (name string, mention bool)) phrase {
	quiet := slices.Clone(p)
	for i, part := range quiet {
		u, person := part.(approvals.UserID)
		if !person {
			continue
		}
		if name, mention := known(u); !mention {
			quiet[i] = name
		}
	}
	return quiet
}

// nameOf is what people call somebody, for where a mention would call them.
func (b *Bot) nameOf(ctx context.Context, u approvals.UserID) string {
	who, err := b.client.Person(ctx, u, noTime)
	if err != nil || who.Name == "" {
		return label(u.Local(), 80)
	}
	return "@" + label(who.Name, 80)
}

var noBlocks = regexp.MustCompile(`^\s*(null)?\s*$`)

// blockValues reads blocks as JSON values.
func blockValues(raw json.RawMessage) (blocks []any) {
	if noBlocks.Match(raw) || json.Unmarshal(raw, &blocks) != nil {
		return nil
	}
	return blocks
}

// eachMention visits the elements of rich text that mention somebody.
func eachMention(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			eachMention(e, visit)
		}
	case map[string]any:
		if kind := textOf(v["type"]); kind == "user" && v["user_id"] != nil || kind == "usergroup" {
			visit(v)
			return
		}
		for _, e := range v {
			eachMention(e, visit)
		}
	}
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}
