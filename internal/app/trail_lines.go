package app

import (
	"context"
	"encoding/json"
	"log/slog"

	"countersign/approvals"
)

// eventLog writes one line for each entry of the audit trail: the action is its message, ids and fixed words are its
// keys. What people, models and tools wrote is in none of them: see eventKeys. docs/operations.md lists all.
type eventLog struct{ handler slog.Handler }

// moves are the entries of what happens to a run between its beginning and its end; their lines have the level DEBUG,
// all others INFO.
var moves = map[approvals.AuditAction]bool{
	approvals.AuditRunClaimed: true, approvals.AuditRunWaiting: true, approvals.AuditRunRequeued: true,
	// Of deletions there is one line for all.
	approvals.AuditRunDeleted: true, approvals.AuditRequestDeleted: true, approvals.AuditSessionDeleted: true,
	approvals.AuditRetention: true,
}

// statuses are how a run or a request stands after an entry that settles it.
var statuses = map[approvals.AuditAction]string{
	approvals.AuditRunDone:           string(approvals.RunDone),
	approvals.AuditRunFailed:         string(approvals.RunFailed),
	approvals.AuditRunCancelled:      string(approvals.RunCancelled),
	approvals.AuditRequestApproved:   string(approvals.RequestApproved),
	approvals.AuditRequestRejected:   string(approvals.RequestRejected),
	approvals.AuditRequestExpired:    string(approvals.RequestExpired),
	approvals.AuditRequestCancelled:  string(approvals.RequestCancelled),
	approvals.AuditRequestStale:      string(approvals.RequestStale),
	approvals.AuditRequestSuperseded: string(approvals.RequestSuperseded),
}

// eventKeys are the facts of an entry that its line has: ids, names from the agents file or of tools, counts, and words
// of fixed sets. Digests are left out, since a digest of few possible texts gives them away, and so are the values of
// variables.
var eventKeys = [...]string{
	"after", "agent", "attempt", "before", "break_glass", "decision", "effect", "effects", "for", "grant", "kind",
	"next", "on_expiry", "outcome", "person", "policy", "quorum", "retry_of", "review", "standing", "to", "tool",
	"turns", "verdict", "via", "why",
}

func (l *eventLog) level(action approvals.AuditAction) slog.Level {
	if moves[action] {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// writes reports whether there are lines of entries with the action.
func (l *eventLog) writes(ctx context.Context, a approvals.AuditAction) bool {
	return l.handler.Enabled(ctx, l.level(a))
}

// write writes the line of e, with the time of e.
func (l *eventLog) write(ctx context.Context, e *approvals.AuditEntry, about question) {
	if !l.writes(ctx, e.Action) {
		return
	}
	level := l.level(e.Action)
	r := slog.NewRecord(e.At.Local(), level, string(e.Action), 0)
	for _, id := range []slog.Attr{
		slog.String("workspace", string(e.Workspace)), slog.String("actor", e.Actor),
		slog.String("run", string(e.Run)), slog.String("request", string(e.Request)),
		slog.String("status", statuses[e.Action]),
	} {
		if id.Value.String() != "" {
			r.AddAttrs(id)
		}
	}
	r.AddAttrs(eventFacts(e, about)...)
	// An error of the handler is for nobody: there is nowhere else to say it.
	_ = l.handler.Handle(ctx, r)
}

// eventFacts are the facts of e and, where it does not name them, agent, tool and policy of its request.
func eventFacts(e *approvals.AuditEntry, about question) []slog.Attr {
	var data map[string]any
	if len(e.Data) > 0 && json.Unmarshal(e.Data, &data) != nil {
		data = nil // the entry is damaged, which audit verify says
	}
	of := map[string]string{"agent": about.agent, "tool": about.tool, "policy": about.policy}
	facts := make([]slog.Attr, 0, 8)
	for _, key := range eventKeys {
		switch v := data[key].(type) {
		case string:
			facts = append(facts, slog.String(key, v))
		case float64:
			facts = append(facts, slog.Int64(key, int64(v)))
		case bool:
			facts = append(facts, slog.Bool(key, v))
		default:
			if of[key] != "" {
				facts = append(facts, slog.String(key, of[key]))
			}
		}
	}
	return facts
}
