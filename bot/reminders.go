package bot

import (
	"context"
	"fmt"
	"slices"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// reminder renders that a request still waits: for how many people, for whom, and until when. Nobody is mentioned who
// could not answer it.
func (b *Bot) reminder(ctx context.Context, n *approvals.Notification) ([]post, error) {
	r := n.Card
	who, err := b.service.Awaited(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("whom to remind of request %s: %w", r.ID, err)
	}
	b.inform(ctx, r)
	lead := phrase{"Reminder: ", strong(toolName(r)), waitsFor(r)}
	missing := phrase{fmt.Sprintf("Still needed: %s", stillMissing(r))}
	if names := mentions(who); len(names) > 0 {
		missing = append(append(missing, ", of "), names...)
	}
	return []post{noticePost(n, []phrase{lead, append(missing, "."), deadline(r), b.aboutRequest(ctx, r)})}, nil
}

// escalated renders that more people may answer a request from now on, and calls those of them who could.
func (b *Bot) escalated(ctx context.Context, n *approvals.Notification) ([]post, error) {
	r := n.Card
	who, err := b.service.Awaited(ctx, r, r.Requirement.Escalation.To)
	if err != nil {
		return nil, fmt.Errorf("who else may answer request %s: %w", r.ID, err)
	}
	lead := phrase{strong(toolName(r)), waitsFor(r), " It has waited since ", r.Created, "."}
	also := phrase{"From now on these may answer too: "}
	if names := mentions(who); len(names) > 0 {
		also = append(append(also, names...), ".")
	} else {
		also = phrase{"Others may answer from now on too."}
	}
	return []post{noticePost(n, []phrase{lead, also, deadline(r), b.aboutRequest(ctx, r)})}, nil
}

func waitsFor(r *approvals.Request) string {
	if r.IsQuestion() {
		return " waits for an answer."
	}
	switch r.Kind {
	case agent.OutcomeUnknown:
		return " waits for somebody to say what became of it."
	case agent.ExternalResult:
		return " waits for its result."
	}
	return " waits for approval."
}

// stillMissing counts the people whom it takes at least.
func stillMissing(r *approvals.Request) string {
	left := len(r.Requirement.Seats)
	if r.Progress != nil {
		left = r.Progress.Left()
	}
	if r.Kind == agent.ExternalResult {
		left = min(left, 1)
	}
	if left == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", left)
}

// mentions calls those who could answer.
func mentions(who approvals.Awaited) (p phrase) {
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
		and("the members of this channel")
	}
	if who.More {
		and("others")
	}
	return p
}

func deadline(r *approvals.Request) phrase {
	if r.Expires.IsZero() {
		return phrase{"It waits without a deadline."}
	}
	return phrase{"It waits until ", r.Expires, "."}
}

// aboutRequest names the request that is spoken of, and leads to its card.
func (b *Bot) aboutRequest(ctx context.Context, r *approvals.Request) phrase {
	return append(phrase{itsCard}, b.leadingTo(ctx, r)...)
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
