package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/humanize"
)

// reminder renders that a request still waits: for how many people, for whom, and for how long. Nobody is mentioned who
// could not answer it, or who is reminded elsewhere.
func (b *Bot) reminder(ctx context.Context, n *approvals.Notification) ([]post, error) {
	r := n.Card
	who, err := b.service.Awaited(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("whom to remind of request %s: %w", r.ID, err)
	}
	bare, err := b.showsBare(ctx, n)
	if err != nil {
		return nil, err
	}
	b.inform(ctx, r)
	missing := phrase{wordsNobodyLeft}
	if all := mentions(r, who); len(all) > 0 {
		missing = wordsStillNeeded(stillMissing(r), b.calledHere(ctx, n, all))
	}
	lines := []phrase{
		wordsReminder(toolName(r), waitsFor(r)), missing, timeLeft(r), b.aboutRequest(ctx, n, bare),
	}
	if n.Copy != "" {
		lines = append(lines, wordsAskedIn(r.Requester, b.whereAsked(ctx, r)))
	}
	return []post{noticePost(n, lines)}, nil
}

// remindCopy reminds the people of a copy. Somebody for whom more waits is shown all of it at once; nobody is reminded
// of what they may not decide any more.
func (b *Bot) remindCopy(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	if u, person := n.Copy.Person(n.Workspace); person {
		err := b.service.MayDecide(ctx, n.Card, u)
		switch {
		case errors.Is(err, approvals.ErrUnavailable):
			return approvals.Delivery{}, err
		case err != nil:
			return approvals.Delivery{}, nil
		case n.Listing():
			return b.digest(ctx, n)
		}
	}
	posts, err := b.reminder(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	channel, err := b.copyChannel(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	d, err := b.postAll(ctx, n, channel, "", posts)
	return d, undelivered(err)
}

// calledHere returns the phrase with names in the place of mentions of those who are called elsewhere, or not at all.
func (b *Bot) calledHere(ctx context.Context, n *approvals.Notification, p phrase) phrase {
	r := n.Card
	if !r.Called.Planned {
		return p
	}
	naming := r.Requirement.Notify.Named
	quiet := n.Copy != "" || naming == approvals.NamingNone
	for i, part := range p {
		switch who := part.(type) {
		case approvals.UserID:
			if quiet || slices.Contains(r.Called.Copies, approvals.CopyFor(who)) {
				p[i] = b.nameOf(ctx, who)
			}
		case group:
			if quiet || !slices.Contains(r.Called.Groups, string(who)) {
				p[i] = b.client.groupName(ctx, string(who))
			}
		}
	}
	return p
}

// escalated renders that more people may answer a request from now on, and calls those of them who could.
func (b *Bot) escalated(ctx context.Context, n *approvals.Notification) ([]post, error) {
	r := n.Card
	who, err := b.service.Awaited(ctx, r, r.Requirement.Escalation.To)
	if err != nil {
		return nil, fmt.Errorf("who else may answer request %s: %w", r.ID, err)
	}
	bare, err := b.showsBare(ctx, n)
	if err != nil {
		return nil, err
	}
	lead, also := wordsEscalated(toolName(r), waitsFor(r), r.Created), wordsOthersMayToo()
	if names := b.calledHere(ctx, n, mentions(r, who)); len(names) > 0 {
		also = wordsTheyMayToo(names)
	}
	return []post{noticePost(n, []phrase{lead, also, timeLeft(r), b.aboutRequest(ctx, n, bare)})}, nil
}

// waitsFor is what a reminder says behind the tool.
func waitsFor(r *approvals.Request) string {
	if r.IsQuestion() {
		return wordsWaitsForAnswer
	}
	switch r.Kind {
	case agent.OutcomeUnknown:
		return wordsWaitsForOutcome
	case agent.ExternalResult:
		return wordsWaitsForResult
	}
	return wordsWaitsForApproval
}

// stillMissing counts the people whom it takes at least.
func stillMissing(r *approvals.Request) int {
	left := len(r.Requirement.Seats)
	if r.Progress != nil {
		left = r.Progress.Left()
	}
	if r.Kind == agent.ExternalResult {
		left = min(left, 1)
	}
	return left
}

// mentions calls those who could answer r.
func mentions(r *approvals.Request, who approvals.Awaited) (p phrase) {
	and := func(part any) {
		if len(p) > 0 {
			p = append(p, ", ")
		}
		p = append(p, part)
	}
	for _, u := range who.Users {
		and(u)
	}
	for _, g := range who.Groups {
		and(group(g))
	}
	if who.ChannelMembers {
		if len(p) > 0 {
			p = append(p, ", ")
		}
		p = append(p, channelMembers(r)...)
	}
	if who.More {
		and(wordsOthers)
	}
	return p
}

func deadline(r *approvals.Request) phrase {
	if r.Expires.IsZero() {
		return wordsNoEnd()
	}
	return wordsWaitsUntil(r.Expires)
}

// timeLeft says until when the request waits, and how long that is.
func timeLeft(r *approvals.Request) phrase {
	left := time.Until(r.Expires).Round(time.Minute)
	if r.Expires.IsZero() || left <= 0 {
		return deadline(r)
	}
	return wordsTimeLeft(r.Expires, humanize.Duration(left))
}

// aboutRequest names the request that is spoken of, and leads to its card; to people of other organisations it gives
// the id alone. A copy leads there by itself.
func (b *Bot) aboutRequest(ctx context.Context, n *approvals.Notification, bare bool) phrase {
	if bare {
		return wordsItIs(n.Card.ID)
	}
	e := b.entries(ctx, []*approvals.Request{n.Card})[0]
	if n.Copy != "" {
		e.link = ""
	}
	return append(phrase{wordsItsCard}, e.named()...)
}

// noticePost is a message of lines that is found again by its notification.
func noticePost(n *approvals.Notification, lines []phrase) post {
	id := string(n.ID)
	return post{
		text:   slices.Concat(lines[0], phrase{" "}, lines[1]),
		blocks: stamp([]slack.Block{paragraph(lines...)}, id),
		metadata: slack.SlackMetadata{EventType: noticeEvent, EventPayload: map[string]any{
			"notification": id, "run": string(n.Run), "part": 1, "parts": 1,
		}},
		same: func(m postedMessage) bool {
			return m.Metadata.EventType == noticeEvent && m.Metadata.EventPayload["notification"] == id
		},
	}
}
