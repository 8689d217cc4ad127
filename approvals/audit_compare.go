package approvals

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/agent"
)

// trail is what an audit trail says of requests, effects and grants: the sums by which records are held against it. The
// order of entries does not count in it: those of transactions that overlapped may be linked in either order.
type trail struct {
	requests map[RequestID]requestTrail
	effects  map[effectKey]effectTrail
	grants   map[GrantID]grantTrail
}

func newTrail() *trail {
	return &trail{
		requests: map[RequestID]requestTrail{}, effects: map[effectKey]effectTrail{}, grants: map[GrantID]grantTrail{},
	}
}

// requestTrail is what the trail says of a request.
type requestTrail struct {
	digest    agent.Digest
	demanded  agent.Digest // of its requirement; zero in entries of earlier versions
	status    RequestStatus
	decisions decisionSum
	outcome   Outcome
	escalated bool
	review    agent.Digest // of what a reviewer said; zero: nothing
	next      RequestID    // that took its place
	standing  bool         // somebody's answer was for all calls of the tool
	effects   []string     // those it allowed, but for those that say that a standing answer allowed them
}

// decisionSum stands for the decisions about a request: who decided what, and what was taken back.
type decisionSum struct {
	made, voided agent.Digest
	plain        int // how many have no digest of their reason in the trail
}

// add counts a decision in. reason is the digest of the person's words, terms that of the terms of a grant, which
// counts where there are any.
func (s *decisionSum) add(d *Decision, reason, terms agent.Digest) {
	b := make([]byte, 0, 256)
	for _, text := range []string{string(d.ID), string(d.By), string(d.Verdict)} {
		b = appendText(b, text)
	}
	if d.For != "" {
		b = appendText(b, string(d.For))
	}
	b = append(append(b, d.Bound[:]...), reason[:]...)
	if terms != (agent.Digest{}) {
		b = append(b, terms[:]...)
	}
	combine(&s.made, sha256.Sum256(b))
}

// void counts a decision out.
func (s *decisionSum) void(id DecisionID) {
	combine(&s.voided, sha256.Sum256([]byte(id)))
}

// combine adds a digest to a sum in which the order does not count.
func combine(sum *agent.Digest, more agent.Digest) {
	for i := range sum {
		sum[i] ^= more[i]
	}
}

type effectKey struct {
	run RunID
	id  string
}

// effectTrail is what the trail says of an effect.
type effectTrail struct {
	request  RequestID
	grant    GrantID
	broken   DecisionID // the emergency decision that allowed it
	digest   agent.Digest
	attempts int
	done     bool
	output   agent.Digest // zero in entries of the first form
}

// statusOf says which status an action brings a request to.
var statusOf = map[AuditAction]RequestStatus{
	AuditRequestCreated: RequestPending, AuditRequestApproved: RequestApproved, AuditRequestRejected: RequestRejected,
	AuditRequestExpired: RequestExpired, AuditRequestCancelled: RequestCancelled, AuditRequestStale: RequestStale,
	AuditRequestSuperseded: RequestSuperseded,
}

// add takes an entry into account.
func (t *trail) add(e *AuditEntry) error {
	effect := e.Action == AuditEffectIntent || e.Action == AuditEffectDone
	grant := e.Action == AuditGrantCreated || e.Action == AuditGrantUsed || e.Action == AuditGrantRevoked
	if e.Request == "" && !effect && !grant {
		return nil
	}
	var said auditData
	if len(e.Data) > 0 {
		if err := json.Unmarshal(e.Data, &said); err != nil {
			return &AuditError{Workspace: e.Workspace, Seq: e.Seq, Reason: "its data cannot be understood"}
		}
	}
	if effect {
		t.addEffect(e, &said)
	}
	if grant {
		t.addGrant(e, &said)
	}
	if e.Request != "" {
		t.addRequest(e, &said)
	}
	return nil
}

