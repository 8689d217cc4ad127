package pgstore

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

var putEvent = insert("events", 2, " on conflict do nothing", "workspace", "key", "at timestamptz")

func (t *tx) Once(ws approvals.WorkspaceID, event string, now time.Time) (fresh bool, err error) {
	if err := errors.Join(t.usable(true), identified("event", string(ws), event)); err != nil {
		return false, err
	}
	if t.shared == nil {
		err = t.query(func(pgx.Rows) error {
			fresh = true
			return nil
		}, putEvent.one+" returning 1", text(ws), text(event), now)
		return fresh, err
	}
	// What is inserted before it is known who is committed could not be taken back. Where somebody else has recorded
	// the key meanwhile the server refuses the transaction.
	fresh = true
	err = t.lookUp([]string{placeIn("events", text(ws), text(event))}, func(pgx.Rows) error {
		fresh = false
		return nil
	}, "select from events where workspace = $1 and key = $2", text(ws), text(event))
	if err == nil && fresh {
		t.put(putEvent, nil, text(ws), text(event), now)
	}
	return fresh, err
}

func (t *tx) Events(ws approvals.WorkspaceID, after string, limit int) (list []approvals.Event, err error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	err = t.query(func(rows pgx.Rows) error {
		var e approvals.Event
		if err := rows.Scan(&e.Key, &e.At); err != nil {
			return err
		}
		e.Key, e.At = untext(e.Key), e.At.UTC()
		list = append(list, e)
		return nil
	}, "select key, at from events where workspace = $1 and key > $2 order by key limit $3",
		text(ws), text(after), limit)
	return list, err
}

func (t *tx) DeleteEvent(ws approvals.WorkspaceID, event string) error {
	if err := t.usable(true); err != nil {
		return err
	}
	t.later("delete from events where workspace = $1 and key = $2", text(ws), text(event))
	return nil
}
