package invariant

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"countersign/approvals"
)

// trailIsWhole is I8: the chain verifies, agrees with the records, and tells of every run and every effect there is.
func (h *history) trailIsWhole(ctx context.Context, st approvals.Store) {
	if _, err := approvals.VerifyAudit(ctx, st, approvals.VerifyOptions{}); err != nil {
		h.broken(8, "%v", err)
	}
	submitted, begun := map[approvals.RunID]bool{}, map[string]bool{}
	for _, e := range h.trail {
		switch e.Action {
		case approvals.AuditRunSubmitted:
			submitted[e.Run] = true
		case approvals.AuditEffectIntent:
			begun[fact(e).Effect] = true
			if h.effects[fact(e).Effect] == nil {
				h.broken(8, "the trail tells of effect %s, which is not there", fact(e).Effect)
			}
		}
	}
	for id := range h.runs {
		if !submitted[id] {
			h.broken(8, "the trail does not tell of run %s", id)
		}
	}
	for id := range submitted {
		if h.runs[id] == nil {
			h.broken(8, "the trail tells of run %s, which is not there", id)
		}
	}
	for id := range h.effects {
		if !begun[id] {
			h.broken(8, "the trail does not tell of effect %s", id)
		}
	}
}

// workspacesAreApart is I10: no record names another workspace than its own.
func (h *history) workspacesAreApart() {
	for _, ws := range h.workspaces {
		if h.Workspaces != nil && !slices.Contains(h.Workspaces, ws) {
			h.broken(10, "the trail has a workspace %s", ws)
		}
	}
	for _, r := range h.requests {
		if run := h.runs[r.Run]; run != nil && run.Workspace != r.Workspace {
			h.broken(10, "request %s is of workspace %s, its run of %s", r.ID, r.Workspace, run.Workspace)
		}
		for _, d := range r.Decisions {
			if d.By.Workspace() != r.Workspace || d.Workspace != r.Workspace {
				h.broken(10, "decision %s of %s is about a request of workspace %s", d.ID, d.By, r.Workspace)
			}
		}
	}
	for _, e := range h.effects {
		if run := h.runs[e.Run]; run != nil && run.Workspace != e.Workspace {
			h.broken(10, "effect %s is of workspace %s, its run of %s", e.ID, e.Workspace, run.Workspace)
		}
	}
}

// secretsAreKept is I11.
func (h *history) secretsAreKept() {
	h.look("hidden value", h.Hidden, h.Told, map[string]any{"the trail": h.trail})
	h.look("secret", h.Secrets, h.Told, nil)
	h.look("secret", h.Secrets, h.Held, map[string]any{
		"a run": h.runs, "a request": h.requests, "an effect": h.effects, "the trail": h.trail, "a grant": h.grants,
		"a dead letter": h.dead,
	})
	h.look("secret", h.Secrets, h.kept, nil)
}

// look searches texts and records, by their names, for values that must not be there.
func (h *history) look(what string, values []string, texts map[string]string, records map[string]any) {
	find := func(where, text string) {
		for i, v := range values {
			if strings.Contains(text, v) {
				h.broken(11, "%s holds %s %d", where, what, i+1)
			}
		}
	}
	for where, text := range texts {
		find(where, text)
	}
	for where, of := range records {
		data, err := json.Marshal(of)
		if err != nil {
			h.broken(11, "%s cannot be looked at: %v", where, err)
		}
		find(where, string(data))
	}
}

// nothingPilesUp is I12: at rest no notification and no message waits, and a process holds no more than before.
func (h *history) nothingPilesUp() {
	for _, k := range h.waiting {
		if !h.Delivered {
			break
		}
		h.broken(12, "a notification for %s waits, and nobody delivers it", k.JobID())
	}
	for _, in := range h.unread {
		h.broken(12, "message %s waits in thread %s, where no run is under way", in.ID, in.Place.Thread)
	}
	for _, r := range h.Resources {
		if r.After > r.Before+r.Slack {
			h.broken(12, "%s: %d before, %d after", r.Name, r.Before, r.After)
		}
	}
}

// nothingForbiddenRan is I14, as records show it: what the policy forbids did not happen, and was not begun. That a
// policy with one more rule that forbids never permits more is for a test of policies.
func (h *history) nothingForbiddenRan() {
	for _, did := range h.Effects {
		if slices.Contains(h.Forbidden, did.Tool) {
			h.broken(14, "%s happened, which the policy forbids", did.Tool)
		}
	}
	for _, e := range h.effects {
		if slices.Contains(h.Forbidden, e.Tool) {
			h.broken(14, "effect %s of %s was begun, which the policy forbids", e.ID, e.Tool)
		}
	}
}
