package boltstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

// What waits in a place lies beside the job that delivers it, whose id is the place's key.
func outboxKey(ws approvals.WorkspaceID, p approvals.Place) []byte {
	return key(string(ws), p.Key(), partNotification)
}

func notificationKey(n *approvals.Notification) []byte {
	return appendPart(outboxKey(n.Workspace, n.Place), string(n.ID))
}

func (t *tx) PutNotification(n *approvals.Notification) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("notification", string(n.Workspace), string(n.ID))); err != nil {
		return err
	}
	if err := t.put(bucketWork, notificationKey(n), n); err != nil {
		return fmt.Errorf("put notification %s: %w", n.ID, err)
	}
	return nil
}

func (t *tx) Notifications(ws approvals.WorkspaceID, p approvals.Place, limit int) (list []*approvals.Notification, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	err = t.scan(bucketWork, outboxKey(ws, p), nil, func(k, v []byte) (bool, error) {
		if len(list) >= limit {
			return false, nil
		}
		n := new(approvals.Notification)
		list = append(list, n)
		return true, t.decode(bucketWork, k, v, n)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (t *tx) DeleteNotification(n *approvals.Notification) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	return t.drop(bucketWork, notificationKey(n))
}
