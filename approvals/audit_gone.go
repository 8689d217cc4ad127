package approvals

import (
	"cmp"
	"fmt"
)

// gone counts what the trail tells of and the store has not, because it was deleted: a request by an entry of its own,
// effects with their run. Nothing else may be missing, and no entry may tell of the deletion of what had not ended: it
// returns an error about the record that the trail names first.
func (t *trail) gone(n *compared) *AuditError {
	var bad *AuditError
	var first uint64
	report := func(seq uint64, e AuditError) {
		if place := cmp.Or(seq, ^uint64(0)); bad == nil || place < first || place == first && e.before(bad) {
			first, bad = place, &e
		}
	}
	for id, r := range t.requests {
		switch {
		case r.seen:
		case r.gone && r.status == RequestPending:
			report(r.seq, AuditError{Request: id, Kind: FaultRecord, Reason: tooEarly("was settled")})
		case r.gone:
			n.goneRequests++
		default:
			report(r.seq, AuditError{Request: id, Kind: FaultRecord, Reason: notDeleted("it was") + firstNamed(r.seq)})
		}
	}
	for key, e := range t.effects {
		switch {
		case e.seen:
		case t.runs[key.run]:
			n.goneEffects++
		default:
			report(e.seq, AuditError{Request: e.request, Effect: key.id, Kind: FaultRecord,
				Reason: notDeleted("its run was") + firstNamed(e.seq)})
		}
	}
	for id, deleted := range t.runs {
		if ended, told := t.ends[id]; deleted && told && !ended {
			report(0, AuditError{Kind: FaultRecord, Reason: fmt.Sprintf("run %s: %s", id, tooEarly("had ended"))})
		}
	}
	return bad
}

// tooEarly is about what nothing deletes that goes by the rules of retention.
func tooEarly(what string) string {
	return "an entry says that it was deleted, and none that it " + what + " before"
}

// before orders what the same entry tells of.
func (e *AuditError) before(other *AuditError) bool {
	return cmp.Or(cmp.Compare(e.Request, other.Request), cmp.Compare(e.Effect, other.Effect),
		cmp.Compare(e.Reason, other.Reason)) < 0
}

func notDeleted(what string) string {
	return "the store has no record of it any more, and no entry says that " + what + " deleted"
}

func firstNamed(seq uint64) string {
	if seq == 0 {
		return ""
	}
	return fmt.Sprintf("; entry %d names it", seq)
}
