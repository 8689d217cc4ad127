package bot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"countersign/approvals"
)

// Slack tells of one person, of one person's conversations and of one conversation at a time, some 50 or 100 times in a
// minute for the whole workspace (https://docs.slack.dev/apis/web-api/rate-limits). Where a crowd is asked about, of
// mentions or of conversations to post in, that is used up, and holds up everybody. There are lists for each of the
// three: of the people of the workspace, of those in a conversation, and of the conversations that the bot is in. A
// crowd is learnt of by the list, and what the list does not tell of is asked about one by one.
//
// Decisions need answers that were asked for since they arrived. Lists are not read for them, unless Slack refuses to
// tell what a conversation is; one that was asked for since then by others serves them too.

const (
	// crowdCalls about one person or conversation within crowdTime are a crowd: a little less than Slack takes for
	// long.
	crowdCalls = 8
	crowdTime  = 10 * time.Second
	// crowdYoung is how young an answer some need that each need one of their own, as decisions do.
	crowdYoung = time.Second
	// mostPeoplePages of the workspace are read. Where there are more people the list is of little use, and it is left
	// alone for listLeftAlone; as it is where Slack refuses it. After any other failure it is tried again soon.
	mostPeoplePages = 5
	listLeftAlone   = time.Hour
	listTriedAgain  = 20 * time.Second
)

// recentCalls are the times of the last calls of a method.
type recentCalls struct {
	mu   sync.Mutex
	at   [crowdCalls]time.Time
	next int // where the oldest stands
}

func (r *recentCalls) note() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[r.next] = time.Now()
	r.next = (r.next + 1) % len(r.at)
}

// crowded reports whether there were crowdCalls of them within the last crowdTime.
func (r *recentCalls) crowded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.at[r.next]) < crowdTime
}

// inCrowd reports whether a question that the method answers about one is better answered by a list. A decision's is
// not.
func (c *Client) inCrowd(ctx context.Context, method string, calls *recentCalls, since time.Time) bool {
	if approvals.Patient(ctx) {
		return c.limits.full(ctx, method) || calls.crowded() && time.Since(since) >= crowdYoung
	}
	return since.IsZero() && calls.crowded()
}

// learnPeople has the answer about a person remembered together with those about everybody else in the workspace, where
// many are asked about.
func (c *Client) learnPeople(ctx context.Context, id identity, user string, since time.Time) {
	if !c.inCrowd(ctx, methodUserInfo, &c.personCalls, since) {
		return
	}
	ctx = approvals.WithPatience(ctx, false) // it serves everybody, and nobody else calls the method
	// users.list has to be told one workspace of an organisation.
	if id.enterprise != "" || c.limits.full(ctx, methodUsers) || c.people.serves(user, &since) {
		return
	}
	if until := c.noList.Load(); until != nil && time.Now().Before(*until) {
		return
	}
	_, err := c.everybody.get(ctx, "", since, func(ctx context.Context) (none struct{}, err error) {
		return none, c.listPeople(ctx, id)
	})
	if err != nil {
		c.log.Debug("the people of the workspace could not be listed", "error", unanswered("list people", err))
	}
}

// listPeople remembers who the people of the workspace are. See https://docs.slack.dev/reference/methods/users.list.
func (c *Client) listPeople(ctx context.Context, id identity) (err error) {
	defer func() {
		_, putOff := errors.AsType[*approvals.RetryError](err)
		if err == nil || putOff {
			return
		}
		until := time.Now().Add(listTriedAgain)
		if _, refused := refusal(err); refused || errors.Is(err, errTooMany) {
			until = time.Now().Add(listLeftAlone)
		}
		c.noList.Store(&until)
	}()
	form := url.Values{"limit": {fmt.Sprint(channelPage)}}
	for range mostPeoplePages {
		var page struct {
			Members  []userObject   `json:"members"`
			Metadata cursorMetadata `json:"response_metadata"`
		}
		asked := time.Now()
		if err := c.ask(ctx, methodUsers, form, &page); err != nil {
			return err
		}
		for i := range page.Members {
			c.people.learn(page.Members[i].ID, page.Members[i].person(id), asked)
		}
		if page.Metadata.NextCursor == "" {
			return nil
		}
		form.Set("cursor", page.Metadata.NextCursor)
	}
	return errTooMany
}

