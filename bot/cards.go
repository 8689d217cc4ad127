package bot

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// cardEvent is the metadata type of every message that shows a request.
const cardEvent = "countersign_approval"

// card is a message about a request.
type card struct {
	text   phrase // for notifications and screen readers; never holds argument values
	blocks []slack.Block
	lead   phrase // of a copy: why it is where it is
	// encoded are the blocks as Slack takes them, when it was necessary to find out how large they are.
	encoded json.RawMessage
	// whole says that the card shows the complete call, so that it may offer to approve it.
	whole bool
	// bare says that it shows nothing of the call, because people of other organisations read it.
	bare bool
	// least says that it shows as little of the call as a card can.
	least bool
}

// newCard renders the request as it stands: the question while it is pending, the outcome afterwards.
func newCard(r *approvals.Request) card { return newCardCopy(r, nil) }

// newCardCopy is newCard for a message elsewhere than where the run was asked for: above the question stands lead,
// which says why it is there. Nil: nothing does.
func newCardCopy(r *approvals.Request, lead phrase) card {
	if r.Status != approvals.RequestPending {
		return settledCard(r)
	}
	c := card{text: cardText(r), lead: lead}
	call := newCardCall(r)
	for _, x := range []extent{full, bare, beginning} {
		var complete bool
		c.blocks, complete = pendingBlocks(r, call, lead, x)
		c.whole = complete && !r.RevealFirst()
		var ok bool
		if c.encoded, ok = fitted(c.blocks); ok {
			return c
		}
	}
	return c.shortened(r)
}

// shortened returns the card with less of the call, for when Slack does not take all of it.
func (c card) shortened(r *approvals.Request) card {
	c.whole, c.encoded, c.least = false, nil, true
	if r.Status == approvals.RequestPending {
		c.blocks, _ = pendingBlocks(r, newCardCall(r), c.lead, least)
	} else {
		c.blocks = settledBlocks(r)
	}
	return c
}

// showsWhole reports whether the request's card shows the complete call.
func showsWhole(r *approvals.Request) bool { return surelyWhole(r) || newCard(r).whole }

// surelyWhole reports whether the request is so small that its card shows the complete call whatever is in it, which is
// so of nearly all and cheaper to find out than by rendering.
func surelyWhole(r *approvals.Request) bool {
	const most = 400 // bytes of a call; written out and encoded, each of them takes up to seven
	size := len(r.Arguments)
	for _, part := range slices.Concat(r.Tool.Binding, r.Facts) {
		size += len(part)
	}
	if policyChanged(r) || r.IsQuestion() || r.Requirement.Escalation.After > 0 || r.Original != nil ||
		len(r.Inherited)+len(r.Fields)+len(r.Secret)+len(r.AskedBack) > 0 { // more is said of it
		return false
	}
	named := 0
	for _, seat := range r.Requirement.Seats {
		named += 1 + len(seat.Approvers.Users) + len(seat.Approvers.Groups)
	}
	return r.Status == approvals.RequestPending && size <= most && len(r.Tool.Binding)+len(r.Facts) <= 10 &&
		named <= 10 && len(r.Decisions) <= 5
}

// fits reports whether a message may hold the blocks.
func fits(blocks []slack.Block) bool {
	_, ok := fitted(blocks)
	return ok
}

// fitted encodes blocks and reports whether a message may hold them.
func fitted(blocks []slack.Block) (json.RawMessage, bool) {
	raw, err := encodeBlocks(blocks)
	return raw, err == nil && len(blocks) <= maxBlocks && len(raw) <= maxMessage
}

func cardText(r *approvals.Request) phrase {
	if r.IsQuestion() {
		return wordsQuestionAsked(toolName(r), r.Requester)
	}
	switch r.Kind {
	case agent.OutcomeUnknown:
		return wordsOutcomeAsked(toolName(r), r.Requester)
	case agent.ExternalResult:
		return wordsResultAsked(toolName(r), r.Requester)
	case agent.FieldsRequired:
		return wordsValuesAsked(toolName(r), r.Requester)
	}
	return wordsApprovalAsked(toolName(r), r.Requester)
}

// blockPrefix changes with every version of the request and carries the digest of what the blocks show: a click brings
// it back.
func blockPrefix(r *approvals.Request) string {
	return shownPrefix + r.Digest.String() + "." + strconv.FormatInt(r.Version, 10)
}

const shownPrefix = "shown."

// shownDigest reads the digest that stamp wrote into a block id.
func shownDigest(blockID string) (agent.Digest, bool) {
	rest, ok := strings.CutPrefix(blockID, shownPrefix)
	if !ok {
		return agent.Digest{}, false
	}
	hexed, _, _ := strings.Cut(rest, ".")
	return parseDigest(hexed)
}

func parseDigest(s string) (agent.Digest, bool) {
	var d agent.Digest
	err := d.UnmarshalText([]byte(s))
	return d, err == nil
}

// canShorten reports whether a shorter card may be taken where Slack has found this one too large.
func (c card) canShorten() bool { return !c.least && !c.bare }

// metadata is what finds a card again and ties a click to what was shown.
func (c card) metadata(r *approvals.Request) slack.SlackMetadata {
	return slack.SlackMetadata{EventType: cardEvent, EventPayload: map[string]any{
		"request": string(r.ID), "digest": r.Digest.String(), "status": string(r.Status),
	}}
}
