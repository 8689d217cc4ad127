package pgstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

const kindNotification = "notification"

var (
	notificationKey = []string{"workspace", "surface", "channel", "thread", "copy", "id"}

	notificationColumns = append(notificationKey[:6:6], "direct bool", "created timestamptz", "record bytea")

	putNotification = upsert("outbox", 6, notificationColumns...)
	newNotification = insertNew("outbox", 6, notificationColumns...)
	putDead         = upsert("dead_letters", 6, append(notificationKey[:6:6], "dead timestamptz", "record bytea")...)

	removeNotification = remove("outbox", notificationKey...)
	removeDead         = removeFew("dead_letters", notificationKey...)
)

// readQueue reads the beginning of a queue.
var readQueue = &keyRead{
	one: `select id, record from outbox where workspace = $1 and surface = $2 and channel = $3 and thread = $4
		and copy = $5 order by id limit $6`,
	many: `select u.n_, r.* from ` + rowsNumbered([]string{"workspace", "surface", "channel", "thread", "copy",
		"most bigint"}) + ` cross join lateral (select id, record from outbox where workspace = u.workspace
		and surface = u.surface and channel = u.channel and thread = u.thread and copy = u.copy
		order by id limit u.most) r`,
}

func (t *tx) PutNotification(n *approvals.Notification) error {
	if err := errors.Join(t.usable(true), identified("notification", string(n.Workspace), string(n.ID))); err != nil {
		return err
	}
	data, err := t.sealed(n, kindNotification, append(placeKey(n.Workspace, n.Place), string(n.Copy), string(n.ID))...)
	if err != nil {
		return fmt.Errorf("put notification %s: %w", n.ID, err)
	}
	t.changes(outboxAt(n.Workspace, n.Place, n.Copy))
	key := func(more ...any) []any {
		return append(placeArgs(n.Workspace, n.Place, text(n.Copy), text(n.ID)), more...)
	}
	at := keyInOutbox(n)
	waits := t.known.outbox[at]
	t.known.outbox[at] = n.Dead.IsZero()
	switch isNew := !t.now.IsZero() && n.Created.Equal(t.now); {
	case !n.Dead.IsZero():
		t.put(removeNotification, nil, key()...)
		t.put(putDead, nil, key(n.Dead, data)...)
	case isNew && t.shared != nil: // then there is no dead letter of it either
		t.put(newNotification, errNotNew, key(n.Place.Direct, n.Created, data)...)
	default:
		if !waits {
			t.put(removeDead, nil, key()...)
		}
		t.put(putNotification, nil, key(n.Place.Direct, n.Created, data)...)
	}
	return nil
}

func (t *tx) Notifications(ws approvals.WorkspaceID, p approvals.Place, c approvals.Copy, limit int) (
	[]*approvals.Notification, error,
) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	at := []string{outboxAt(ws, p, c)}
	page, err := listBy[approvals.Notification](t, readQueue, at, kindNotification, append(placeKey(ws, p), string(c)),
		placeArgs(ws, p, text(c), int64(limit))...)
	for _, n := range page {
		t.known.outbox[keyInOutbox(n)] = true
	}
	return page, err
}

func (t *tx) DeleteNotification(n *approvals.Notification) error {
	if err := t.usable(true); err != nil {
		return err
	}
	t.changes(outboxAt(n.Workspace, n.Place, n.Copy))
	key := placeArgs(n.Workspace, n.Place, text(n.Copy), text(n.ID))
	t.put(removeNotification, nil, key...)
	if !t.known.outbox[keyInOutbox(n)] {
		t.put(removeDead, nil, key...)
	}
	delete(t.known.outbox, keyInOutbox(n))
	return nil
}

func (t *tx) UndeliveredPlaces(before, latest time.Time, limit int) (list []approvals.CopyKey, err error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	err = t.query(func(rows pgx.Rows) error {
		var k [5]string
		var direct bool
		if err := rows.Scan(&k[0], &k[1], &k[2], &k[3], &k[4], &direct); err != nil {
			return err
		}
		list = append(list, approvals.CopyKey{Workspace: approvals.WorkspaceID(untext(k[0])),
			Place: placeOf(k[1], k[2], k[3], direct), Copy: approvals.Copy(untext(k[4]))})
		return nil
	}, `select distinct on (workspace, surface, channel, thread, copy) workspace, surface, channel, thread, copy, direct
		from outbox where created < $1 or created > $2 order by workspace, surface, channel, thread, copy, id
		limit $3`, before, latest, limit)
	return list, err
}

func (t *tx) Undelivered(limit int) (n int, oldest time.Time, err error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return 0, oldest, err
	}
	err = t.query(func(rows pgx.Rows) error {
		var at *time.Time
		err := rows.Scan(&n, &at)
		if at != nil {
			oldest = at.UTC()
		}
		return err
	}, "select count(*), min(created) from (select created from outbox limit $1) o", limit)
	return n, oldest, err
}

func (t *tx) DeadLetters(ws approvals.WorkspaceID, after approvals.NotificationID, limit int) (
	all []*approvals.Notification, err error,
) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	return list[approvals.Notification](t, kindNotification, []string{string(ws)}, 5,
		`select surface, channel, thread, copy, id, record from dead_letters where workspace = $1 and id > $2
	 order by id, surface, channel, thread, copy limit $3`, text(ws), text(after), limit)
}
