package bot

import (
	"context"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// Slack does not say how long a status may be; what it shows in turn has at most 50 characters.
const (
	maxStatus  = 120
	maxLoading = 50
)

// mostWaitedFor is how many people or groups a status names.
const mostWaitedFor = 3

// showWhoIsAwaited has a direct conversation show whom its run waits for, once a card stands there: what the app posts
// clears the status. Slack takes it away after two minutes, the card stays; see
// https://docs.slack.dev/reference/methods/assistant.threads.setStatus. It mentions nobody.
func (b *Bot) showWhoIsAwaited(n *approvals.Notification) {
	if !n.Place.Direct || n.Copy != "" || n.Card == nil || n.Card.Status != approvals.RequestPending ||
		b.closed.has(methodThreadStatus) {
		return
	}
	b.work.beside(func(ctx context.Context) {
		words := b.awaited(ctx, n.Card)
		now, err := b.service.Recorded(ctx, n.Workspace, n.Card.ID)
		if err != nil || now.Status != approvals.RequestPending {
			return // the run goes on, and may wait for something else next
		}
		s := b.statuses
		s.mu.Lock()
		defer s.mu.Unlock()
		lane, ok := s.lanes[n.Place]
		if !ok {
			lane = &statusLane{have: shownStatus{kind: approvals.ActivityWaiting}}
			lane.want = lane.have
			s.lanes[n.Place] = lane
		}
		if lane.want.kind != approvals.ActivityWaiting || lane.timer != nil {
			lane.early = words
			return
		}
		lane.have.words = "" // which the card has taken away
		b.statusWanted(n.Place, lane, shownStatus{approvals.ActivityWaiting, words})
	})
}

// awaited says whom the run waits for and what they are to do.
func (b *Bot) awaited(ctx context.Context, r *approvals.Request) string {
	return label(wordsWaitsFor(b.awaitedPeople(ctx, r), awaitedFor(r)), maxStatus)
}

// awaitedPeople names those who may answer, as plain text. A person whose name cannot be found out is somebody.
func (b *Bot) awaitedPeople(ctx context.Context, r *approvals.Request) string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, seat := range missingSeats(r) {
		for _, u := range seat.Approvers.Users {
			if u != r.Requester || r.Requirement.SelfApproval {
				add(b.plainName(ctx, u))
			}
		}
		for _, g := range seat.Approvers.Groups {
			add(b.client.groupName(ctx, g))
		}
		switch {
		case seat.Approvers.ChannelMembers && r.Place.Direct:
			add(b.plainName(ctx, r.Requester))
		case seat.Approvers.ChannelMembers:
			add(wordsMembersElsewhere)
		}
	}
	if len(names) == 0 {
		return wordsAnybody
	}
	if left := len(names) - mostWaitedFor; left > 0 {
		names = append(names[:mostWaitedFor], wordsFurther(left))
	}
	text := names[0]
	for i, name := range names[1:] {
		text += []string{"", ", ", wordsOr}[joint(i+1, len(names))] + name
	}
	return text
}

// awaitedFor says what people are to do about the request.
func awaitedFor(r *approvals.Request) string {
	tool := toolName(r)
	switch more := len(r.Beside); {
	case r.IsQuestion():
		return wordsToAnswer
	case r.Kind == agent.OutcomeUnknown:
		return wordsToSayWhether(tool)
	case r.Kind == agent.ExternalResult:
		return wordsToGiveResult(tool)
	case r.Kind == agent.FieldsRequired:
		return wordsToFill(tool)
	case more > 0:
		return wordsToDecideCalls(more + 1)
	}
	return wordsToDecide(tool)
}

func (b *Bot) plainName(ctx context.Context, u approvals.UserID) string {
	if p, err := b.client.Person(ctx, u, time.Time{}); err == nil && p.Name != "" {
		return label(p.Name, 40)
	}
	return wordsSomebody
}
