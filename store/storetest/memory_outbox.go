package storetest

import (
	"cmp"
	"math"
	"slices"
	"time"

	"countersign/approvals"
)

func queueKey(ws approvals.WorkspaceID, p approvals.Place, copy approvals.Copy, id ...string) string {
	return key("notification", ws, append(placeParts(p, string(copy)), id...)...)
}

func (t *memoryTx) PutNotification(n *approvals.Notification) error {
	if err := identified(n.Workspace, string(n.ID)); err != nil {
		return err
	}
	return t.put(queueKey(n.Workspace, n.Place, n.Copy, string(n.ID)), n)
}

func waits(n *approvals.Notification) bool { return n.Dead.IsZero() }

func (t *memoryTx) Notifications(ws approvals.WorkspaceID, p approvals.Place, copy approvals.Copy, limit int) (
	[]*approvals.Notification, error) {
	return list(t, queueKey(ws, p, copy), limit, waits)
}

func (t *memoryTx) DeleteNotification(n *approvals.Notification) error {
	return t.drop(queueKey(n.Workspace, n.Place, n.Copy, string(n.ID)))
}

func (t *memoryTx) UndeliveredPlaces(before, latest time.Time, limit int) ([]approvals.CopyKey, error) {
	if err := t.reading(); err != nil {
		return nil, err
	}
	var keys []approvals.CopyKey
	last := ""
	for n := range matching(t, everywhere("notification"), waits) {
		queue := queueKey(n.Workspace, n.Place, n.Copy)
		if queue == last || !n.Created.Before(before) && !n.Created.After(latest) {
			continue
		}
		if len(keys) >= limit {
			break
		}
		keys, last = append(keys, n.Key()), queue
	}
	return keys, nil
}

func (t *memoryTx) Undelivered(limit int) (n int, oldest time.Time, err error) {
	err = t.reading()
	for waiting := range matching(t, everywhere("notification"), waits) {
		if n >= limit {
			break
		}
		if n == 0 || waiting.Created.Before(oldest) {
			oldest = waiting.Created
		}
		n++
	}
	return n, oldest, err
}

func (t *memoryTx) DeadLetters(ws approvals.WorkspaceID, after approvals.NotificationID, limit int) (
	[]*approvals.Notification, error) {
	dead, err := list(t, key("notification", ws), math.MaxInt, func(n *approvals.Notification) bool {
		return !waits(n) && n.ID > after
	})
	slices.SortStableFunc(dead, func(a, b *approvals.Notification) int { return cmp.Compare(a.ID, b.ID) })
	return dead[:min(len(dead), max(limit, 0))], err
}
