package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/store"
)

// restored is what a backup holds of things that are under way, which go on at the next start.
type restored struct {
	entries  uint64
	newest   time.Time // entry of the trail
	queued   int       // runs that a worker takes up
	pending  int       // requests
	begun    int       // calls that nobody knows the outcome of
	approved int       // calls that have not begun
	planned  int       // external calls that were not sent
	messages int       // that wait to be delivered
}

// inspect checks a copy of a backup whole. It closes f where it has to write to it: f holds a reader's lock.
func (p *Program) inspect(ctx context.Context, f *os.File) (*restored, error) {
	path := f.Name()
	report, err := p.verifyCopy(ctx, path)
	if errors.Is(err, store.ErrOlder) {
		f.Close()
		if err = p.migrate(ctx, path); err == nil {
			report, err = p.verifyCopy(ctx, path)
		}
	}
	if err != nil {
		return nil, err
	}
	st, err := p.openCopy(ctx, path, true)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if whole, ok := st.(interface{ Check(context.Context) error }); ok {
		if err := whole.Check(ctx); err != nil {
			return nil, err
		}
	}
	r := new(restored)
	for _, ws := range report.Workspaces {
		r.entries += ws.Entries
	}
	err = st.View(ctx, func(tx approvals.Tx) error {
		for _, ws := range report.Workspaces {
			if err := r.count(tx, ws.Workspace); err != nil {
				return err
			}
		}
		return errors.Join(r.countRuns(tx), r.countMessages(tx))
	})
	return r, err
}

// migrate brings a copy that an earlier version has written to today's format, as the next start would.
func (p *Program) migrate(ctx context.Context, path string) error {
	st, err := p.openCopy(ctx, path, false)
	if err != nil {
		return fmt.Errorf("the copy cannot be brought to the format of this version: %w", err)
	}
	return st.Close()
}

// countPage is how many requests are read at once.
const countPage = 1000

// count counts what waits in a workspace.
func (r *restored) count(tx approvals.Tx, ws approvals.WorkspaceID) error {
	head, err := tx.AuditHead(ws)
	if err == nil && head.At.After(r.newest) {
		r.newest = head.At
	}
	query := approvals.RequestQuery{Workspace: ws, Status: approvals.RequestPending, Limit: countPage}
	for {
		page, next, err := tx.QueryRequests(query)
		for _, q := range page {
			if q.Trigger != nil && q.Trigger.Status == approvals.TriggerPlanned {
				r.planned++
			}
		}
		if r.pending += len(page); err != nil || next == "" {
			return err
		}
		query.After = next
	}
}

// countMessages counts what waits to be delivered, in all workspaces.
func (r *restored) countMessages(tx approvals.Tx) (err error) {
	r.messages, _, err = tx.Undelivered(all)
	return err
}

// all is more than there is of anything.
const all = 1 << 30

// countRuns counts the runs that a worker takes up, and their calls.
func (r *restored) countRuns(tx approvals.Tx) error {
	forever := tx.Now().AddDate(100, 0, 0)
	runs, err := tx.LapsedLeases(forever, forever, all)
	if err != nil {
		return err
	}
	r.queued = len(runs)
	for _, k := range runs {
		effects, err := tx.EffectsOfRun(k.Workspace, k.Run)
		if err != nil {
			return err
		}
		for _, e := range effects {
			if e.Done.IsZero() {
				r.begun++
			}
		}
		requests, err := tx.RequestsOfRun(k.Workspace, k.Run)
		if err != nil {
			return err
		}
		for _, q := range requests {
			switch q.CallWaits() {
			case approvals.WaitsForTurn, approvals.WaitsForResult: // the latter may be sent again
				r.approved++
			}
		}
	}
	return nil
}

// lines say what happens at the next start.
func (r *restored) lines() []string {
	lines := []string{"What happened since is not known to it. At the next start:"}
	add := func(n int, one, many string) {
		if n == 1 {
			lines = append(lines, "  1 "+one)
		} else if n > 1 {
			lines = append(lines, fmt.Sprintf("  %d %s", n, many))
		}
	}
	add(r.queued, "run is taken up where it was: whoever worked on it has lost it",
		"runs are taken up where they were: whoever worked on them has lost them")
	add(r.begun, "call had begun: unless its tool is idempotent, people are asked what became of it",
		"calls had begun: unless their tools are idempotent, people are asked what became of them")
	add(r.approved, "call was approved and had not begun: it is carried out, also if it was carried out since",
		"calls were approved and had not begun: they are carried out, also if they were carried out since")
	add(r.planned, "call waits to be sent to the system that carries it out: it is, also if it was since",
		"calls wait to be sent to the systems that carry them out: they are, also if they were since")
	add(r.pending, "request waits for people, also if it was answered since",
		"requests wait for people, also if they were answered since")
	add(r.messages, "message, or change of one, waits to be sent: it is, also if it was since",
		"messages, or changes of some, wait to be sent: they are, also if they were since")
	if len(lines) == 1 {
		lines[0] = strings.TrimSuffix(lines[0], " At the next start:") + " Nothing was under way."
	}
	return append(lines, "A head of the audit trail that was kept since is not found any more "+
		"(countersign audit verify --head): that is how an old file shows.",
		"Signed checkpoints that were kept since will not agree with it: if there are any, put them aside before the "+
			"start.")
}
