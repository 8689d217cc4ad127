package bot

import (
	"context"

	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/humanize"
)

// progressTime bounds how long something that shows a request waits to learn what it still takes.
const progressTime = 2 * time.Second

// inform adds to a pending request what it still takes to approve it, and to one whose arguments were changed what is
// asked instead, unless it has it. Where that cannot be found out now, the request is shown as it was recorded.
func (b *Bot) inform(ctx context.Context, r *approvals.Request) {
	if r != nil && r.Status == approvals.RequestSuperseded && r.AsksNow == "" {
		b.follows(ctx, r)
		return
	}
	if informed(r) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, progressTime)
	defer cancel()
	p, err := b.service.Progress(ctx, r)
	if err != nil {
		b.log.Warn("what a request still needs cannot be found out", "request", r.ID, "error", err)
		return
	}
	r.Progress = p
}

// follows adds to a request whose arguments were changed the last one that asks in its place.
func (b *Bot) follows(ctx context.Context, r *approvals.Request) {
	ctx, cancel := context.WithTimeout(ctx, progressTime)
	defer cancel()
	again, err := b.service.Request(ctx, r.Workspace, r.ID)
	if err != nil {
		b.log.Warn("what is asked instead of a request cannot be found out", "request", r.ID, "error", err)
		return
	}
	r.AsksNow = again.AsksNow
}

// informed reports whether there is nothing for inform to add.
func informed(r *approvals.Request) bool {
	return r == nil || r.Status != approvals.RequestPending || r.Progress != nil
}

// policyChanged reports whether the policy asks other people, or more of them, than when the request was made.
func policyChanged(r *approvals.Request) bool {
	return r != nil && r.Status == approvals.RequestPending && r.Progress != nil && r.Progress.Changed
}

// whoAnswers says whom it takes to answer, and in lines of their own what else is demanded. Of those who may say what
// came of a call, one is enough.
func whoAnswers(r *approvals.Request) []phrase {
	var lines []phrase
	if still := stillNeeded(r); still != nil && len(r.Inherited) == 0 && !policyChanged(r) {
		lines = append(lines, still)
	} else {
		lines = append(lines, wordsNeeds(whoDecides(r, needed(r, r.Requirement))))
	}
	for _, q := range r.Inherited {
		lines = append(lines, wordsNeededBefore(whoDecides(r, needed(r, q))))
	}
	if policyChanged(r) {
		var later phrase
		if e := r.Progress.Current.Escalation; e.After > 0 {
			later = wordsLaterAlso(humanize.Duration(e.After), named(r, e.To))
		}
		lines = append(lines, wordsNeedsNow(whoDecides(r, needed(r, r.Progress.Current)), later))
	}
	return append(lines, escalation(r)...)
}

// escalation says when others are asked beside those who may answer at once, and names them when they are.
func escalation(r *approvals.Request) []phrase {
	if at := r.Escalates(); !at.IsZero() {
		return []phrase{wordsOthersAskedAt(at)}
	}
	if r.Escalated.IsZero() {
		return nil
	}
	return []phrase{wordsSinceAlso(r.Escalated, named(r, r.Requirement.Escalation.To))}
}

// oneAnswers reports whether the question is one that one person answers, rather than so many agree to.
func oneAnswers(r *approvals.Request) bool {
	return r.Kind == agent.ExternalResult || r.Kind == agent.FieldsRequired
}

// needed is the requirement with as many people as it takes to answer the request under it.
func needed(r *approvals.Request, q approvals.Requirement) approvals.Requirement {
	if oneAnswers(r) {
		q.Seats = q.Seats[:min(1, len(q.Seats))]
	}
	if r.Progress != nil {
		q.DenyQuorum = r.Progress.DenyQuorum(&r.RequestHead)
	}
	return q
}

// soFar lists what is not said by whoAnswers of the answers of a pending request.
func soFar(r *approvals.Request) []phrase {
	var lines []phrase
	told := partly(r) && len(r.Inherited) == 0 && !policyChanged(r) // by the first line
	for _, d := range r.Decisions {
		line := wordsAnswered(decider(d), wordsVerdict(d.Verdict), d.At)
		switch {
		case d.Void != "":
			line = append(line, wordsCountsNoLonger(label(d.Void, 120)))
		case r.Progress != nil && slices.Contains(r.Progress.Uncounted, d.By):
			line = append(line, wordsWillNotCount)
		case always(d.Verdict):
			line = append(line, wordsAlwaysSoFar)
		case told && d.Verdict.Affirms():
			continue
		}
		lines = append(lines, line)
	}
	if partly(r) && !told {
		lines = append(lines, stillNeeded(r))
	}
	return lines
}

