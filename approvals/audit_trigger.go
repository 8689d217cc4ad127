package approvals

import (
	"crypto/sha256"
	"errors"
	"slices"

	"countersign/agent"
)

// triggerTrail is what the trail says of a call's way to the system that carries it out: its newest status.
type triggerTrail struct {
	attempt int
	status  TriggerStatus
}

// add takes an entry into account. Within an attempt the order is that in which a sending goes on, whatever the order
// of the entries.
func (t *triggerTrail) add(said *auditData) {
	status := TriggerStatus(said.Kind)
	if said.Attempt > t.attempt || said.Attempt == t.attempt && sendingStep(status) >= sendingStep(t.status) {
		t.attempt, t.status = said.Attempt, status
	}
}

func sendingStep(s TriggerStatus) int {
	switch s {
	case "":
		return 0
	case TriggerSending:
		return 1
	case TriggerPlanned: // again
		return 2
	}
	return 3
}

// differs reports whether a request says otherwise. A request that was asked again takes over what was known of the
// earlier one; only that one's entries tell of it.
func (t *triggerTrail) differs(has *TriggerState) bool {
	switch {
	case has == nil:
		return t.status != ""
	case has.Earlier != "":
		return false
	case t.status == "":
		return has.Status != TriggerPlanned || has.Attempt != 0
	}
	return has.Status != t.status || has.Attempt != t.attempt
}

// issuedToken is what the trail says of a token of a request's callback.
type issuedToken struct {
	issuer UserID       // empty: it went out with the call
	sum    agent.Digest // see tokenSum; zero in entries of earlier versions
}

func newIssuedToken(e *AuditEntry, said *auditData) issuedToken {
	t := issuedToken{sum: said.Token}
	if e.Actor != system {
		t.issuer = UserID(e.Actor)
	}
	return t
}

// tokenSum stands for a token in the trail: the digest of what the store keeps of it, so that an export is of no use
// to whoever looks for tokens.
func tokenSum(token agent.Digest) agent.Digest {
	return sha256.Sum256(append([]byte("countersign.callback/1"), token[:]...))
}

// callbackDiffers says how a request's callback differs from the tokens that were issued; empty when it does not.
func (s *requestTrail) callbackDiffers(tx Tx, r *RequestHead) (reason string, err error) {
	k, err := tx.Callback(r.Workspace, r.ID)
	if errors.Is(err, ErrNotFound) {
		if len(s.calls) > 0 {
			return "its callback is gone", nil
		}
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for i, token := range append([]agent.Digest{k.Token}, k.Earlier...) {
		known := slices.ContainsFunc(s.calls, func(t issuedToken) bool {
			return (t.sum == agent.Digest{} || t.sum == tokenSum(token)) && (i > 0 || t.issuer == k.Issuer)
		})
		if !known {
			return "its callback has a token that nobody has had made, as the trail says", nil
		}
	}
	return "", nil
}
