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
	waiting waiting
}

// How long a scrape may take, and how many entries it reads at a time.
const (
	trailTimeout = 3 * time.Second
	trailPage    = 500
)

var trailDesc = prometheus.NewDesc("countersign_audit_entries_total",
	"What happened since the start, by the action in the audit trail: runs, requests, decisions, effects.",
	[]string{"action"}, nil)

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
	ch <- deadLettersDesc
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
	ch <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, t.waiting.requests)
	ch <- prometheus.MustNewConstMetric(deadLettersDesc, prometheus.GaugeValue, t.waiting.letters)
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
	return t.waiting.count(ctx, t.store, all)
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
