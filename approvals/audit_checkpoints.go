package approvals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"countersign/agent"
)

// checkpoints are those of each workspace, in the order of the chain.
type checkpoints map[WorkspaceID][]Checkpoint

func newCheckpoints(all []Checkpoint) checkpoints {
	points := make(checkpoints)
	for _, c := range all {
		points[c.Workspace] = append(points[c.Workspace], c)
	}
	for _, of := range points {
		slices.SortStableFunc(of, func(a, b Checkpoint) int {
			return cmp.Or(cmp.Compare(a.Seq, b.Seq), a.At.Compare(b.At))
		})
	}
	return points
}

// elsewhere returns an *AuditError when there are checkpoints of a workspace that the store has no trail of.
func (p checkpoints) elsewhere(known []WorkspaceID) error {
	for _, ws := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains(known, ws) {
			return (&verification{ws: ws, points: p[ws]}).cutOff(&AuditEntry{Workspace: ws})
		}
	}
	return nil
}

// prove holds the next entry of the chain against the checkpoints that were made when it was the newest, and against
// the head that was kept.
func (v *verification) prove(e *AuditEntry) error {
	for len(v.points) > 0 && v.points[0].Seq <= e.Seq {
		c := v.points[0]
		if v.points = v.points[1:]; c.Head != e.Hash || c.Seq != e.Seq {
			return v.rewritten(&c)
		}
		v.proven = &Proven{Seq: e.Seq, At: c.At, By: ProvenByCheckpoint}
	}
	if v.wanted != (agent.Digest{}) && e.Hash == v.wanted {
		v.found = true
		v.proven = &Proven{Seq: e.Seq, At: e.At, By: ProvenByHead}
	}
	return nil
}

// rewritten is the error of a chain that holds in itself and is another than when the checkpoint was made.
func (v *verification) rewritten(c *Checkpoint) error {
	bad := &AuditError{Workspace: v.ws, Seq: 1, Until: c.Seq, Kind: FaultRewritten}
	since := "there is no earlier checkpoint"
	if v.proven != nil {
		bad.Seq = v.proven.Seq + 1
		since = fmt.Sprintf("up to entry %d it is as it was", v.proven.Seq)
	}
	bad.Reason = fmt.Sprintf("the chain holds, but was written anew from one of these entries on: "+
		"the checkpoint of %s says that entry %d had the hash %s; %s", c.At.Format(time.RFC3339), c.Seq, c.Head, since)
	return bad
}

// cutOff returns an *AuditError when there is a checkpoint behind the chain's last entry.
func (v *verification) cutOff(last *AuditEntry) error {
	if len(v.points) == 0 {
		return nil
	}
	c := v.points[len(v.points)-1]
	return &AuditError{Workspace: v.ws, Seq: last.Seq + 1, Until: c.Seq, Kind: FaultCut, Reason: fmt.Sprintf(
		"missing: at %s, says a checkpoint, the chain had %d entries, and now it has %d: its end was cut off, "+
			"or an older copy of the store was put in its place", c.At.Format(time.RFC3339), c.Seq, last.Seq)}
}
