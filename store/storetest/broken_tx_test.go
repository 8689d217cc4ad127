package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/approvals"
)

// breaksTx wraps every transaction.
func breaksTx(how func(*brokenTx)) func(approvals.Store) approvals.Store {
	return func(s approvals.Store) approvals.Store {
		wrap := func(fn func(approvals.Tx) error) func(approvals.Tx) error {
			return func(tx approvals.Tx) error {
				b := &brokenTx{Tx: tx}
				how(b)
				return fn(b)
			}
		}
		return &hooked{Store: s,
			update: func(ctx context.Context, fn func(approvals.Tx) error) error { return s.Update(ctx, wrap(fn)) },
			view:   func(ctx context.Context, fn func(approvals.Tx) error) error { return s.View(ctx, wrap(fn)) },
		}
	}
}

// brokenTx breaks what is set.
type brokenTx struct {
	approvals.Tx
	once, mixes, collates, escapes, gaps, repeats, undead, impatient, direct, lavish bool
}

func (t *brokenTx) Once(ws approvals.WorkspaceID, key string, at time.Time) (bool, error) {
	fresh, err := t.Tx.Once(ws, key, at)
	return fresh || t.once && err == nil, err
}

func (t *brokenTx) Effect(ws approvals.WorkspaceID, run approvals.RunID, id string) (*approvals.EffectRecord, error) {
	if t.mixes && ws == other {
		ws = "T1"
	}
	return t.Tx.Effect(ws, run, id)
}

func (t *brokenTx) PendingRequests(ws approvals.WorkspaceID, after approvals.RequestID, limit int) ([]*approvals.Request, error) {
	list, err := t.Tx.PendingRequests(ws, after, limit)
	if t.collates {
		slices.SortStableFunc(list, func(a, b *approvals.Request) int {
			return cmp.Compare(strings.ToLower(string(a.ID)), strings.ToLower(string(b.ID)))
		})
	}
	return list, err
}

func (t *brokenTx) Notifications(ws approvals.WorkspaceID, p approvals.Place, limit int) ([]*approvals.Notification, error) {
	if t.direct && p.Direct {
		p.Thread += " direct"
	}
	if t.lavish && limit < 0 {
		limit = 1000
	}
	return t.Tx.Notifications(ws, p, limit)
}

func (t *brokenTx) PutRequest(r *approvals.Request) error {
	if t.escapes {
		c := *r
		if data, err := json.Marshal(r.Arguments); err == nil {
			c.Arguments = data
		}
		return t.Tx.PutRequest(&c)
	}
	return t.Tx.PutRequest(r)
}

func (t *brokenTx) PutAudit(e *approvals.AuditEntry) error {
	err := t.Tx.PutAudit(e)
	if t.gaps && e.Seq == 3 && err != nil {
		return nil
	}
	return err
}

func (t *brokenTx) AppendSession(ws approvals.WorkspaceID, p approvals.Place, key string, items json.RawMessage) error {
	if t.repeats && key != "" {
		key += fmt.Sprint(time.Now().UnixNano())
	}
	return t.Tx.AppendSession(ws, p, key, items)
}

func (t *brokenTx) DeleteNotification(n *approvals.Notification) error {
	c := *n
	if t.undead {
		c.ID = "another"
	}
	return t.Tx.DeleteNotification(&c)
}

func (t *brokenTx) Enqueue(j approvals.Job) error {
	if t.impatient && time.Until(j.Due) > 0 {
		j.Due = time.Now()
	}
	return t.Tx.Enqueue(j)
}

// sharesRecords hands out the very requests that were put.
type sharesRecords struct {
	approvals.Store
	records *sync.Map
}

func (s *sharesRecords) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.Update(ctx, func(tx approvals.Tx) error { return fn(&sharingTx{tx, s.records}) })
}

func (s *sharesRecords) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.View(ctx, func(tx approvals.Tx) error { return fn(&sharingTx{tx, s.records}) })
}

type sharingTx struct {
	approvals.Tx
	records *sync.Map
}

func (t *sharingTx) PutRequest(r *approvals.Request) error {
	if strings.HasPrefix(string(r.ID), "s") { // only those of the subtest that changes them
		t.records.Store(r.ID, r)
	}
	return t.Tx.PutRequest(r)
}

func (t *sharingTx) Request(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error) {
	if r, ok := t.records.Load(id); ok {
		return r.(*approvals.Request), nil
	}
	return t.Tx.Request(ws, id)
}
