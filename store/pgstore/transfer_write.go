package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"countersign/approvals"
	"countersign/store/transfer"
)

// While another store is moved into a schema, it has the table transfer, with one row that says how far that is. A
// schema that has the table is opened for nothing else. One that is made for a move has it from the beginning, without
// a row.

// Target is a schema into which another store is moved.
type Target struct{ *Store }

var _ transfer.Target = Target{}

// OpenTarget opens the store that url names for moving another one into it, and makes the schema where there is none.
// It is for nothing else, and works for as long as nobody else has it open.
func OpenTarget(ctx context.Context, url string, cfg Config) (transfer.Target, error) {
	cfg.moving, cfg.half = true, true
	s, err := Open(ctx, url, cfg)
	if err != nil {
		return nil, err
	}
	return Target{s}, nil
}

const createMark = `create table if not exists transfer (
	one boolean primary key default true check (one), mark jsonb not null)`

const codeUndefinedTable = "42P01"

// Mark returns how far the move has come; nil: it has not begun.
func (s Target) Mark(ctx context.Context) (*transfer.Mark, error) {
	var mark []byte
	err := s.clicks.QueryRow(ctx, "select mark from transfer").Scan(&mark)
	pg, refused := errors.AsType[*pgconn.PgError](err)
	if errors.Is(err, pgx.ErrNoRows) || refused && pg.Code == codeUndefinedTable {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how far a move has come: %w", err)
	}
	m := new(transfer.Mark)
	return m, json.Unmarshal(mark, m)
}

// recordTables are the tables of records.
var recordTables = []string{"run_records", "events", "inputs", "states", "state_chunks", "request_heads",
	"request_contents", "callbacks", "effect_records", "grants", "audit", "outbox", "dead_letters", "sessions",
	"installations", "jobs"}

// listTables follow from the records: writing a run or a request fills them.
var listTables = []string{"runs_open", "runs_working", "requests_pending"}

// Empty reports whether there is no record.
func (s Target) Empty(ctx context.Context) (bool, error) {
	var has bool
	err := s.clicks.QueryRow(ctx, "select exists (select from "+strings.Join(recordTables, ") or exists (select from ")+
		")").Scan(&has)
	return !has, err
}

// Import adds the records, and marks how far that is.
func (s Target) Import(ctx context.Context, records []transfer.Record, m transfer.Mark) error {
	mark, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.update(ctx, func(t *tx) error {
		if err := t.importRecords(records); err != nil {
			return err
		}
		if m.Kind == "" { // the first mark
			if err := t.query(func(pgx.Rows) error { return nil }, createMark); err != nil {
				return err
			}
		}
		t.later("insert into transfer (mark) values ($1) on conflict (one) do update set mark = excluded.mark", mark)
		return nil
	})
}

// Finish makes the schema a whole store.
func (s Target) Finish(ctx context.Context) error {
	err := s.update(ctx, func(t *tx) error {
		t.later("drop table if exists transfer")
		return nil
	})
	if err != nil {
		return err
	}
	// What the server believes of the tables is from when they were empty.
	for _, table := range recordTables {
		if _, err := s.clicks.Exec(ctx, "analyze "+pgx.Identifier{table}.Sanitize()); err != nil {
			s.cfg.Logger.Warn("the server's statistics are left to autovacuum", "table", table, "error", err)
		}
	}
	return nil
}

// importRecords adds records of one kind, none of which is there.
func (t *tx) importRecords(records []transfer.Record) error {
	if len(records) > 0 && records[0].Kind() == transfer.KindSessionChunk {
		return t.importSessions(records)
	}
	for _, r := range records {
		if err := t.importRecord(r); err != nil {
			return fmt.Errorf("put one of the %s: %w", r.Kind(), err)
		}
	}
	return nil
}

func (t *tx) importRecord(r transfer.Record) error {
	if done, err := transfer.Put(t, r); done {
		return err
	}
	return t.importRow(r)
}

// importRow adds what no method of a transaction writes as it is.
func (t *tx) importRow(r transfer.Record) error {
	switch r := r.(type) {
	case transfer.State:
		t.put(putState, nil, text(r.Workspace), text(r.Run), t.seal(r.Head, kindState, r.Key()...))
	case transfer.StateChunk:
		t.put(putChunk, nil, text(r.Workspace), text(r.Run), int64(r.From),
			t.seal(r.Items, kindChunk, string(r.Workspace), string(r.Run), fmt.Sprint(r.From)))
	case transfer.Event:
		t.later("insert into events (workspace, key, at) values ($1, $2, $3)", text(r.Workspace), text(r.Name), r.At)
	case transfer.SessionKey: // its chunk comes later
		t.put(appendSession, nil, placeArgs(r.Workspace, r.Place, text(r.Name), r.At, []byte{})...)
	case transfer.Job:
		return t.importJob(r)
	case transfer.Counter:
		t.later("select setval('job_generation', greatest($1::bigint, 1), $1::bigint > 0)", int64(r.Generation))
	default:
		return fmt.Errorf("%w: this store keeps no %s", approvals.ErrInvalid, r.Kind())
	}
	return nil
}

const importJob = `insert into jobs
	(workspace, kind, id, grp, place, copy, due, not_before, generation, first, attempts)
	values ($1, $2, $3, $4, $5::json, $6, $7, $8, $9, $9, $10)`

func (t *tx) importJob(r transfer.Job) error {
	var c jobColumns
	if err := c.add(&r.Job); err != nil {
		return err
	}
	var notBefore any
	if !r.NotBefore.IsZero() {
		notBefore = r.NotBefore
	}
	t.later(importJob, c.workspaces[0], c.kinds[0], c.ids[0], c.groups[0], c.places[0], c.copies[0], r.Due, notBefore,
		int64(r.Generation), r.Attempts)
	return nil
}

// importSessions gives chunks to the keys that were there before them, by their numbers.
func (t *tx) importSessions(records []transfer.Record) error {
	names := make(map[int]string, len(records))
	var places [4][]string
	var numbers []int64
	for _, r := range records {
		c := r.(transfer.SessionChunk)
		for i, part := range placeKey(c.Workspace, c.Place) {
			places[i] = append(places[i], text(part))
		}
		numbers = append(numbers, int64(c.N))
	}
	err := t.query(func(rows pgx.Rows) error {
		var at int
		var name string
		err := rows.Scan(&at, &name)
		names[at] = untext(name)
		return err
	}, `select u.at, s.key from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
		with ordinality as u (workspace, surface, channel, thread, n, at)
		cross join lateral (select key from sessions s where s.workspace = u.workspace and s.surface = u.surface
			and s.channel = u.channel and s.thread = u.thread and s.n = u.n offset 0) s`,
		places[0], places[1], places[2], places[3], numbers)
	if err != nil {
		return err
	}
	for i, r := range records {
		c := r.(transfer.SessionChunk)
		name, ok := names[i+1]
		if !ok {
			return fmt.Errorf("%w: chunk %d of a session has no key", approvals.ErrInvalid, c.N)
		}
		data := t.seal(c.Items, kindSession, append(placeKey(c.Workspace, c.Place), name)...)
		t.later("update sessions set items = $6 where "+ofPlace+" and n = $5",
			placeArgs(c.Workspace, c.Place, int64(c.N), data)...)
	}
	return nil
}
