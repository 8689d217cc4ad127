package approvals

import (
	"context"
	"slices"

	"countersign/agent"
)

// Emergency says who may let a call run past the policies, and where that is announced beside the conversation.
type Emergency struct {
	People Approvers // never the requester; empty: nobody may
	Notify string    // a channel of the surface; empty: the conversation alone is told
}

// EmergencyPolicy is a Policy that knows an Emergency. Under one that does not, nobody decides past the policies.
type EmergencyPolicy interface {
	Emergency(ws WorkspaceID) Emergency
}

// breaking gathers what it takes to say whether u may break the glass.
func (g *gatherer) breaking(ctx context.Context, u UserID) {
	g.askUntilKnown(ctx, func(open openQuestions) {
		if who := open.person(u); who == nil || who.Regular {
			open.membership(g.emergency.People, u)
		}
	})
}

// breaks is judge for an emergency decision: one person whom the configuration names, and who is nobody on whose behalf
// the call is asked for, lets it run, whatever the policy demands.
func (f *facts) breaks(r *RequestHead, d *Decision) (ruling, error) {
	switch {
	case r.Kind != agent.Confirm:
		return ruling{}, refuse(ErrInvalid, wordsNoEmergencyHere)
	case f.emergency.People.Empty():
		return ruling{}, refuse(ErrUnauthorized, wordsNoBreakGlass)
	case slices.Contains(r.Principals(), d.By):
		return ruling{}, f.at.selfApproval(d.By)
	}
	if err := f.regular(d.By); err != nil {
		return ruling{}, err
	}
	named, err := f.in(f.emergency.People, d.By)
	if err != nil {
		return ruling{}, err
	}
	if !named {
		return ruling{}, refuse(ErrUnauthorized, wordsNotInBreakGlass)
	}
	if err := r.hasNoAnswer(d.voter()); err != nil {
		return ruling{}, err
	}
	if !sameDigest(d.Digest, r.Digest) {
		return ruling{}, refuse(ErrStale, wordsShownOtherwise)
	}
	return ruling{status: RequestApproved}, nil
}

// brokenGlass returns the emergency decision by which the request was approved, or nil.
func (r *RequestHead) brokenGlass() *Decision {
	i := slices.IndexFunc(r.Decisions, func(d Decision) bool { return d.Verdict == BreakGlass && d.Void == "" })
	if i < 0 {
		return nil
	}
	return &r.Decisions[i]
}

// AwaitsReview reports whether somebody let the call run past the policy, and nobody has reviewed that yet.
func (r *RequestHead) AwaitsReview() bool { return r.brokenGlass() != nil && r.Review == nil }

// alarm tells the conversation, and the channel if there is one, that somebody has decided past the policy. What cannot
// be delivered to the channel becomes a dead letter and holds up nothing else: it is a queue of its own.
func (c *txn) alarm(r *RequestHead, d *Decision, channel string) {
	text := wordsBrokeGlass(r.Tool.Name, r.Requirement.name(), quote(d.Reason), r.ID)
	c.notify(&Notification{Kind: NotifyNotice, Place: r.Place, Run: r.Run, By: d.By, Text: text})
	if channel == "" {
		return
	}
	c.notify(&Notification{
		Kind: NotifyNotice, Place: Place{Surface: r.Place.Surface, Channel: channel}, Copy: Copy("channel:" + channel),
		Run: r.Run, By: d.By, Text: text,
	})
}
