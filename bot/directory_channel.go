package bot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"countersign/approvals"
)

// How much is read to find out who is where. One that is larger has no answer, rather than a part of one.
const (
	// channelPage is Slack's maximum for users.conversations, and what conversations.members takes for certain.
	channelPage        = 999
	mostMemberPages    = 100 // of a channel, to list its people
	mostPlacePages     = 4   // of a person's conversations
	mostPresencePages  = 10  // of a channel, to look for a person of more conversations than that
	typePublicChannel  = "public_channel"
	typePrivateChannel = "private_channel"
	typeGroupMessage   = "mpim"
)

// errTooMany says that there is more to read than the bot is ready to read.
var errTooMany = errors.New("too many pages")

// ChannelMembers returns the people in a channel. See approvals.Directory.
func (c *Client) ChannelMembers(
	ctx context.Context, ws approvals.WorkspaceID, channel string,
) ([]approvals.UserID, error) {
	if _, err := c.inWorkspace(ctx, ws); err != nil {
		return nil, err
	}
	users, err := c.members.get(ctx, channel, time.Time{}, func(ctx context.Context) (all []string, err error) {
		err = c.eachMembers(ctx, channel, mostMemberPages, func(page []string) bool {
			all = append(all, page...)
			return true
		})
		return all, err
	})
	return userIDs(ws, users), err
}

// eachMembers reads a channel page by page until yield returns false, at most the given number of pages.
func (c *Client) eachMembers(ctx context.Context, channel string, most int, yield func([]string) bool) error {
	what := "list members of " + channel
	form := url.Values{"channel": {channel}, "limit": {fmt.Sprint(channelPage)}}
	for range most {
		var page struct {
			Members  []string       `json:"members"`
			Metadata cursorMetadata `json:"response_metadata"`
		}
		if err := c.ask(ctx, methodMembers, form, &page); err != nil {
			return unanswered(what, err)
		}
		if !yield(page.Members) || page.Metadata.NextCursor == "" {
			return nil
		}
		form.Set("cursor", page.Metadata.NextCursor)
	}
	return fmt.Errorf("%s: %w", what, errTooMany)
}

// InChannel reports whether the person is in the channel. See approvals.Directory. It asks Slack about the person and
// not about everybody in the channel: people are in few conversations, channels hold many people.
func (c *Client) InChannel(
	ctx context.Context, ws approvals.WorkspaceID, channel string, u approvals.UserID, since time.Time,
) (bool, error) {
	id, err := c.inWorkspace(ctx, ws)
	if err != nil {
		return false, err
	}
	what := fmt.Sprintf("look for %s in %s", u, channel)
	if u.Workspace() != ws || !isUserID(u.Local()) {
		return false, fmt.Errorf("%s: nobody of the workspace: %w", what, approvals.ErrNotFound)
	}
	look := c.lookAtPlaces
	if id.enterprise != "" {
		// users.conversations has to be told one workspace of the organisation, and nobody says which is the channel's.
		look = c.lookAtMembers
	}
	found, err := look(ctx, channel, placesQuery{user: u.Local(), types: id.conversationTypes()}, since)
	return found, unanswered(what, err)
}

// lookAtPlaces looks for the channel among the person's conversations.
func (c *Client) lookAtPlaces(ctx context.Context, channel string, q placesQuery, since time.Time) (bool, error) {
	if found, known := c.lookAtCrowd(ctx, channel, q.user, since); known {
		return found, nil
	}
	first, err := c.places.get(ctx, q.user, since, func(ctx context.Context) (conversations, error) {
		c.placesCalls.note()
		return c.placesOf(ctx, q)
	})
	if err != nil {
		return false, err
	}
	found := first.has(channel)
	if !found && first.next != "" {
		found, err = c.presence.get(ctx, channel+" "+q.user, since, func(ctx context.Context) (bool, error) {
			return c.lookFurther(ctx, channel, placesQuery{user: q.user, types: q.types, cursor: first.next})
		})
	}
	if err == nil && !found && !q.complete() {
		err = &ScopeError{Missing: methodScopes[methodPlaces]}
	}
	return found, err
}

