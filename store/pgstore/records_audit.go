package pgstore

import (
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

// Sealed entries are bound to their place in the chain, unsealed ones to their ID.
const (
	kindSealed   = "audit"
	kindUnsealed = "unsealed audit"
)

const auditColumns = "insert into audit (workspace, seq, id, at, action, actor, run, request, record) "

// follows holds for the number of an entry that continues the chain.
const follows = "$2::bigint = 1 + coalesce((select max(seq) from audit where workspace = $1 and seq is not null), 0)"

var (
	// Entries that have no number yet; none of their IDs may be there.
	appendUnsealed = insertNew("audit", 2, "workspace", "id", "at timestamptz", "action", "actor", "run", "request",
		"record bytea")
	appendSealed = oneRow(auditColumns + "select $1, $2::bigint, nullif($3::text, ''), $4, $5, $6, $7, $8, $9 " +
		"where " + follows + " on conflict do nothing")
	// An entry that does not continue the chain gets a number that the table refuses.
	sealEntry = oneRow("update audit set seq = case when " + follows + " then $2::bigint else 0 end, at = $4, " +
		"action = $5, actor = $6, run = $7, request = $8, record = $9 where workspace = $1 and id = $3 and seq is null")
	// sealEntries is sealEntry for several of one workspace, each of which continues the one before.
	sealEntries = allRows("update audit r set seq = case when ($2::bigint[])[1] = 1 + coalesce((select max(seq) " +
		"from audit where workspace = ($1::text[])[1] and seq is not null), 0) then u.seq else 0 end, at = u.at, " +
		"action = u.action, actor = u.actor, run = u.run, request = u.request, record = u.record from " +
		rowsGiven([]string{"workspace", "seq bigint", "id", "at timestamptz", "action", "actor", "run", "request",
			"record bytea"}) +
		" where r.workspace = u.workspace and r.id = u.id and r.id is not null and r.seq is null")
)

func (t *tx) AppendAudit(entries ...*approvals.AuditEntry) error {
	if err := t.usable(true); err != nil {
		return err
	}
	for _, e := range entries {
		if err := identified("audit entry", string(e.Workspace)); err != nil {
			return err
		}
		if e.Workspace != entries[0].Workspace {
			return fmt.Errorf("append audit entries of %s and %s: %w",
				entries[0].Workspace, e.Workspace, approvals.ErrInvalid)
		}
		refused := fmt.Errorf("append audit entry %d %s: %w", e.Seq, e.ID, approvals.ErrInvalid)
		row, err := t.auditRow(e)
		switch {
		case e.Seq > math.MaxInt64 || e.Seq == 0 && e.ID == "":
			return refused
		case err != nil:
			return fmt.Errorf("append audit entry %d %s: %w", e.Seq, e.ID, err)
		case e.Seq == 0:
			t.put(appendUnsealed, refused, append(row[:1:1], row[2:]...)...)
		default:
			t.laterIf(refused, appendSealed, row...)
		}
	}
	return nil
}

// auditRow returns the columns of an entry.
func (t *tx) auditRow(e *approvals.AuditEntry) ([]any, error) {
	var seq any
	kind, name := kindUnsealed, string(e.ID)
	if e.Seq > 0 {
		seq, kind, name = int64(e.Seq), kindSealed, strconv.FormatUint(e.Seq, 10)
	}
	data, err := t.sealed(e, kind, string(e.Workspace), name)
	if err != nil {
		return nil, err
	}
	return []any{text(e.Workspace), seq, text(e.ID), e.At, text(e.Action), text(e.Actor), text(e.Run), text(e.Request),
		data}, nil
}

func (t *tx) UnsealedAudit(ws approvals.WorkspaceID, limit int) ([]*approvals.AuditEntry, error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	return list[approvals.AuditEntry](t, kindUnsealed, []string{string(ws)}, 1,
		"select id, record from audit where workspace = $1 and unsealed_id is not null order by unsealed_id limit $2",
		text(ws), limit)
}

func (t *tx) SealAudit(entries ...*approvals.AuditEntry) error {
	if err := t.usable(true); err != nil {
		return err
	}
	for i := 0; i < len(entries); {
		n := i + 1
		for n < len(entries) && entries[n].Workspace == entries[i].Workspace && entries[n].Seq == entries[n-1].Seq+1 {
			n++
		}
		if err := t.sealEntries(entries[i:n]); err != nil {
			return err
		}
		i = n
	}
	return nil
}

// sealEntries seals entries of which each continues the one before.
func (t *tx) sealEntries(entries []*approvals.AuditEntry) error {
	var rows []statement
	for _, e := range entries {
		if err := identified("audit entry", string(e.Workspace), string(e.ID)); err != nil {
			return err
		}
		row, err := t.auditRow(e)
		if err != nil {
			return fmt.Errorf("seal audit entry %d %s: %w", e.Seq, e.ID, err)
		}
		absent := fmt.Errorf("seal audit entry %s: %w", e.ID, approvals.ErrNotFound)
		if len(entries) == 1 {
			t.laterIf(absent, sealEntry, row...)
			return nil
		}
		rows = append(rows, statement{args: row, none: absent})
	}
	t.laterIf(oneOf(rows), sealEntries, argumentsOf(rows)...)
	return nil
}

func (t *tx) AuditHead(ws approvals.WorkspaceID) (*approvals.AuditEntry, error) {
	list, err := list[approvals.AuditEntry](t, kindSealed, []string{string(ws)}, 1, `select seq::text, record from audit
		where workspace = $1 and seq is not null order by audit.seq desc limit 1`, text(ws))
	if err == nil && len(list) == 0 {
		err = approvals.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("audit of %s: %w", ws, err)
	}
	return list[0], nil
}

func (t *tx) AuditEntries(ws approvals.WorkspaceID, seq uint64, limit int) ([]*approvals.AuditEntry, error) {
	if err := t.usable(false); err != nil || limit <= 0 || seq > math.MaxInt64 {
		return nil, err
	}
	return list[approvals.AuditEntry](t, kindSealed, []string{string(ws)}, 1, `select seq::text, record from audit
		where workspace = $1 and seq >= $2 and seq is not null order by audit.seq limit $3`,
		text(ws), int64(seq), limit)
}

// auditWorkspaces goes from one workspace to the next in both indexes, whatever number of entries each has.
const auditWorkspaces = `with recursive sealed (workspace) as (
		(select workspace from audit where seq is not null order by workspace limit 1)
		union all
		select (select a.workspace from audit a where a.seq is not null and a.workspace > s.workspace
			order by a.workspace limit 1) from sealed s where s.workspace is not null),
	unsealed (workspace) as (
		(select workspace from audit where unsealed_id is not null order by workspace limit 1)
		union all
		select (select a.workspace from audit a where a.unsealed_id is not null and a.workspace > u.workspace
			order by a.workspace limit 1) from unsealed u where u.workspace is not null),
	workspaces as (select workspace from sealed where workspace is not null
		union select workspace from unsealed where workspace is not null) `

func (t *tx) AuditWorkspaces() (list []approvals.WorkspaceID, err error) {
	err = t.query(func(rows pgx.Rows) error {
		var ws string
		if err := rows.Scan(&ws); err != nil {
			return err
		}
		list = append(list, approvals.WorkspaceID(untext(ws)))
		return nil
	}, auditWorkspaces+"select workspace from workspaces order by workspace")
	return list, err
}

// recordedWorkspaces goes from one workspace to the next in the primary key of each table.
const recordedWorkspaces = `with recursive of_requests (workspace) as (
		(select workspace from request_heads order by workspace limit 1)
		union all
		select (select r.workspace from request_heads r where r.workspace > o.workspace order by r.workspace limit 1)
			from of_requests o where o.workspace is not null),
	of_grants (workspace) as (
		(select workspace from grants order by workspace limit 1)
		union all
		select (select g.workspace from grants g where g.workspace > o.workspace order by g.workspace limit 1)
			from of_grants o where o.workspace is not null)
	select workspace from of_requests where workspace is not null
	union select workspace from of_grants where workspace is not null
	order by workspace`

func (t *tx) RecordedWorkspaces() (list []approvals.WorkspaceID, err error) {
	err = t.query(func(rows pgx.Rows) error {
		var ws string
		if err := rows.Scan(&ws); err != nil {
			return err
		}
		list = append(list, approvals.WorkspaceID(untext(ws)))
		return nil
	}, recordedWorkspaces)
	return list, err
}
