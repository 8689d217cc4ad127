package approvals

import (
	"fmt"

	"countersign/agent"
)

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
	seq      uint64       // of the newest entry about it
	seen     bool         // the store has it
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
	x.request, x.grant, x.broken, x.digest, x.seq = e.Request, said.Grant, said.BreakGlass, said.Digest, e.Seq
	if e.Action == AuditEffectDone {
		x.done, x.output = true, said.Output
	}
	t.effects[key] = x
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
			return 0, &AuditError{Workspace: ws, Request: e.Request, Effect: e.ID, Kind: FaultRecord, Reason: reason}
		}
	}
	return len(all), nil
}

func (t *trail) effectDiffers(e *EffectRecord) (reason string, err error) {
	said, known := t.effects[effectKey{e.Run, e.ID}]
	if !known {
		return "the trail does not know it", nil
	}
	said.seen = true
	t.effects[effectKey{e.Run, e.ID}] = said
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
