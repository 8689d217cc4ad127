package approvals

import (
	"context"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// RunRecord is a run with all that is recorded of it, apart from the arguments of its calls and what they returned.
type RunRecord struct {
	Run
	Requests []*RequestHead `json:"requests"` // by id
	Effects  []RunEffect    `json:"effects"`  // in the order in which they began
	Grants   []*Grant       `json:"grants"`   // under which calls of the run began
}

// RunEffect is one execution of a tool in a run.
type RunEffect struct {
	ID string `json:"id"`
	Authority
	Tool    string         `json:"tool"`
	Kind    agent.ToolKind `json:"kind,omitempty"`
	Agent   string         `json:"agent,omitempty"`
	Outcome Outcome        `json:"outcome"`          // as people have found out, where the tool has not said it
	Digest  agent.Digest   `json:"digest"`           // of the call
	Output  agent.Digest   `json:"output,omitzero"`  // of what it returned, as in the audit trail
	Review  bool           `json:"review,omitempty"` // see EffectRecord.Review
	Attempt int            `json:"attempt"`
	Intent  time.Time      `json:"intent"`
	Done    time.Time      `json:"done,omitzero"`
	// Milliseconds is how long the newest attempt took, OutputBytes how much it returned for the model to read: what
	// the call cost. What the run's models cost is in Run.Usage. An agent that is used as a tool ends its own effect
	// as it begins; the calls that it makes are effects of theirs.
	Milliseconds int64 `json:"milliseconds,omitempty"`
	OutputBytes  int   `json:"output_bytes,omitempty"`
}

// ReadRun returns all that is recorded of a run, as of one moment; ErrNotFound.
func ReadRun(ctx context.Context, st Store, ws WorkspaceID, id RunID) (*RunRecord, error) {
	rec := new(RunRecord)
	err := st.View(ctx, func(tx Tx) error {
		r, err := tx.Run(ws, id)
		if err != nil {
			return err
		}
		*rec = RunRecord{Run: *r}
		if rec.Requests, err = tx.RequestsOfRun(ws, id); err != nil {
			return err
		}
		for i, q := range rec.Requests { // people fill in values of secret arguments
			rec.Requests[i] = q.Mask()
		}
		return rec.readEffects(tx)
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	return rec, nil
}

func (rec *RunRecord) readEffects(tx Tx) error {
	effects, err := tx.EffectsOfRun(rec.Workspace, rec.ID)
	if err != nil {
		return err
	}
	slices.SortStableFunc(effects, func(a, b *EffectRecord) int { return a.Intent.Compare(b.Intent) })
	var used []GrantID
	for _, e := range effects {
		shown := RunEffect{
			ID: e.ID, Authority: e.Authority, Tool: e.Tool, Kind: e.Kind, Agent: e.Agent,
			Outcome: e.Known(rec.Requests), Digest: e.Digest, Review: e.Review, Attempt: e.Attempt,
			Intent: e.Intent, Done: e.Done,
		}
		if !e.Done.IsZero() {
			shown.Milliseconds = e.Done.Sub(e.Intent).Milliseconds()
		}
		if e.Output != nil {
			shown.OutputBytes = len(e.Output.Text) + len(e.Output.Native)
			if shown.Output, err = outputDigest(e.Output); err != nil {
				return err
			}
		}
		rec.Effects = append(rec.Effects, shown)
		if e.Grant == "" || slices.Contains(used, e.Grant) {
			continue
		}
		used = append(used, e.Grant)
	}
	rec.Grants, err = tx.GrantsByID(rec.Workspace, used)
	if err == nil && len(rec.Grants) != len(used) {
		err = fmt.Errorf("%d of the grants %v are there: %w", len(rec.Grants), used, ErrNotFound)
	}
	return err
}

const (
	keptVerdicts = 20  // of guardrails, in the record of a run
	verdictWords = 300 // characters of what a guardrail said
)

// account writes into the record what the run has cost, and what guardrails did in it.
func (x *execution) account(r *Run) {
	r.Turns, r.Usage = x.state.Turn(), x.state.Usage()
	r.Guardrails = nil
	all := x.state.GuardrailResults()
	for _, said := range all[max(0, len(all)-keptVerdicts):] {
		r.Guardrails = append(r.Guardrails, GuardrailVerdict{
			Stage: string(said.Stage), Guardrail: said.Guardrail, Agent: said.Agent, Tool: said.Tool, Call: said.CallID,
			Action: string(said.Verdict.Action), Message: shortened(said.Verdict.Message, verdictWords),
		})
	}
}
