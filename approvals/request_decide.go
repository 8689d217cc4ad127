package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/agent"
	"countersign/internal/fault"
)

// maxReason bounds a person's text, in characters.
const maxReason = 2000

// rounds bounds how often a decision gathers facts again because others decided meanwhile.
const rounds = 4

// Decide records one person's answer to one request. The request is returned as it then stands, also with ErrConflict
// (settled before, or answered by the person before), ErrUnauthorized, ErrExpired and ErrStale; it is nil with
// ErrNotFound, ErrInvalid and ErrUnavailable. Refused answers are audited. Deciding again with the same Decision.ID
// returns the request and nil, so an unknown outcome can be resolved by asking again; where the decision says something
// else by now, the first one stands, and that is ErrConflict by RuleRecorded. A request that goes on waiting has its
// Progress, by what was found out for the decision.
//
// A standing answer also settles the waiting requests of the run for the same tool whose own requirement it meets; each
// then has decisions that name it. On terms of its own (Decision.Grant) it makes a Grant, on the narrowest of the terms
// that those who settle the request gave, and settles those waiting requests of the run that the grant covers. Those of
// other runs wait on: their people have been asked. ErrLimit: there are too many grants for the tool.
func (s *Service) Decide(ctx context.Context, d Decision) (*Request, error) {
	return s.DecideOn(ctx, nil, d)
}

// DecideOn is Decide for whoever has just read the request with Recorded, and spares reading it once more. What has
// become of it since counts all the same. seen is not changed; nil: it has not been read.
func (s *Service) DecideOn(ctx context.Context, seen *Request, d Decision) (*Request, error) {
	r, err := s.traceDecide(ctx, seen, d)
	if err == nil {
		return r, nil
	}
	err = fmt.Errorf("decide request %s: %w", d.Request, err)
	for _, settled := range []error{ErrConflict, ErrUnauthorized, ErrExpired, ErrStale} {
		if errors.Is(err, settled) {
			return r, err
		}
	}
	return nil, err
}

func (s *Service) decide(ctx context.Context, seen *Request, d Decision) (*Request, error) {
	now := time.Now()
	if err := d.check(); err != nil {
		return nil, err
	}
	d.Standing, d.Void, d.Issuer, d.Bound = nil, "", "", agent.Digest{}
	if d.ID == "" {
		d.ID = NewDecisionID(now)
	}
	for range rounds {
		r, err := s.decideOnce(ctx, seen, d, Arrival(ctx, now))
		if !errors.Is(err, errNotGathered) {
			return r, err
		}
		seen = nil // it has changed
	}
	return nil, fmt.Errorf("%w: too many others decide at the same time", ErrUnavailable)
}

// check refuses what no request could take.
func (d *Decision) check() error {
	switch {
	case d.Workspace == "" || d.Request == "":
		return refuse(ErrInvalid, wordsNoRequest)
	case d.By.Workspace() != d.Workspace || d.By.Local() == "":
		return refuse(ErrInvalid, wordsNobodyOf(d.By, d.Workspace))
	case d.Via == ViaCallback || d.By == CallbackPrincipal(d.Workspace):
		return refuse(ErrInvalid, wordsAsCallback)
	case utf8.RuneCountInString(d.Reason) > maxReason:
		return refuse(ErrInvalid, wordsTooManyCharacters("reason", maxReason))
	case !utf8.ValidString(d.Reason):
		return refuse(ErrInvalid, wordsNotText("reason"))
	case d.Verdict == BreakGlass && strings.TrimSpace(d.Reason) == "":
		return refuse(ErrInvalid, wordsWhyNoTime)
	case d.Verdict == BreakGlass && d.For != "":
		return refuse(ErrInvalid, wordsEmergencyForOther)
	case d.Verdict.tells() && strings.TrimSpace(d.Reason) == "":
		return refuse(ErrInvalid, wordsWhatHappened)
	case d.For == d.By, d.For != "" && (d.For.Workspace() != d.Workspace || d.For.Local() == ""):
		return refuse(ErrInvalid, wordsNobodyFor(d.For, d.By))
	case d.Grant != nil && !d.Verdict.revises():
		return d.Grant.check(d.Verdict)
	case d.Grant != nil:
		return refuse(ErrInvalid, wordsTermsOfOther(d.Verdict))
	}
	if err := d.checkAnswers(); err != nil {
		return err
	}
	return d.checkRevision()
}

