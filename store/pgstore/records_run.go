package pgstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

const kindRun = "run"

var readRun = readBy("run_records", "record", "", "workspace", "id")

func (t *tx) Run(ws approvals.WorkspaceID, id approvals.RunID) (*approvals.Run, error) {
	r, err := read[approvals.Run](t, readRun, kindRun, []string{string(ws), string(id)}, text(ws), text(id))
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	t.known.runs[runKey{ws, id}] = listsOfRun(r)
	return r, nil
}

var runColumns = []string{"workspace", "id", "surface", "channel", "thread", "direct bool", "agent", "requester",
	"cancelled_by", "status", "lease_until timestamptz", "created timestamptz", "ended timestamptz", "record bytea"}

var (
	putRun    = upsert("run_records", 2, runColumns...)
	insertRun = insertNew("run_records", 2, runColumns...)
)

func (t *tx) PutRun(r *approvals.Run) error {
	if err := errors.Join(t.usable(true), identified("run", string(r.Workspace), string(r.ID))); err != nil {
		return err
	}
	data, err := t.sealed(r, kindRun, string(r.Workspace), string(r.ID))
	if err != nil {
		return fmt.Errorf("put run %s: %w", r.ID, err)
	}
	var ended *time.Time
	if r.Status.Ended() {
		at := r.Ended
		ended = &at
	}
	put, none := putRun, error(nil)
	if _, sure := t.known.runs[runKey{r.Workspace, r.ID}]; !sure && t.shared != nil {
		put, none = insertRun, errNotNew
	}
	t.put(put, none, text(r.Workspace), text(r.ID), text(r.Place.Surface), text(r.Place.Channel),
		text(r.Place.Thread), r.Place.Direct, text(r.Agent), text(r.Requester), text(r.CancelledBy), text(r.Status),
		r.LeaseUntil, r.Created, ended, data)
	t.listRun(r)
	return nil
}

func (t *tx) ActiveRun(ws approvals.WorkspaceID, p approvals.Place) (*approvals.Run, error) {
	at := []string{runsAt(ws, p)}
	list, err := listOf[approvals.Run](t, at, kindRun, []string{string(ws)}, 1, `select r.id, r.record from (
			select id from runs_open where workspace = $1 and surface = $2 and channel = $3 and thread = $4 offset 0) o
		cross join lateral (select id, record from run_records where workspace = $1 and id = o.id offset 0) r
		order by r.id limit 1`, placeArgs(ws, p)...)
	if err == nil && len(list) == 0 {
		err = approvals.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("active run of %s: %w", p.Channel, err)
	}
	t.known.runs[runKey{ws, list[0].ID}] = listsOfRun(list[0])
	return list[0], nil
}

func (t *tx) ActiveRuns(ws approvals.WorkspaceID, requester approvals.UserID, channel string) (n int, err error) {
	const count = "select count(*) from runs_open where workspace = $1"
	into := func(rows pgx.Rows) error { return rows.Scan(&n) }
	switch {
	case requester == "":
		err = t.lookUp([]string{runsIn(ws, channel)}, into, count+" and channel = $2", text(ws), text(channel))
	case channel == "":
		err = t.lookUp([]string{runsBy(ws, requester)}, into, count+" and requester = $2", text(ws), text(requester))
	default:
		err = t.lookUp([]string{runsBy(ws, requester)}, into, count+" and requester = $2 and channel = $3",
			text(ws), text(requester), text(channel))
	}
	return n, err
}

func (t *tx) LapsedLeases(at, latest time.Time, limit int) (list []approvals.RunKey, err error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	err = t.query(func(rows pgx.Rows) error {
		var k [5]string
		var direct bool
		if err := rows.Scan(&k[0], &k[1], &k[2], &k[3], &k[4], &direct); err != nil {
			return err
		}
		list = append(list, approvals.RunKey{Workspace: approvals.WorkspaceID(untext(k[0])),
			Run: approvals.RunID(untext(k[1])), Place: placeOf(k[2], k[3], k[4], direct)})
		return nil
	}, `select w.workspace, w.id, r.surface, r.channel, r.thread, r.direct from runs_working w cross join lateral (
			select surface, channel, thread, direct from run_records where workspace = w.workspace and id = w.id
			and (status = 'queued' or lease_until <= $1 or lease_until > $2) offset 0) r
		order by w.workspace, w.id limit $3`, at, latest, limit)
	return list, err
}

// placeOf returns the place that columns name.
func placeOf(surface, channel, thread string, direct bool) approvals.Place {
	return approvals.Place{Surface: untext(surface), Channel: untext(channel), Thread: untext(thread), Direct: direct}
}

func (t *tx) EndedRuns(ws approvals.WorkspaceID, before time.Time, limit int) (list []approvals.RunID, err error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	err = t.query(func(rows pgx.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		list = append(list, approvals.RunID(untext(id)))
		return nil
	}, `select id from run_records where workspace = $1 and ended < $2
		order by ended, id limit $3`, text(ws), before, limit)
	return list, err
}

func (t *tx) DeleteRun(ws approvals.WorkspaceID, id approvals.RunID) error {
	if err := t.usable(true); err != nil {
		return err
	}
	for _, table := range []string{"run_records", "runs_open", "runs_working"} {
		t.later("delete from "+table+" where workspace = $1 and id = $2", text(ws), text(id))
	}
	for _, table := range []string{"effect_records", "states", "state_chunks"} {
		t.later("delete from "+table+" where workspace = $1 and run = $2", text(ws), text(id))
	}
	delete(t.known.runs, runKey{ws, id})
	return nil
}
