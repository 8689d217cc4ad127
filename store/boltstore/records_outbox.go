package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/approvals"
)

// Notifications that wait lie in the bucket queue, beside the job that delivers them; dead letters in a bucket of
// their own, by id.
func copyKey(k approvals.CopyKey) []byte {
	return key(string(k.Workspace), k.JobID(), partNotification)
}

func notificationKey(n *approvals.Notification) []byte {
	return appendPart(copyKey(n.Key()), string(n.ID))
}

func deadKey(n *approvals.Notification) []byte {
	return key(string(n.Workspace), string(n.ID), n.Place.Surface, n.Place.Channel, n.Place.Thread, string(n.Copy))
}

func (t *tx) PutNotification(n *approvals.Notification) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("notification", string(n.Workspace), string(n.ID))); err != nil {
		return err
	}
	if n.Dead.IsZero() {
		err = errors.Join(t.drop(bucketDead, deadKey(n)), t.put(bucketQueue, notificationKey(n), n))
	} else {
		err = errors.Join(t.drop(bucketQueue, notificationKey(n)), t.put(bucketDead, deadKey(n), n))
	}
	if err != nil {
		return fmt.Errorf("put notification %s: %w", n.ID, err)
	}
	return nil
}

func (t *tx) Notifications(ws approvals.WorkspaceID, p approvals.Place, c approvals.Copy, limit int) (
	list []*approvals.Notification, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	err = collect(t, &list, bucketQueue, copyKey(approvals.CopyKey{Workspace: ws, Place: p, Copy: c}), nil, limit)
	return list, err
}

func (t *tx) DeleteNotification(n *approvals.Notification) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	return errors.Join(t.drop(bucketQueue, notificationKey(n)), t.drop(bucketDead, deadKey(n)))
}

func (t *tx) UndeliveredPlaces(before, latest time.Time, limit int) (list []approvals.CopyKey, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	err = t.eachQueued(func(ws, id string) (bool, error) {
		found := false
		err := t.scan(bucketQueue, key(ws, id, partNotification), nil, func(k, v []byte) (bool, error) {
			n := new(approvals.Notification)
			if err := t.decode(bucketQueue, k, v, n); err != nil {
				return false, err
			}
			if found = n.Created.Before(before) || n.Created.After(latest); found {
				list = append(list, n.Key())
			}
			return !found, nil
		})
		return true, err
	})
	slices.SortFunc(list, func(a, b approvals.CopyKey) int { return bytes.Compare(copyOrder(a), copyOrder(b)) })
	return list[:min(len(list), limit)], err
}

func (t *tx) Undelivered(limit int) (n int, oldest time.Time, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || limit <= 0 {
		return 0, oldest, err
	}
	err = t.eachQueued(func(ws, id string) (bool, error) {
		err := t.scan(bucketQueue, key(ws, id, partNotification), nil, func(k, v []byte) (bool, error) {
			waits := new(approvals.Notification)
			if err := t.decode(bucketQueue, k, v, waits); err != nil {
				return false, err
			}
			if n == 0 || waits.Created.Before(oldest) {
				oldest = waits.Created
			}
			n++
			return n < limit, nil
		})
		return n < limit, err
	})
	return n, oldest, err
}

// copyOrder returns a key by which copies are in the order of the parts of their places.
func copyOrder(k approvals.CopyKey) []byte {
	return appendPart(placeKey(k.Workspace, k.Place), string(k.Copy))
}

func (t *tx) DeadLetters(ws approvals.WorkspaceID, after approvals.NotificationID, limit int) (
	list []*approvals.Notification, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	prefix := key(string(ws))
	err = collect(t, &list, bucketDead, prefix, from(prefix, string(after)), limit)
	return list, err
}
