package bot

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"countersign/approvals"
)

// What is posted in a conversation needs to be known of it first, and a moment ago where there are other processes.
// conversations.info tells of one conversation and may be called some 50 times in a minute, for the whole workspace
// (tier 3, https://docs.slack.dev/apis/web-api/rate-limits): in a crowd of conversations that would hold up every post.
// users.conversations tells of up to channelPage of those that the bot is in at once.

const (
	// crowdCalls of conversations.info within crowdTime are a crowd: a little less than Slack takes for long.
	crowdCalls = 8
	crowdTime  = 10 * time.Second
	// crowdYoung is how young an answer some need that each need one of their own, as decisions do. The list, which
	// rights rest on too, is left to them, unless conversations.info is refused.
	crowdYoung = time.Second
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