// lookFurther goes on after the first page of a person's conversations, and looks among the people of the channel when
// there are too many pages.
func (c *Client) lookFurther(ctx context.Context, channel string, q placesQuery) (bool, error) {
	for range mostPlacePages - 1 {
		page, err := c.placesOf(ctx, q)
		if err != nil || page.has(channel) {
			return err == nil, err
		}
		if page.next == "" {
			return false, nil
		}
		q.cursor = page.next
	}
	return c.among(ctx, channel, q.user)
}

// lookAtMembers looks for the person among the people of the channel.
func (c *Client) lookAtMembers(ctx context.Context, channel string, q placesQuery, since time.Time) (bool, error) {
	return c.presence.get(ctx, channel+" "+q.user, since, func(ctx context.Context) (bool, error) {
		return c.among(ctx, channel, q.user)
	})
}

// among reads the people of the channel until the user is one of them.
func (c *Client) among(ctx context.Context, channel, user string) (found bool, err error) {
	err = c.eachMembers(ctx, channel, mostPresencePages, func(page []string) bool {
		found = slices.Contains(page, user)
		return !found
	})
	return found, err
}

// placesQuery asks for conversations of a person: those of some types, from a cursor on.
type placesQuery struct {
	user   string // empty: the bot
	types  []string
	cursor string
}

// complete reports whether somebody who is not found in any conversation asked for is in no channel at all.
func (q placesQuery) complete() bool {
	return slices.Contains(q.types, typePublicChannel) && slices.Contains(q.types, typePrivateChannel)
}

// conversationTypes lists the types of conversation that the bot may ask about: Slack refuses a question about a type
// whose scope was not granted. Scopes that are not known are taken for those of manifest.yaml.
//
// Group direct messages are asked about only where mpim:read was granted, which apps made before manifest.yaml asked
// for it lack. Without it nobody is found in one, so nobody starts a run or decides there.
func (id identity) conversationTypes() []string {
	granted := id.scopes
	if len(granted) == 0 {
		granted = methodScopes[methodPlaces]
	}
	var types []string
	for _, t := range []struct{ scope, kind string }{
		{"channels:read", typePublicChannel}, {"groups:read", typePrivateChannel}, {"mpim:read", typeGroupMessage},
	} {
		if slices.Contains(granted, t.scope) {
			types = append(types, t.kind)
		}
	}
	return types
}

// cursorMetadata says where a list goes on; it ends with an empty cursor.
type cursorMetadata struct {
	NextCursor string `json:"next_cursor"`
}

// conversations is a page of the conversations of a person.
type conversations struct {
	ids  []string
	next string // the cursor of the next page; empty on the last
}

func (p conversations) has(channel string) bool { return slices.Contains(p.ids, channel) }

// placesOf reads one page of users.conversations. Of somebody else's conversations Slack lists the public ones, and the
// others only where the bot is in them too; a private channel that the bot was removed from is not among them. Archived
// channels are, as what was asked for in them may still wait.
// See https://docs.slack.dev/reference/methods/users.conversations.
func (c *Client) placesOf(ctx context.Context, q placesQuery) (conversations, error) {
	if len(q.types) == 0 {
		return conversations{}, &ScopeError{Missing: methodScopes[methodPlaces]}
	}
	form := url.Values{"types": {strings.Join(q.types, ",")}, "limit": {fmt.Sprint(channelPage)}}
	if q.user != "" {
		form.Set("user", q.user)
	}
	if q.cursor != "" {
		form.Set("cursor", q.cursor)
	}
	var page struct {
		Channels []channelObject `json:"channels"`
		Metadata cursorMetadata  `json:"response_metadata"`
	}
	asked := time.Now()
	err := c.ask(ctx, methodPlaces, form, &page)
	found := conversations{ids: make([]string, len(page.Channels)), next: page.Metadata.NextCursor}
	for i, ch := range page.Channels {
		found.ids[i] = ch.ID
		if ch.External != nil && ch.Name != "" { // what conversations.info would say
			c.channels.learn(ch.ID, ch.channel(), asked)
		}
	}
	return found, err
}
