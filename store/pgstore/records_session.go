package pgstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

const kindSession = "session"

// ofPlace selects the chunks of a place, which are numbered from 0, without gaps.
const ofPlace = "workspace = $1 and surface = $2 and channel = $3 and thread = $4"

// sessionTail goes back from the newest chunk, one index entry at a time, for as long as all fit.
const sessionTail = `with recursive tail (n, total) as (
	(select n, octet_length(items)::bigint - $6 from sessions where ` + ofPlace + ` order by n desc limit 1)
	union all
	select x.n, tail.total + x.size from tail, lateral (
		select s.n, octet_length(s.items)::bigint - $6 as size from sessions s
		where ` + ofPlace + ` and s.n = tail.n - 1 offset 0) x
	where tail.total + x.size <= $5)
	select s.n, s.key, s.items from tail cross join lateral (
		select n, key, items from sessions where ` + ofPlace + ` and n = tail.n offset 0) s order by s.n`

func (t *tx) SessionTail(ws approvals.WorkspaceID, p approvals.Place, size int) (
	chunks []json.RawMessage, older int, err error,
) {
	of := []string{placeIn("sessions", placeArgs(ws, p)...)}
	err = t.lookUp(of, func(rows pgx.Rows) error {
		var n int
		var key string
		var data []byte
		if err := rows.Scan(&n, &key, &data); err != nil {
			return err
		}
		if len(chunks) == 0 {
			older = n
		}
		chunk, err := t.open(data, kindSession, append(placeKey(ws, p), untext(key))...)
		chunks = append(chunks, chunk)
		return err
	}, sessionTail, placeArgs(ws, p, int64(size), int64(t.overhead()))...)
	if err != nil {
		return nil, 0, err
	}
	return chunks, older, nil
}

// appendSession adds a chunk to a place, whose key is the first four arguments.
var appendSession = &rowStatement{table: "sessions", keys: 4,
	one: appendChunk + `select $1, $2, $3, $4, 1 + coalesce((select max(n) from sessions where ` + ofPlace + `), -1),
		$5, $6, $7 on conflict do nothing`,
	many: appendChunk + `select u.workspace, u.surface, u.channel, u.thread, 1 + coalesce((select max(s.n)
		from sessions s where s.workspace = u.workspace and s.surface = u.surface and s.channel = u.channel
		and s.thread = u.thread), -1), u.key, u.appended, u.items from ` + rowsGiven([]string{"workspace", "surface",
		"channel", "thread", "key", "appended timestamptz", "items bytea"}) + ` on conflict do nothing`,
}

const appendChunk = "insert into sessions (workspace, surface, channel, thread, n, key, appended, items) "

func (t *tx) AppendSession(ws approvals.WorkspaceID, p approvals.Place, name string, items json.RawMessage) error {
	if err := errors.Join(t.usable(true), identified("session", string(ws), name)); err != nil {
		return err
	}
	data := t.seal(items, kindSession, append(placeKey(ws, p), name)...)
	t.put(appendSession, nil, placeArgs(ws, p, text(name), t.Now(), data)...)
	return nil
}

func (t *tx) DeleteSession(ws approvals.WorkspaceID, p approvals.Place) error {
	if err := t.usable(true); err != nil {
		return err
	}
	t.later("delete from sessions where "+ofPlace, placeArgs(ws, p)...)
	return nil
}

func (t *tx) Sessions(ws approvals.WorkspaceID, after approvals.Place, limit int) (list []approvals.Place, err error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	more := ""
	if after.Direct = false; after != (approvals.Place{}) {
		more = "and (surface, channel, first_thread) > ($2, $3, $4)"
	} else {
		more = "and $2 || $3 || $4 = ''" // which they are
	}
	err = t.query(func(rows pgx.Rows) error {
		var surface, channel, thread string
		if err := rows.Scan(&surface, &channel, &thread); err != nil {
			return err
		}
		list = append(list, placeOf(surface, channel, thread, false))
		return nil
	}, "select surface, channel, thread from sessions where workspace = $1 and first_thread is not null "+more+
		" order by surface, channel, first_thread limit $5", placeArgs(ws, after, limit)...)
	return list, err
}

func (t *tx) SessionAppended(ws approvals.WorkspaceID, p approvals.Place) (newest time.Time, err error) {
	err = t.one(func(rows pgx.Rows) error { return rows.Scan(&newest) },
		"select appended from sessions where "+ofPlace+" order by n desc limit 1", placeArgs(ws, p)...)
	if err != nil {
		return time.Time{}, fmt.Errorf("session of %s: %w", p.Channel, err)
	}
	return newest.UTC(), nil
}
