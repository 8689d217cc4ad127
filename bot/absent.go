package bot

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"countersign/approvals"
)

// errAbsent says why somebody counts for no approver: the bot is not in the channel whose members decide, so that it
// cannot see who they are.
var errAbsent = errors.New("the bot is not in the channel")

// explained adds errAbsent to the refusal of somebody who is named by no policy, when that is why. Other errors, and
// those of requests that are not known, stay as they are.
func (b *Bot) explained(ctx context.Context, r *approvals.Request, err error) error {
	if refusalIn(err).Rule != approvals.RuleApprover || r == nil || r.Place.Direct || !byMembership(r) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, progressTime)
	defer cancel()
	there, asked := b.client.present(ctx, r.Place.Channel)
	if asked != nil {
		b.log.Warn("whether the bot is in a channel cannot be found out", "channel", r.Place.Channel, "error", asked)
	}
	if there || asked != nil {
		return err
	}
	return fmt.Errorf("%w: %w", errAbsent, err)
}

// byMembership reports whether members of the channel may decide the request, as far as is known here.
func byMembership(r *approvals.Request) bool {
	seats := r.Requirement.Seats
	if r.Progress != nil {
		seats = append(seats[:len(seats):len(seats)], r.Progress.Current.Seats...)
	}
	for _, seat := range seats {
		if seat.Approvers.ChannelMembers {
			return true
		}
	}
	return false
}

// present reports whether the bot can see who is in the channel: of a private one, whether it is in it.
func (c *Client) present(ctx context.Context, channel string) (bool, error) {
	err := c.ask(ctx, methodMembers, url.Values{"channel": {channel}, "limit": {"1"}}, nil)
	if err = unanswered("look into "+channel, err); errors.Is(err, approvals.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