// partly reports whether some have answered and it is known who has to approve beside them.
func partly(r *approvals.Request) bool {
	return r.Progress != nil && !oneAnswers(r) && r.Progress.Left() > 0 && len(r.Decisions) > 0
}

// stillNeeded says who has to approve beside those who have, and who has; nil where nobody has, or it is not known.
func stillNeeded(r *approvals.Request) phrase {
	if !partly(r) {
		return nil
	}
	p := r.Progress
	of := func(q approvals.Requirement, seats []approvals.Seat) phrase {
		q.Seats = seats
		return whoDecides(r, q)
	}
	all := slices.Concat(p.Missing, p.MissingNow, slices.Concat(p.MissingBefore...))
	switch {
	case untakable(all):
		return append(wordsStillNeeds(phrase{wordsNobodyMay}), approvedBy(r)...)
	case len(p.MissingBefore) > 0:
		return wordsNeedsThoseWhoMeetAll(p.Left())
	case !p.Changed || len(p.MissingNow) == 0:
		return append(moreNeeded(of(r.Requirement, p.Missing)), approvedBy(r)...)
	case len(p.Missing) == 0:
		return append(moreNeeded(of(p.Current, p.MissingNow)), approvedBy(r)...)
	}
	return wordsByPolicyNow(moreNeeded(of(r.Requirement, p.Missing)), of(p.Current, p.MissingNow))
}

// moreNeeded begins with the number of people who are still needed, where who does.
func moreNeeded(who phrase) phrase {
	if text, ok := who[0].(string); ok {
		n, rest, _ := strings.Cut(text, " ")
		if _, err := strconv.Atoi(n); err == nil {
			return append(phrase{wordsNeedsMore(n, rest)}, who[1:]...)
		}
	}
	return wordsStillNeeds(who)
}

// approvedBy names those who have approved: (1 of 2: @ben approved 14:50). Where several people of one group have, and
// somebody of another is missing, it says how far that goes: (@ben approved 14:50, @cleo approved 14:51: 1 of 2).
func approvedBy(r *approvals.Request) phrase {
	var names phrase
	n := 0
	for _, d := range r.Decisions {
		if d.Void != "" || !d.Verdict.Affirms() || slices.Contains(r.Progress.Uncounted, d.By) {
			continue
		}
		if n++; n > 1 {
			names = append(names, ", ")
		}
		names = append(append(names, decider(d)...), wordsApprovedBetween, clock(d.At))
	}
	if n == 0 {
		return nil
	}
	seats := len(r.Requirement.Seats)
	filled := seats - len(r.Progress.Missing)
	if n > filled {
		return wordsApprovedPartly(names, filled, seats)
	}
	return wordsApprovedSoFar(names, filled, seats)
}

// always reports whether a verdict is about later calls too.
func always(v approvals.Verdict) bool {
	return v == approvals.AlwaysApprove || v == approvals.AlwaysReject
}

// votes are the answers that count beside one more of the same side.
type votes struct {
	left    int // how many more it takes after that one, at least
	once    int // how many of them are about this call alone
	forever int // how many are about later calls too
}

// votesBefore counts the answers of one side of a pending request.
func votesBefore(r *approvals.Request, affirm bool) votes {
	var v votes
	for _, d := range r.Decisions {
		switch {
		case d.Void != "" || d.Verdict.Affirms() != affirm:
		case r.Progress != nil && slices.Contains(r.Progress.Uncounted, d.By):
		case always(d.Verdict):
			v.forever++
		default:
			v.once++
		}
	}
	switch {
	case !affirm && r.Progress != nil:
		v.left = r.Progress.DenyQuorum(&r.RequestHead) - v.once - v.forever - 1
	case !affirm:
		v.left = r.Requirement.DenyQuorum - v.once - v.forever - 1
	case r.Progress != nil:
		v.left = r.Progress.Left() - 1
	default:
		v.left = len(r.Requirement.Seats) - v.once - v.forever - 1
	}
	v.left = max(v.left, 0)
	return v
}

// joined makes one sentence of each line.
func joined(lines []phrase) phrase {
	var p phrase
	for i, line := range lines {
		if i > 0 {
			p = append(p, " ")
		}
		p = append(append(p, line...), ".")
	}
	return p
}