func (t *trail) addRequest(e *AuditEntry, said *auditData) {
	r := t.requests[e.Request]
	if status, ok := statusOf[e.Action]; ok && later(status) >= later(r.status) {
		r.status = status
	}
	switch e.Action {
	case AuditRequestCreated:
		r.digest, r.demanded = said.Digest, said.Requirement
	case AuditDecision:
		d := Decision{
			ID: said.Decision, By: UserID(e.Actor), For: said.For, Verdict: said.Verdict, Bound: said.Bound,
		}
		r.decisions.add(&d, said.Reason, said.Terms)
		r.standing = r.standing || said.Verdict.standing()
		if e.ID == "" {
			r.decisions.plain++
		}
	case AuditRequestSuperseded:
		r.next = said.Next
	case AuditDecisionVoided:
		r.decisions.void(said.Decision)
	case AuditRequestEscalated:
		r.escalated = true
	case AuditRequestReviewed:
		r.review = reviewSum(UserID(e.Actor), ReviewVerdict(said.Verdict), said.Reason)
	case AuditRequestOutcome:
		r.became(said.Outcome)
	case AuditEffectIntent, AuditEffectDone, AuditEffectUnknown:
		r.addEffect(e.Action, said)
	}
	t.requests[e.Request] = r
}

// addEffect takes an effect that the request allowed into account. One under a standing answer is about another call
// than the request is.
func (r *requestTrail) addEffect(action AuditAction, said *auditData) {
	if said.Standing != "" {
		return
	}
	if !slices.Contains(r.effects, said.Effect) {
		r.effects = append(r.effects, said.Effect)
	}
	switch action {
	case AuditEffectIntent:
		r.became(OutcomeRunning)
	case AuditEffectDone:
		r.became(said.Outcome)
	case AuditEffectUnknown:
		r.became(OutcomeUnknown)
	}
}

// later orders statuses as a request goes through them.
func later(s RequestStatus) int {
	switch s {
	case "":
		return 0
	case RequestPending:
		return 1
	case RequestStale:
		return 3
	}
	return 2
}

// became notes an outcome; a final one stays.
func (r *requestTrail) became(o Outcome) {
	if _, open := outcomeMoves[r.outcome]; open {
		r.outcome = o
	}
}

func (t *trail) addEffect(e *AuditEntry, said *auditData) {
	key := effectKey{e.Run, said.Effect}
	x := t.effects[key]
	if said.Attempt < x.attempts {
		return
	}
	if said.Attempt > x.attempts {
		x = effectTrail{attempts: said.Attempt}
	}
	x.request, x.grant, x.broken, x.digest = e.Request, said.Grant, said.BreakGlass, said.Digest
	if e.Action == AuditEffectDone {
		x.done, x.output = true, said.Output
	}
	t.effects[key] = x
}

// compared counts the records that were held against a trail.
type compared struct {
	requests, effects         int // that agree
	goneRequests, goneEffects int // that the trail tells of and the store has not any more
}

// compare holds the workspace's requests and effects against the trail. Of records that are gone the trail alone tells.
func (t *trail) compare(ctx context.Context, tx Tx, ws WorkspaceID) (n compared, err error) {
	runs := make(map[RunID]bool)
	for key := range t.effects {
		runs[key.run] = true
	}
	query := RequestQuery{Workspace: ws, Limit: maxPage}
	for {
		page, next, err := tx.QueryRequests(query)
		if err != nil {
			return n, err
		}
		for _, r := range page {
			reason, err := t.differs(tx, r)
			if err != nil {
				return n, err
			}
			if reason != "" {
				return n, &AuditError{Workspace: ws, Request: r.ID, Reason: reason}
			}
			n.requests++
			runs[r.Run] = true
		}
		if query.After = next; next == "" {
			break
		}
		if err := ctx.Err(); err != nil {
			return n, err
		}
	}
	if err := t.compareGrants(tx, ws); err != nil {
		return n, err
	}
	for run := range runs {
		found, err := t.compareEffects(tx, ws, run)
		if err != nil {
			return n, err
		}
		n.effects += found
	}
	n.goneRequests, n.goneEffects = len(t.requests)-n.requests, len(t.effects)-n.effects
	return n, ctx.Err()
}

