package approvals

import (
	"fmt"
	"time"

	"countersign/agent"
)

// grantTrail is what the trail says of a grant.
type grantTrail struct {
	terms   agent.Digest // see Grant.digest
	used    int
	revoked bool
	by      string // who revoked it, as the trail names them
	at      time.Time
	reason  agent.Digest
}

// addGrant takes an entry about a grant into account.
func (t *trail) addGrant(e *AuditEntry, said *auditData) {
	g := t.grants[said.Grant]
	switch e.Action {
	case AuditGrantCreated:
		g.terms = said.Terms
	case AuditGrantUsed:
		g.used++
	case AuditGrantRevoked:
		g.revoked, g.by, g.at, g.reason = true, e.Actor, e.At, said.Reason
	default:
		return
	}
	t.grants[said.Grant] = g
}

// compareGrants holds the workspace's grants against the trail. None of them is ever deleted.
func (t *trail) compareGrants(tx Tx, ws WorkspaceID) error {
	found := 0
	for after := GrantID(""); ; {
		page, err := tx.Grants(ws, after, maxPage)
		if err != nil {
			return err
		}
		for _, g := range page {
			reason, err := t.grantDiffers(g)
			if err != nil {
				return err
			}
			if reason != "" {
				return &AuditError{Workspace: ws, Grant: g.ID, Kind: FaultRecord, Reason: reason}
			}
			found, after = found+1, g.ID
		}
		if len(page) < maxPage {
			break
		}
	}
	if gone := len(t.grants) - found; gone > 0 {
		return &AuditError{Workspace: ws, Kind: FaultRecord, Reason: fmt.Sprintf(
			"%d grant%s of which the trail tells %s gone", gone, plural(gone), isAre(gone))}
	}
	return nil
}

// grantDiffers says how a grant differs from what the trail says of it; empty when it does not.
func (t *trail) grantDiffers(g *Grant) (reason string, err error) {
	said, known := t.grants[g.ID]
	if !known {
		return "the trail does not know it", nil
	}
	terms, err := g.digest()
	if err != nil {
		return "", err
	}
	switch {
	case terms != said.terms:
		return "it is for something else than when it was given", nil
	case g.Used != said.used:
		return fmt.Sprintf("it was used %d times, and the trail says %d", g.Used, said.used), nil
	case g.Revoked.IsZero() == said.revoked:
		return "the trail says otherwise whether it was revoked", nil
	case said.revoked && (!g.revokedBy(said.by) || !g.Revoked.Equal(said.at) ||
		textDigest(g.RevokedReason) != said.reason):
		return "the trail says otherwise who revoked it, when or why", nil
	}
	return "", nil
}

// revokedBy reports whether the grant's record says that an actor of the trail revoked it.
func (g *Grant) revokedBy(actor string) bool {
	if g.RevokedBy != "" {
		return string(g.RevokedBy) == actor
	}
	return actor == operator || actor == system
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
