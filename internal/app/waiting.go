package app

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"countersign/approvals"
)

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	pendingDesc       = newDesc("countersign_requests_pending", "Requests that wait for people.")
	oldestPendingDesc = newDesc("countersign_request_oldest_pending_seconds",
		"For how long the oldest request that waits has waited; 0 when none does.")
	outboxDesc       = newDesc("countersign_outbox_notifications", "Notifications that are not delivered yet.")
	oldestOutboxDesc = newDesc("countersign_outbox_oldest_seconds",
		"For how long the oldest notification that is not delivered yet has waited; 0 when none does.")
	deadLettersDesc = newDesc("countersign_dead_letters",
		"Notifications that could not be delivered and were given up; see the command outbox.")
	grantsDesc = newDesc("countersign_grants_active",
		"Grants that have not expired, are not used up and were not revoked.")
	lapsedDesc = newDesc("countersign_runs_lapsed",
		"Runs whose worker has not been heard of for longer than its lease.")
	unsealedDesc = newDesc("countersign_audit_unsealed_oldest_seconds",
		"For how long the oldest entry of the audit trail has waited to be linked into its chain; 0 when none does.")
	runsDesc = newDesc("countersign_runs_active", "Runs that have not ended, by status.", "status")
)

const (
	// waitingAge is how old the numbers of what waits may be. Counting reads all of it.
	waitingAge = 10 * time.Second
	// waitingMost is up to how many notifications, and how many runs that are at work, are counted.
	waitingMost = 20_000
)

// waiting is what waits, and how much of it there is. It is counted in the store, at most every waitingAge: what was
// decided or delivered is not looked at.
type waiting struct {
	numbers numbers
	grants  openGrants
	counted time.Time // zero: never
}

// numbers are what was counted at the instant now of the store's clock. Oldest instants are zero where nothing waits.
type numbers struct {
	now                         time.Time
	pending, outbox, letters    int
	oldestPending, oldestOutbox time.Time
	queued, running, waiting    int
	lapsed                      int
	oldestUnsealed              time.Time
	grants                      int
}

func (w *waiting) describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		pendingDesc, oldestPendingDesc, outboxDesc, oldestOutboxDesc, deadLettersDesc, grantsDesc, runsDesc,
		lapsedDesc, unsealedDesc,
	} {
		ch <- d
	}
}

// collect hands out what was counted; nothing before that has succeeded once. Ages are as of now.
func (w *waiting) collect(ch chan<- prometheus.Metric) {
	if w.counted.IsZero() {
		return
	}
	n := w.numbers
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	age := func(since time.Time) float64 {
		if since.IsZero() {
			return 0
		}
		return max(0, (n.now.Sub(since) + time.Since(w.counted)).Seconds())
	}
	gauge(pendingDesc, float64(n.pending))
	gauge(oldestPendingDesc, age(n.oldestPending))
	gauge(outboxDesc, float64(n.outbox))
	gauge(oldestOutboxDesc, age(n.oldestOutbox))
	gauge(deadLettersDesc, float64(n.letters))
	gauge(lapsedDesc, float64(n.lapsed))
	gauge(unsealedDesc, age(n.oldestUnsealed))
	gauge(grantsDesc, float64(n.grants))
	gauge(runsDesc, float64(n.queued), string(approvals.RunQueued))
	gauge(runsDesc, float64(n.running), string(approvals.RunRunning))
	gauge(runsDesc, float64(n.waiting), string(approvals.RunWaiting))
}

// count brings the numbers up to date when they are too old.
func (w *waiting) count(ctx context.Context, st approvals.Store) error {
	if !w.counted.IsZero() && time.Since(w.counted) < waitingAge {
		return nil
	}
	all, err := workspaces(ctx, st)
	if err != nil {
		return err
	}
	n, working, err := countWork(ctx, st)
	if err != nil {
		return err
	}
	if err := n.countOutbox(ctx, st); err != nil {
		return err
	}
	for _, ws := range all {
		if err := n.findUnsealed(ctx, st, ws); err != nil {
			return err
		}
		if err := n.countPending(ctx, st, ws, working); err != nil {
			return err
		}
		if err := n.countLetters(ctx, st, ws); err != nil {
			return err
		}
		if err := w.grants.read(ctx, st, ws); err != nil {
			return err
		}
	}
	n.grants = w.grants.active(n.now)
	w.numbers, w.counted = n, time.Now()
	return nil
}

// farAhead is later than any instant of a record.
var farAhead = time.Unix(math.MaxInt32*8, 0)

// countWork counts the runs that are queued or running, and returns them.
func countWork(ctx context.Context, st approvals.Store) (n numbers, working map[approvals.RunID]bool, err error) {
	err = st.View(ctx, func(tx approvals.Tx) error {
		n, working = numbers{now: tx.Now()}, make(map[approvals.RunID]bool)
		queued, err := tx.LapsedLeases(time.Time{}, farAhead, waitingMost)
		if err != nil {
			return err
		}
		lapsed, err := tx.LapsedLeases(n.now, farAhead, waitingMost)
		if err != nil {
			return err
		}
		n.lapsed = max(0, len(lapsed)-len(queued))
		all, err := tx.LapsedLeases(farAhead, farAhead, waitingMost)
		for _, k := range all {
			working[k.Run] = true
		}
		n.queued, n.running = len(queued), len(all)-len(queued)
		return err
	})
	return n, working, err
}

// countPending counts the requests that wait, and the runs that wait for their answers and do not work meanwhile.
func (n *numbers) countPending(
	ctx context.Context, st approvals.Store, ws approvals.WorkspaceID, working map[approvals.RunID]bool,
) error {
	q := approvals.RequestQuery{Workspace: ws, Status: approvals.RequestPending, Limit: trailPage}
	runs := make(map[approvals.RunID]bool)
	for more := true; more; more = q.After != "" {
		var page []*approvals.RequestHead
		var next approvals.RequestID
		err := st.View(approvals.WithOneRead(ctx, true), func(tx approvals.Tx) (err error) {
			page, next, err = tx.QueryRequests(q)
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range page {
			since := r.Created
			if !r.Asked.IsZero() {
				since = r.Asked
			}
			n.oldestPending = earlier(n.oldestPending, since)
			if !working[r.Run] {
				runs[r.Run] = true
			}
		}
		n.pending += len(page)
		q.After = next
	}
	n.waiting += len(runs)
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// findUnsealed looks for the oldest entry of the trail that waits to be linked.
func (n *numbers) findUnsealed(ctx context.Context, st approvals.Store, ws approvals.WorkspaceID) error {
	return st.View(approvals.WithOneRead(ctx, true), func(tx approvals.Tx) error {
		entries, err := tx.UnsealedAudit(ws, 1)
		if err == nil && len(entries) > 0 {
			n.oldestUnsealed = earlier(n.oldestUnsealed, entries[0].At)
		}
		return err
	})
}

// countOutbox counts what is not delivered yet.
func (n *numbers) countOutbox(ctx context.Context, st approvals.Store) error {
	return st.View(approvals.WithOneRead(ctx, true), func(tx approvals.Tx) (err error) {
		n.outbox, n.oldestOutbox, err = tx.Undelivered(waitingMost)
		return err
	})
}

func (n *numbers) countLetters(ctx context.Context, st approvals.Store, ws approvals.WorkspaceID) error {
	var after approvals.NotificationID
	for {
		page, err := approvals.DeadLetters(ctx, st, ws, after, 0)
		if err != nil || len(page) == 0 {
			return err
		}
		n.letters, after = n.letters+len(page), page[len(page)-1].ID
	}
}
