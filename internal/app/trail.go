package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"countersign/approvals"
)

// trail counts what happened from the audit trail, so that nothing is counted that was not committed, and nothing
// twice. It reads what is new when it is asked.
type trail struct {
	store approvals.Store
	log   *slog.Logger

	mu      sync.Mutex
	ctx     context.Context
	next    map[approvals.WorkspaceID]uint64
	actions map[approvals.AuditAction]float64
	pending float64
	counted time.Time
}

// How long a scrape may take, how many entries it reads at a time, and how old the count of pending requests may be.
const (
	trailTimeout = 3 * time.Second
	trailPage    = 500
	pendingAge   = 10 * time.Second
)

var (
	trailDesc = prometheus.NewDesc("countersign_audit_entries_total",
		"What happened since the start, by the action in the audit trail: runs, requests, decisions, effects.",
		[]string{"action"}, nil)
	pendingDesc = prometheus.NewDesc("countersign_requests_pending", "Requests that wait for people.", nil, nil)
)

var _ prometheus.Collector = (*trail)(nil)

// newTrail starts behind the entries that are there already. ctx bounds the life of the trail.
func newTrail(ctx context.Context, st approvals.Store, log *slog.Logger) (*trail, error) {
	t := &trail{
		store: st, log: log, ctx: ctx,
		next: make(map[approvals.WorkspaceID]uint64), actions: make(map[approvals.AuditAction]float64),
	}
	err := st.View(ctx, func(tx approvals.Tx) error {
		all, err := tx.AuditWorkspaces()
		for _, ws := range all {
			head, err := tx.AuditHead(ws)
			if errors.Is(err, approvals.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			t.next[ws] = head.Seq + 1
		}
		return err
	})
	return t, err
}

// Describe is part of prometheus.Collector.
func (t *trail) Describe(ch chan<- *prometheus.Desc) {
	ch <- trailDesc
	ch <- pendingDesc
}

// Collect is part of prometheus.Collector.
func (t *trail) Collect(ch chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.ctx, trailTimeout)
	defer cancel()
	if err := t.catchUp(ctx); err != nil {
		t.log.Warn("metrics are behind", "error", err)
	}
	for action, n := range t.actions {
		ch <- prometheus.MustNewConstMetric(trailDesc, prometheus.CounterValue, n, string(action))
	}
	ch <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, t.pending)
}

func (t *trail) catchUp(ctx context.Context) error {
	var all []approvals.WorkspaceID
	err := t.store.View(ctx, func(tx approvals.Tx) (err error) {
		all, err = tx.AuditWorkspaces()
		return err
	})
	if err != nil {
		return err
	}
	for _, ws := range all {
		for more := true; more; {
			if more, err = t.read(ctx, ws); err != nil {
				return err
			}
		}
	}
	if time.Since(t.counted) < pendingAge {
		return nil
	}
	return t.count(ctx, all)
}

// read counts the next entries of a workspace and says whether there may be more.
func (t *trail) read(ctx context.Context, ws approvals.WorkspaceID) (more bool, err error) {
	from := max(t.next[ws], 1)
	var page []*approvals.AuditEntry
	err = t.store.View(ctx, func(tx approvals.Tx) (err error) {
		page, err = tx.AuditEntries(ws, from, trailPage)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, e := range page {
		t.actions[e.Action]++
	}
	t.next[ws] = from + uint64(len(page))
	return len(page) == trailPage, nil
}

// count counts the pending requests.
func (t *trail) count(ctx context.Context, all []approvals.WorkspaceID) error {
	n := 0
	for _, ws := range all {
		q := approvals.RequestQuery{Workspace: ws, Status: approvals.RequestPending, Limit: trailPage}
		for more := true; more; {
			var page []*approvals.RequestHead
			var next approvals.RequestID
			err := t.store.View(ctx, func(tx approvals.Tx) (err error) {
				page, next, err = tx.QueryRequests(q)
				return err
			})
			if err != nil {
				return err
			}
			n += len(page)
			q.After, more = next, next != ""
		}
	}
	t.pending, t.counted = float64(n), time.Now()
	return nil
}