// differs says how a request differs from what the trail says of it; empty when it does not.
func (t *trail) differs(tx Tx, r *RequestHead) (reason string, err error) {
	said, known := t.requests[r.ID]
	if !known {
		return "the trail does not know it", nil
	}
	sum := decisionSum{plain: said.decisions.plain}
	for i, d := range r.Decisions {
		reason := d.wordsDigest()
		if i < sum.plain {
			reason = agent.Digest{}
		}
		terms, err := d.Grant.digest()
		if err != nil {
			return "", err
		}
		sum.add(&d, reason, terms)
		if d.Void != "" {
			sum.void(d.ID)
		}
	}
	demanded, err := r.demanded()
	if err != nil {
		return "", err
	}
	switch {
	case r.Digest != said.digest:
		return "it is about another call than the trail says", nil
	case said.demanded != agent.Digest{} && said.demanded != demanded:
		return "it demands something else than when it was asked", nil
	case sum != said.decisions:
		return "its decisions are not those of the trail", nil
	case r.Escalated.IsZero() == said.escalated:
		return "the trail says otherwise whether more people were asked in time", nil
	case r.Review.sum() != said.review:
		return "its review is not that of the trail", nil
	case r.Status == RequestSuperseded && r.SupersededBy != said.next:
		return "another request took its place than the trail says", nil
	case r.Status != said.status:
		return fmt.Sprintf("it is %s, and the trail says %s", r.Status, said.status), nil
	case plausible(r.Outcome, said.outcome):
		return "", nil
	}
	if mixed, err := said.mixed(tx, r); mixed || err != nil {
		return "", err
	}
	return fmt.Sprintf("what became of its call is %q, and the trail says %q", r.Outcome, said.outcome), nil
}

// mixed reports whether the outcome that the trail has may be that of another call: earlier versions did not say of an
// effect that a standing answer allowed it.
func (s *requestTrail) mixed(tx Tx, r *RequestHead) (bool, error) {
	switch {
	case !s.standing || len(s.effects) == 0:
		return false, nil
	case len(s.effects) > 1:
		return true, nil
	}
	e, err := tx.Effect(r.Workspace, r.Run, s.effects[0])
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && e.Interruption != r.Interruption, err
}

// plausible reports whether a request may say this of its call when the trail says that. The trail names the request
// that allowed a call; where a later one allowed to try again, the earlier one follows it.
func plausible(has, said Outcome) bool {
	switch {
	case has == said:
		return true
	case said == OutcomeRan, said == OutcomeFailed, said == OutcomeNotRun:
		return false
	case said == OutcomeNone:
		// As people say, without an effect of ours; or as the effect says, of which entries of the first form tell
		// only that it is done.
		return has != OutcomeRunning
	}
	return slices.Contains(outcomeMoves[said], has)
}

// compareEffects holds the effects of a run against the trail and returns how many there are.
func (t *trail) compareEffects(tx Tx, ws WorkspaceID, run RunID) (int, error) {
	all, err := tx.EffectsOfRun(ws, run)
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		reason, err := t.effectDiffers(e)
		if err != nil {
			return 0, err
		}
		if reason != "" {
			return 0, &AuditError{Workspace: ws, Request: e.Request, Effect: e.ID, Reason: reason}
		}
	}
	return len(all), nil
}

func (t *trail) effectDiffers(e *EffectRecord) (reason string, err error) {
	said, known := t.effects[effectKey{e.Run, e.ID}]
	if !known {
		return "the trail does not know it", nil
	}
	var output agent.Digest
	if e.Output != nil {
		if output, err = outputDigest(e.Output); err != nil {
			return "", err
		}
	}
	switch {
	case e.Request != said.request:
		return "another request allowed it than the trail says", nil
	case e.Grant != said.grant:
		return "another grant allowed it than the trail says", nil
	case e.BreakGlass != said.broken:
		return "the trail says otherwise which emergency decision allowed it", nil
	case e.Digest != said.digest:
		return "it is another call than the trail says", nil
	case e.Attempt != said.attempts:
		return fmt.Sprintf("it was begun %d times, and the trail says %d", e.Attempt, said.attempts), nil
	case e.Done.IsZero() == said.done:
		return "the trail says otherwise whether it is done", nil
	case said.output != agent.Digest{} && output != said.output:
		return "its output is not the one of the trail", nil
	}
	return "", nil
}