// inside is who is in a channel, up to mostPresencePages of them.
type inside struct {
	people []string
	all    bool // there are no others
}

// lookAtCrowd looks for the person among the people of the channel, where many are asked about. known is false where
// that is to be found out otherwise.
func (c *Client) lookAtCrowd(ctx context.Context, channel, user string, since time.Time) (found, known bool) {
	if !c.inCrowd(ctx, methodPlaces, &c.placesCalls, since) || c.places.serves(user, &since) {
		return false, false
	}
	if c.limits.full(ctx, methodMembers) && !c.insides.serves(channel, &since) {
		return false, false
	}
	in, err := c.insides.get(ctx, channel, since, func(ctx context.Context) (in inside, err error) {
		asked := time.Now()
		err = c.eachMembers(ctx, channel, mostPresencePages, func(page []string) bool {
			in.people = append(in.people, page...)
			return true
		})
		if in.all = err == nil; in.all {
			c.members.learn(channel, in.people, asked)
		}
		if errors.Is(err, errTooMany) {
			err = nil
		}
		return in, err
	})
	if err != nil {
		c.log.Debug("the people of a channel could not be listed", "channel", channel, "error", err)
		return false, false
	}
	found = slices.Contains(in.people, user)
	return found, in.all || found
}

// learnCrowd has the answer about a channel remembered together with those about the bot's other conversations, where
// many are asked about. What it cannot find out is left to conversations.info.
func (c *Client) learnCrowd(ctx context.Context, id identity, channel string, since time.Time) {
	refused := c.limits.left(methodChannelInfo) > 0
	if !refused && (!c.infoCalls.crowded() || time.Since(since) < crowdYoung) {
		return
	}
	// users.conversations has to be told one workspace of an organisation, see InChannel.
	if id.enterprise != "" || c.limits.left(methodPlaces) > 0 || c.channels.serves(channel, &since) {
		return
	}
	_, err := c.crowd.get(ctx, "", since, func(ctx context.Context) (conversations, error) {
		return c.placesOf(ctx, placesQuery{types: id.conversationTypes()})
	})
	if err != nil {
		c.log.Debug("the bot's conversations could not be listed", "error", unanswered("list conversations", err))
	}
}

// Channel returns what a channel is. See approvals.Directory. The fields are those of
// https://docs.slack.dev/reference/objects/conversation-object.
func (c *Client) Channel(
	ctx context.Context, ws approvals.WorkspaceID, channel string, since time.Time,
) (approvals.Channel, error) {
	id, err := c.inWorkspace(ctx, ws)
	if err != nil {
		return approvals.Channel{}, err
	}
	c.learnCrowd(ctx, id, channel, since)
	return c.channels.get(ctx, channel, since, func(ctx context.Context) (approvals.Channel, error) {
		return c.channelInfo(ctx, channel)
	})
}

// channelInfo asks about one channel.
func (c *Client) channelInfo(ctx context.Context, channel string) (approvals.Channel, error) {
	var answer struct {
		Channel channelObject `json:"channel"`
	}
	what := "look up channel " + channel
	c.infoCalls.note()
	if err := c.ask(ctx, methodChannelInfo, url.Values{"channel": {channel}}, &answer); err != nil {
		return approvals.Channel{}, unanswered(what, err)
	}
	if answer.Channel.ID != channel {
		return approvals.Channel{}, fmt.Errorf("%s: Slack answered about another one", what)
	}
	return answer.Channel.channel(), nil
}
