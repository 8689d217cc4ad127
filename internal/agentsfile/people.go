package agentsfile

import (
	"slices"
	"strings"
)

// People is a set of people as the file names them. Guests, strangers and bots are never in it.
type People struct {
	Users          []string // Slack user ids
	Groups         []string // Slack user group ids
	ChannelMembers bool
}

// Empty reports whether nobody is named.
func (p People) Empty() bool { return len(p.Users) == 0 && len(p.Groups) == 0 && !p.ChannelMembers }

// String lists the set in plain words.
func (p People) String() string {
	words := slices.Clone(p.Users)
	for _, g := range p.Groups {
		words = append(words, "group "+g)
	}
	if p.ChannelMembers {
		words = append(words, "the members of the channel")
	}
	return strings.Join(words, ", ")
}

func (d *decoder) decodeRequesters(n *node) People {
	if n == nil {
		return People{ChannelMembers: true}
	}
	return d.decodePeople(n, "requesters")
}

func (d *decoder) decodePeople(n *node, what string) People {
	return d.object(n, what, peopleKeys).decodeSet(what, n)
}

// decodeSet reads a set of people from the node.
func (o *object) decodeSet(what string, n *node) People {
	p := People{
		Users:  o.ids("users", "UW", "U0123456789"),
		Groups: o.ids("groups", "S", "S0123456789"),
	}
	if b := o.boolean("channel_members"); b != nil {
		p.ChannelMembers = *b
	}
	if p.Empty() && n.kind == kindMapping {
		o.problem(n.pos, "%s names nobody; write users, groups, or channel_members: true", what)
	}
	return p
}

// ids returns a list of Slack ids that start with one of the letters.
func (o *object) ids(key, letters, example string) []string {
	var ids []string
	seen := make(map[string]bool)
	for _, n := range o.list(key) {
		if n.kind != kindString {
			o.wrongType(n, "an entry of "+key, kindString)
			continue
		}
		t := o.expand(n)
		switch {
		case !isSlackID(t.Value, letters):
			o.problem(n.pos, "%s are named by their Slack id, such as %s, not %q", key, example, t.Written)
		case seen[t.Value]:
			o.problem(n.pos, "%s is there twice", t.Written)
		}
		seen[t.Value] = true
		ids = append(ids, t.Value)
		if key == "groups" {
			o.groups = append(o.groups, t)
		}
	}
	return ids
}

// isSlackID reports whether id is one of the letters followed by capitals and digits.
func isSlackID(id, letters string) bool {
	if len(id) < 2 || len(id) > 32 || !strings.Contains(letters, id[:1]) {
		return false
	}
	return strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}
