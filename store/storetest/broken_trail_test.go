package storetest

import (
	"errors"
	"math"
	"slices"
	"time"

	"countersign/approvals"
)

type acceptsGaps struct{ approvals.Tx }

func (t acceptsGaps) AppendAudit(entries ...*approvals.AuditEntry) error {
	err := t.Tx.AppendAudit(entries...)
	if len(entries) > 0 && entries[0].Seq == 3 && errors.Is(err, approvals.ErrInvalid) {
		return nil
	}
	return err
}

type pagesSkip struct{ approvals.Tx }

func (t pagesSkip) AuditEntries(ws approvals.WorkspaceID, seq uint64, limit int) ([]*approvals.AuditEntry, error) {
	if seq > 1 {
		seq++
	}
	return t.Tx.AuditEntries(ws, seq, limit)
}

type mixesTrails struct{ approvals.Tx }

func (t mixesTrails) AppendAudit(entries ...*approvals.AuditEntry) error {
	for _, e := range entries {
		if err := t.Tx.AppendAudit(e); err != nil {
			return err
		}
	}
	return t.Tx.AppendAudit()
}

// forgetsIDs takes an ID for new when its entry was sealed.
type forgetsIDs struct{ approvals.Tx }

func (t forgetsIDs) SealAudit(entries ...*approvals.AuditEntry) error {
	m := t.Tx.(*memoryTx)
	err := m.SealAudit(entries...)
	for _, e := range entries {
		if err == nil {
			m.remove(key("audit id", e.Workspace, string(e.ID)))
		}
	}
	return err
}

type sealsAnything struct{ approvals.Tx }

func (t sealsAnything) SealAudit(entries ...*approvals.AuditEntry) error {
	m := t.Tx.(*memoryTx)
	for _, e := range entries {
		if m.usable(true) == nil && m.root.get(key("unsealed", e.Workspace, string(e.ID))) == nil {
			continue
		}
		if err := m.SealAudit(e); err != nil {
			return err
		}
	}
	return m.SealAudit()
}

type oneForm struct{ approvals.Tx }

func (t oneForm) SealAudit(entries ...*approvals.AuditEntry) error {
	if head, err := t.AuditHead(ws); err == nil && head.ID == "" && len(entries) > 0 {
		return approvals.ErrInvalid
	}
	return t.Tx.SealAudit(entries...)
}

type knowsSealed struct{ approvals.Tx }

func (t knowsSealed) AuditWorkspaces() ([]approvals.WorkspaceID, error) {
	list, err := t.Tx.AuditWorkspaces()
	return slices.DeleteFunc(list, func(w approvals.WorkspaceID) bool {
		_, err := t.AuditHead(w)
		return errors.Is(err, approvals.ErrNotFound)
	}), err
}

type knowsToldOf struct{ approvals.Tx }

func (t knowsToldOf) RecordedWorkspaces() ([]approvals.WorkspaceID, error) {
	return t.AuditWorkspaces()
}

type undead struct{ approvals.Tx }

func (t undead) DeleteNotification(n *approvals.Notification) error {
	c := *n
	c.ID = "another"
	return t.Tx.DeleteNotification(&c)
}

// copiesByPrefix takes what is for dm:U11 for dm:U1's.
type copiesByPrefix struct{ approvals.Tx }

func (t copiesByPrefix) Notifications(ws approvals.WorkspaceID, p approvals.Place, audience approvals.Copy, limit int) (
	[]*approvals.Notification, error) {
	list, err := t.Tx.Notifications(ws, p, audience, limit)
	if audience == "" || limit <= 0 {
		return list, err
	}
	more, err2 := t.Tx.Notifications(ws, p, audience+"1", limit)
	return append(list, more...), errors.Join(err, err2)
}

type deadWait struct{ approvals.Tx }

func (t deadWait) Notifications(ws approvals.WorkspaceID, p approvals.Place, audience approvals.Copy, limit int) (
	[]*approvals.Notification, error) {
	m := t.Tx.(*memoryTx)
	return list(m, queueKey(ws, p, audience), limit, anything[approvals.Notification])
}

// countsDead counts what was given up as well.
type countsDead struct{ approvals.Tx }

func (t countsDead) Undelivered(limit int) (n int, oldest time.Time, err error) {
	n, oldest, err = t.Tx.Undelivered(limit)
	letters, err2 := t.Tx.DeadLetters(ws, "", limit)
	return n + len(letters), oldest, errors.Join(err, err2)
}

// countsFirst takes the first in order for the oldest.
type countsFirst struct{ approvals.Tx }

func (t countsFirst) Undelivered(limit int) (n int, oldest time.Time, err error) {
	n, _, err = t.Tx.Undelivered(limit)
	if n > 0 {
		oldest = now()
	}
	return n, oldest, err
}

type futureUnseen struct{ approvals.Tx }

func (t futureUnseen) UndeliveredPlaces(before, _ time.Time, limit int) ([]approvals.CopyKey, error) {
	return t.Tx.UndeliveredPlaces(before, before.AddDate(100, 0, 0), limit)
}

type sweepsDead struct{ approvals.Tx }

func (t sweepsDead) UndeliveredPlaces(before, latest time.Time, limit int) ([]approvals.CopyKey, error) {
	m := t.Tx.(*memoryTx)
	all, err := list(m, everywhere("notification"), math.MaxInt, func(n *approvals.Notification) bool {
		return n.Created.Before(before) || n.Created.After(latest)
	})
	keys := slices.Compact(idsOf(all, (*approvals.Notification).Key))
	return keys[:min(len(keys), max(limit, 0))], err
}