// decideOnce gathers what the decision rests on, and decides in one transaction. errNotGathered: meanwhile the store
// holds something that it rests on too.
func (s *Service) decideOnce(ctx context.Context, read *Request, d Decision, arrived time.Time) (*Request, error) {
	seen, covered, now, err := s.undecided(ctx, read, d)
	if err != nil {
		return nil, err
	}
	if d.Grant != nil {
		if err := seen.boundable(d.Grant); err != nil {
			return nil, err
		}
	}
	if d.Verdict == Answer {
		if err := seen.answerable(&d); err != nil {
			return nil, err
		}
	}
	var f *facts
	var rev *revision
	var g *gatherer
	if seen.open(now) == nil {
		g = newGatherer(s.directory, s.policy, seen.conversation(), arrived).asOf(now)
		g.decision(ctx, d, append([]*Request{seen}, covered...))
		f = &g.facts
		if d.Verdict.revises() {
			rev = s.revise(ctx, g, seen, &d)
		}
	}
	if err := fault.Error("click.before_tx"); err != nil {
		return nil, err
	}
	var head *RequestHead
	var refused error
	err = update(ctx, s.store, d.Workspace, func(c *txn) (err error) {
		if head, err = c.request(d.Request); err != nil {
			return err
		}
		now = c.Now()
		refused, err = c.cast(head, f, d, rev)
		return err
	})
	if err != nil {
		return nil, err
	}
	seen.RequestHead = *head
	if refused == nil && g != nil && seen.Status == RequestPending {
		seen.Progress = g.changed(ctx, seen, now)
	}
	return seen, refused
}

// undecided returns the request, as it was read or as it stands, and, for a standing answer, those that it may settle
// as well. now is the store's time, or close to it: whether the request is overdue is for the transaction to say.
func (s *Service) undecided(
	ctx context.Context, read *Request, d Decision,
) (seen *Request, covered []*Request, now time.Time, err error) {
	if read != nil && read.ID == d.Request && read.Workspace == d.Workspace && !d.Verdict.standing() {
		if now = s.heard.now(); !now.IsZero() {
			seen = new(*read)
			return seen, nil, now, nil
		}
	}
	err = s.store.View(ctx, func(tx Tx) error {
		seen, err = tx.Request(d.Workspace, d.Request)
		if now = tx.Now(); err != nil || !d.Verdict.standing() {
			return err
		}
		all, err := tx.RequestsOfRun(d.Workspace, seen.Run)
		if err != nil {
			return err
		}
		covered, err = tx.Requests(d.Workspace, seen.siblings(all))
		return err
	})
	return seen, covered, now, err
}

