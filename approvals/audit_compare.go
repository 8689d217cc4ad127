package approvals

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// trail is what an audit trail says of requests, effects and grants: the sums by which records are held against it. The
// order of entries does not count in it: those of transactions that overlapped may be linked in either order.
type trail struct {
	requests map[RequestID]requestTrail
	effects  map[effectKey]effectTrail
	grants   map[GrantID]grantTrail
	deleted  deletions
	runs     map[RunID]bool     // that it tells of; true: and of their deletion
	ends     map[RunID]bool     // whose beginning or end it tells of; true: the end
	askers   map[RunID]UserID   // who asked for the run
	only     map[RequestID]bool // nil: all requests count
}

func newTrail() *trail {
	return &trail{
		requests: map[RequestID]requestTrail{}, effects: map[effectKey]effectTrail{}, grants: map[GrantID]grantTrail{},
		runs: map[RunID]bool{}, ends: map[RunID]bool{}, askers: map[RunID]UserID{},
	}
}

// requestTrail is what the trail says of a request.
type requestTrail struct {
	digest    agent.Digest
	run       RunID
	tool      string
	kind      string
	created   time.Time    // zero: the trail does not tell of it
	settled   time.Time    // when it came to its status; zero: it has waited since
	demanded  agent.Digest // of its requirement; zero in entries of earlier versions
	status    RequestStatus
	decisions decisionSum
	outcome   Outcome
	escalated bool
	review    agent.Digest // of what a reviewer said; zero: nothing
	next      RequestID    // that took its place
	standing  bool         // somebody's answer was for all calls of the tool
	effects   []string     // those it allowed, but for those that say that a standing answer allowed them
	revealed  []UserID     // who was shown its secret values, each once

	seq   uint64 // of the first entry about it; zero: not sealed yet
	seen  bool   // the store has it
	gone  bool   // it was deleted
	sent  triggerTrail
	calls []issuedToken // of its callback
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
	for _, text := range []string{string(d.ID), string(d.By), string(d.Verdict), d.Via} {
		b = appendText(b, text)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(d.At.UnixNano()))
	if d.For != "" {
		b = appendText(b, string(d.For))
	}
	if d.Issuer != "" {
		b = appendText(appendText(b, "issuer"), string(d.Issuer))
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

// statusOf says which status an action brings a request to.
var statusOf = map[AuditAction]RequestStatus{
	AuditRequestCreated: RequestPending, AuditRequestApproved: RequestApproved, AuditRequestRejected: RequestRejected,
	AuditRequestExpired: RequestExpired, AuditRequestCancelled: RequestCancelled, AuditRequestStale: RequestStale,
	AuditRequestSuperseded: RequestSuperseded,
}

// add takes an entry into account.
func (t *trail) add(e *AuditEntry) error {
	t.deleted.add(e)
	switch e.Action {
	case AuditRunSubmitted, AuditRunDone, AuditRunFailed, AuditRunCancelled:
		t.ends[e.Run] = t.ends[e.Run] || e.Action != AuditRunSubmitted
	}
	if e.Action == AuditRunSubmitted {
		t.askers[e.Run] = UserID(e.Actor)
	}
	if e.Run != "" {
		t.runs[e.Run] = t.runs[e.Run] || e.Action == AuditRunDeleted
	}
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
	if t.only != nil {
		if t.only[e.Request] {
			t.addRequest(e, &said)
		}
		return nil
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
	r, known := t.requests[e.Request]
	if !known {
		r.seq = e.Seq
	}
	if status, ok := statusOf[e.Action]; ok && later(status) >= later(r.status) {
		r.status = status
		if status != RequestPending {
			r.settled = e.At
		}
	}
	switch e.Action {
	case AuditRequestCreated:
		r.digest, r.demanded = said.Digest, said.Requirement
		r.run, r.tool, r.kind, r.created = e.Run, said.Tool, said.Kind, e.At
	case AuditDecision:
		d := Decision{
			ID: said.Decision, By: UserID(e.Actor), For: said.For, Verdict: said.Verdict, Bound: said.Bound,
			Issuer: said.Person, Via: said.Via, At: e.At,
		}
		r.decisions.add(&d, said.Reason, said.Terms)
		r.standing = r.standing || said.Verdict.standing()
		if e.ID == "" {
			r.decisions.plain++
		}
	case AuditRequestSuperseded:
		r.next = said.Next
	case AuditRequestDeleted:
		r.gone = true
	case AuditDecisionVoided:
		r.decisions.void(said.Decision)
	case AuditRequestEscalated:
		r.escalated = true
	case AuditRequestReviewed:
		r.review = reviewSum(UserID(e.Actor), ReviewVerdict(said.Verdict), said.Reason)
	case AuditRequestRevealed:
		if u := UserID(e.Actor); !slices.Contains(r.revealed, u) {
			r.revealed = append(r.revealed, u)
		}
	case AuditRequestOutcome:
		r.became(said.Outcome)
	case AuditTrigger:
		r.sent.add(said)
	case AuditCallbackIssued:
		r.calls = append(r.calls, newIssuedToken(e, said))
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

// compared counts the records that were held against a trail.
type compared struct {
	requests, effects         int // that agree
	goneRequests, goneEffects int // that were deleted, as the trail says
}

// compare holds the workspace's requests, grants and effects against the trail, and the trail against them.
func (t *trail) compare(ctx context.Context, tx Tx, ws WorkspaceID) (n compared, err error) {
	if n.requests, err = t.compareRequests(ctx, tx, ws); err != nil {
		return n, err
	}
	if err := errors.Join(t.compareGrants(tx, ws), t.deleted.contradict(tx, ws)); err != nil {
		return n, err
	}
	for run := range t.runs {
		found, err := t.compareEffects(tx, ws, run)
		if err != nil {
			return n, err
		}
		if n.effects += found; ctx.Err() != nil {
			return n, ctx.Err()
		}
	}
	if bad := t.gone(&n); bad != nil {
		bad.Workspace = ws
		return n, bad
	}
	return n, ctx.Err()
}

// compareRequests holds all requests against the trail and returns how many there are.
func (t *trail) compareRequests(ctx context.Context, tx Tx, ws WorkspaceID) (n int, err error) {
	for query := (RequestQuery{Workspace: ws, Limit: maxPage}); ; {
		page, next, err := tx.QueryRequests(query)
		if err != nil {
			return n, err
		}
		whole, err := t.contents(tx, ws, page)
		if err != nil {
			return n, err
		}
		for _, r := range whole {
			reason, err := t.requestDiffers(tx, r)
			if err != nil {
				return n, err
			}
			if reason != "" {
				return n, &AuditError{Workspace: ws, Request: r.ID, Kind: FaultRecord, Reason: reason}
			}
			if _, known := t.runs[r.Run]; !known {
				t.runs[r.Run] = false // its effects are looked for too
			}
			n++
		}
		if query.After = next; next == "" {
			return n, nil
		}
		if err := ctx.Err(); err != nil {
			return n, err
		}
	}
}

// contents reads what the requests of a page ask about.
func (t *trail) contents(tx Tx, ws WorkspaceID, page []*RequestHead) ([]*Request, error) {
	ids := make([]RequestID, len(page))
	for i, r := range page {
		ids[i] = r.ID
	}
	whole, err := tx.Requests(ws, ids)
	if err == nil && len(whole) != len(page) {
		err = fmt.Errorf("read requests of %s: %d of %d are there: %w", ws, len(whole), len(page), ErrNotFound)
	}
	return whole, err
}

// requestDiffers says how a request differs from what the trail says of it; empty when it does not.
func (t *trail) requestDiffers(tx Tx, r *Request) (reason string, err error) {
	if said, known := t.requests[r.ID]; known {
		said.seen = true
		t.requests[r.ID] = said
	}
	if reason, err := t.differs(tx, &r.RequestHead); reason != "" || err != nil {
		return reason, err
	}
	if r.Definition.Call(r.Arguments, r.Facts...) != r.Digest {
		return "its arguments are not those that its digest is of", nil
	}
	said := t.requests[r.ID]
	return said.callbackDiffers(tx, &r.RequestHead)
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
	case said.gone:
		return putBack, nil
	case r.Digest != said.digest:
		return "it is about another call than the trail says", nil
	case said.tool != r.Tool.Name || said.kind != string(r.Kind):
		return "it is about another tool than the trail says, or asks for something else of it", nil
	case r.Run != said.run:
		return "it is of another run than the trail says", nil
	case t.askers[r.Run] != "" && t.askers[r.Run] != r.Requester:
		return "somebody else has asked for its run, as the trail says", nil
	case !r.Created.Equal(said.created):
		return "it was asked at another time than the trail says", nil
	case said.demanded != agent.Digest{} && said.demanded != demanded:
		return "it demands something else than when it was asked", nil
	case sum != said.decisions:
		return "its decisions are not those of the trail", nil
	case r.Escalated.IsZero() == said.escalated:
		return "the trail says otherwise whether more people were asked in time", nil
	case r.Review.sum() != said.review:
		return "its review is not that of the trail", nil
	case revealedSum(r.revealedPeople()) != revealedSum(said.revealed):
		return "the trail says otherwise who was shown its secret values", nil
	case said.sent.differs(r.Trigger):
		return "how far its call has come on its way is not what the trail says", nil
	case r.Status == RequestSuperseded && r.SupersededBy != said.next:
		return "another request took its place than the trail says", nil
	case r.Status != said.status:
		return fmt.Sprintf("it is %s, and the trail says %s", r.Status, said.status), nil
	case !r.Settled.Equal(said.settled):
		return "it was settled at another time than the trail says", nil
	}
	if held, err := t.overruled(tx, r); !held || err != nil {
		return "another answer is said to hold in its place that is none for the same calls", err
	}
	if plausible(r.Outcome, said.outcome) {
		return "", nil
	}
	if mixed, err := said.mixed(tx, r, t.deleted.runs[r.Run]); mixed || err != nil {
		return "", err
	}
	return fmt.Sprintf("what became of its call is %q, and the trail says %q", r.Outcome, said.outcome), nil
}

// overruled reports whether the request whose answer is said to hold in the place of the one to r has an answer for all
// calls of the same tool in its run. It may have become stale since. The trail vouches for that answer as for any
// other; of one that was deleted nobody can tell.
func (t *trail) overruled(tx Tx, r *RequestHead) (bool, error) {
	if r.Overruled == "" {
		return true, nil
	}
	by, err := tx.RequestHead(r.Workspace, r.Overruled)
	if errors.Is(err, ErrNotFound) {
		return t.only != nil || t.requests[r.Overruled].gone || t.deleted.runs[r.Run], nil
	}
	if err != nil {
		return false, err
	}
	forAll := slices.ContainsFunc(by.Decisions, func(d Decision) bool { return d.Void == "" && d.Verdict.standing() })
	return by.ID != r.ID && by.Run == r.Run && forAll && by.about(r.Agent, r.Tool.Name, r.Definition), nil
}

// mixed reports whether the outcome that the trail has may be that of another call: earlier versions did not say of an
// effect that a standing answer allowed it. gone says that the run was deleted: nobody can tell any more.
func (s *requestTrail) mixed(tx Tx, r *RequestHead, gone bool) (bool, error) {
	switch {
	case !s.standing || len(s.effects) == 0:
		return false, nil
	case len(s.effects) > 1:
		return true, nil
	}
	e, err := tx.Effect(r.Workspace, r.Run, s.effects[0])
	if errors.Is(err, ErrNotFound) {
		return gone, nil
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
