package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

// Notifications that wait lie in the bucket queue, by the copy of the place that they are for; dead letters in a
// bucket of their own, by id.
func copyKey(k approvals.CopyKey) []byte {
	return key(string(k.Workspace), partNotification, k.Place.Surface, k.Place.Channel, k.Place.Thread, string(k.Copy))
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

func (t *tx) UndeliveredPlaces(before time.Time, limit int) (list []approvals.CopyKey, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	err = t.eachWorkspace(bucketQueue, func(ws string) (bool, error) {
		err := t.undelivered(key(ws, partNotification), before, limit, &list)
		return len(list) < limit, err
	})
	return list, err
}

// undelivered adds the copies of one workspace, whose notifications begin with prefix.
func (t *tx) undelivered(prefix []byte, before time.Time, limit int, list *[]approvals.CopyKey) error {
	var listed []byte // the copy that was added last
	return t.scan(bucketQueue, prefix, nil, func(k, v []byte) (bool, error) {
		if listed != nil && bytes.HasPrefix(k, listed) {
			return true, nil
		}
		n := new(approvals.Notification)
		if err := t.decode(bucketQueue, k, v, n); err != nil {
			return false, err
		}
		if n.Created.Before(before) {
			*list, listed = append(*list, n.Key()), copyKey(n.Key())
		}
		return len(*list) < limit, nil
	})
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