// siblings returns the ids of those other requests that wait for an answer about the same tool.
func (r *RequestHead) siblings(all []*RequestHead) (ids []RequestID) {
	for _, o := range all {
		if o.ID != r.ID && o.Status == RequestPending && r.Kind == agent.Confirm &&
			o.about(r.Agent, r.Tool.Name, r.Definition) {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// decision gathers what it takes to judge d about the first of the requests, and all answers to that one about the
// others, which a standing answer settles too.
func (g *gatherer) decision(ctx context.Context, d Decision, all []*Request) {
	if d.Verdict == BreakGlass {
		g.breaking(ctx, d.By)
		return
	}
	g.votes(ctx, d.Verdict, append(all[0].voters(d.Verdict.Affirms()), d.voter()), all)
}

// votes gathers what it takes to judge a verdict of these people about each of the requests: the policy, the rights of
// them and of everybody who has voted, and, where somebody declines, who is left. Those who have answered are among the
// people found, so that many more are looked for.
func (g *gatherer) votes(ctx context.Context, v Verdict, by []voter, about []*Request) {
	for _, r := range about {
		current, err := g.demand(ctx, r)
		if err != nil {
			continue
		}
		all := r.demands(&current)
		counted := slices.Concat(r.voters(v.Affirms()), by)
		whoIsLeft := !v.alone() && (!v.Affirms() && !oneDeclines(all) || len(r.voters(false)) > 0)
		if whoIsLeft {
			counted = append(counted, r.voters(true)...)
		}
		g.rights(ctx, voterIDs(counted), all...)
		if !whoIsLeft {
			continue
		}
		for _, q := range all {
			q := q.eventually(r.lifetime())
			g.candidates(ctx, &q, most(all)+2*(len(r.Decisions)+len(by))+len(r.Editors))
		}
	}
}

// oneDeclines reports whether one person who declines settles the request, so that it does not matter who is left.
func oneDeclines(all []*Requirement) bool {
	return slices.ContainsFunc(all, func(q *Requirement) bool { return q.DenyQuorum <= 1 })
}

// most returns how many seats the largest of the requirements has.
func most(all []*Requirement) (n int) {
	for _, q := range all {
		n = max(n, len(q.Seats))
	}
	return n
}

// cast records d about the request, or why it does not count. rev is what d makes of the call, if it changes it.
func (c *txn) cast(r *RequestHead, f *facts, d Decision, rev *revision) (refused, err error) {
	if err := fault.Error("click.in_tx"); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(r.Decisions, func(old Decision) bool { return old.ID == d.ID }); i >= 0 {
		if refused = d.repeats(&r.Decisions[i]); refused == nil {
			return nil, nil
		}
		return refused, c.auditRefused(r, &d, refused)
	}
	if f == nil {
		refused = r.open(c.Now())
		if refused == nil {
			return nil, errNotGathered
		}
	} else {
		var result ruling
		result, refused = judge(r, f, &d, c.Now())
		if refused == nil && d.Verdict.revises() {
			refused = rev.takeInto(&d)
		}
		switch {
		case refused == nil && d.Verdict == Edit:
			d.For = result.on
			return nil, c.supersede(r, f, d, rev.next)
		case refused == nil:
			return nil, c.decided(r, f, d, result)
		}
	}
	if errors.Is(refused, errNotGathered) {
		return nil, refused
	}
	switch {
	case r.Status != RequestPending:
	case errors.Is(refused, ErrExpired):
		if err := c.expire(r); err != nil {
			return nil, err
		}
	case rev != nil && rev.again: // whoever answers is told so, and nobody can answer what is there
		if err := c.requeue(r.Run, r.ID); err != nil {
			return nil, err
		}
	}
	return refused, c.auditRefused(r, &d, refused)
}

// auditRefused records that d about r does not count, and why.
func (c *txn) auditRefused(r *RequestHead, d *Decision, why error) error {
	return c.audit(entry{
		Action: AuditDecisionRefused, Actor: string(d.By), Run: r.Run, Request: r.ID,
		Data: auditData{Verdict: d.Verdict, Via: d.Via, Why: reason(why)},
	})
}

// repeats returns nil when d is the recorded decision again. A form that was recorded and not confirmed may be sent
// once more with other words, values or terms: those are not recorded, and whoever gave them must not believe that they
// are.
func (d *Decision) repeats(old *Decision) error {
	switch {
	case old.By != d.By, old.Verdict != d.Verdict, d.For != "" && d.For != old.For:
		return refuse(ErrInvalid, wordsDecisionIDUsed(d.ID))
	case d.Reason != old.Reason, !slices.Equal(d.Answers, old.Answers), !d.Grant.equal(old.Grant),
		!d.sameRevision(old):
		return RuleRecorded.refuse(ErrConflict, "", wordsRecordedBefore)
	}
	return nil
}

// decided records d and, when it is a standing answer that settles the request, what else it settles.
func (c *txn) decided(r *RequestHead, f *facts, d Decision, result ruling) error {
	if err := c.record(r, d, f, result); err != nil {
		return err
	}
	if d.Verdict == BreakGlass {
		c.alarm(r, &d, f.emergency.Notify)
	}
	switch {
	case result.status == "" || !d.Verdict.standing():
		return nil
	case r.granting():
		return c.grant(r, f)
	case !r.standing():
		return nil
	}
	all, err := c.requestsOf(r.Run)
	if err != nil {
		return err
	}
	c.overrule(r, all)
	for _, id := range r.siblings(all) {
		if err := c.cover(r, c.requests[id], f); err != nil {
			return err
		}
	}
	return nil
}

// overrule notes with the earlier answers for all calls of the tool that the one to r holds from now on. Which of them
// is the later one cannot be told by their times: somebody may have set the clock back in between.
func (c *txn) overrule(r *RequestHead, all []*RequestHead) {
	for _, o := range all {
		if o.ID != r.ID && o.Overruled == "" && o.forAll() && o.about(r.Agent, r.Tool.Name, r.Definition) {
			o.Overruled = r.ID
			c.touched(o)
			c.show(o)
		}
	}
}

// record adds d to the request and settles it when that is what the ruling says.
func (c *txn) record(r *RequestHead, d Decision, f *facts, result ruling) error {
	if err := c.void(r, result.void); err != nil {
		return err
	}
	d.For = result.on
	if err := c.note(r, d, f); err != nil {
		return err
	}
	if result.status == "" {
		c.show(r)
		return nil
	}
	settled := auditData{Digest: r.Digest}
	if r.Note = result.note; r.Note != "" {
		settled.Why = "quorum out of reach"
	}
	if err := c.moveRequest(r, result.status, string(d.By), settled); err != nil {
		return err
	}
	due := c.Now()
	if r.Status == RequestApproved && r.Outcome == OutcomeNone {
		due = due.Add(cardPause)
	}
	c.showAt(r, due)
	return c.requeue(r.Run, r.ID)
}

// note adds d to the request.
func (c *txn) note(r *RequestHead, d Decision, f *facts) error {
	d.At = c.Now()
	r.Decisions = append(r.Decisions, d)
	current, err := look(f.policies, r.ID)
	if err != nil { // of a decision past the policy, which was not asked then
		current = r.Requirement
	}
	data, err := auditData{
		Bound: d.Bound, Decision: d.ID, Verdict: d.Verdict, Via: d.Via, Digest: d.Digest, Reason: d.wordsDigest(),
		Person: d.Issuer, For: d.For,
	}.evidence(&current)
	if err != nil {
		return err
	}
	if d.Standing != nil {
		data.Standing = d.Standing.Request
	}
	if data.Terms, err = d.Grant.digest(); err != nil {
		return err
	}
	c.touched(r)
	return c.audit(entry{Action: AuditDecision, Actor: string(d.By), Run: r.Run, Request: r.ID, Data: data})
}

// void takes back the decisions of people who have lost the right to them.
func (c *txn) void(r *RequestHead, why map[UserID]string) error {
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if why[d.By] == "" || d.Void != "" {
			continue
		}
		d.Void = why[d.By]
		err := c.audit(entry{
			Action: AuditDecisionVoided, Actor: system, Run: r.Run, Request: r.ID,
			Data: auditData{Decision: d.ID, Person: d.By, Verdict: d.Verdict},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cover settles the waiting request o by the standing answer to r, when that meets what o demands. Otherwise o waits on
// as it is.
func (c *txn) cover(r, o *RequestHead, f *facts) error {
	current, err := look(f.policies, o.ID)
	if errors.Is(err, errNotGathered) {
		return err
	}
	d := r.Settler()
	if err != nil || o.takes(d.Verdict, d.Grant, &current) != nil {
		return nil // its own policy fails, or lets no standing answer cover it
	}
	var votes []Decision
	for _, d := range r.Decisions {
		affirms := d.Verdict.Affirms()
		if d.Void != "" || affirms != (r.Status == RequestApproved) || slices.Contains(o.voters(affirms), d.voter()) {
			continue // also whoever has given the same answer to o already
		}
		votes = append(votes, Decision{
			ID: DecisionID(c.newID("dec_")), Workspace: d.Workspace, Request: o.ID, By: d.By, For: d.For,
			Verdict: d.Verdict.once(),
			Reason:  d.Reason, Digest: o.Digest, Via: d.Via, Standing: &StandingAnswer{Request: r.ID, Decision: d.ID},
		})
	}
	trial := *o
	trial.Decisions = slices.Clone(o.Decisions)
	var rulings []ruling
	for i := range votes {
		result, err := judge(&trial, f, &votes[i], c.Now())
		if errors.Is(err, errNotGathered) {
			return err
		}
		if err != nil {
			return nil
		}
		rulings = append(rulings, result)
		if result.status != "" {
			break
		}
		trial.Decisions = append(trial.Decisions, votes[i])
	}
	if len(rulings) == 0 || rulings[len(rulings)-1].status == "" {
		return nil
	}
	for i, result := range rulings {
		if err := c.record(o, votes[i], f, result); err != nil {
			return err
		}
	}
	return nil
}

// once returns the verdict about one call alone.
func (v Verdict) once() Verdict {
	switch v {
	case AlwaysApprove:
		return Approve
	case AlwaysReject:
		return Reject
	}
	return v
}

// reason names why something was refused, in one word for the audit trail.
func reason(err error) string {
	for _, is := range []struct {
		err  error
		word string
	}{
		{ErrUnavailable, "unavailable"}, {ErrUnauthorized, "unauthorized"},
		{ErrExpired, "expired"}, {ErrStale, "stale"},
		{ErrConflict, "conflict"}, {ErrInvalid, "invalid"}, {ErrLimit, "limit"},
	} {
		if errors.Is(err, is.err) {
			return is.word
		}
	}
	return "error"
}
