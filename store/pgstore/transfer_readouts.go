package pgstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
	"countersign/store/transfer"
)

var (
	named      = []string{"workspace", "id"}
	placeNamed = []string{"workspace", "surface", "channel", "thread"}
)

func inPlace(more ...string) []string { return append(append([]string{}, placeNamed...), more...) }

// readouts has all kinds but the one record that counts generations.
var readouts = map[transfer.Kind]readout{
	transfer.KindRun: {from: "run_records", key: named, data: "record",
		read: recordIn(kindRun, func(r *approvals.Run) transfer.Record { return transfer.Run{Run: r} })},
	transfer.KindRequest: {
		from: "request_heads", key: named, read: readRequest,
		data: `record, (select record from request_contents c
			where c.workspace = request_heads.workspace and c.id = request_heads.id)`,
	},
	transfer.KindEffect: {from: "effect_records", key: []string{"workspace", "run", "id"}, data: "record",
		read: recordIn(kindEffect, func(r *approvals.EffectRecord) transfer.Record {
			return transfer.Effect{EffectRecord: r}
		})},
	transfer.KindGrant: {from: "grants", key: named, data: "record",
		read: recordIn(kindGrant, func(r *approvals.Grant) transfer.Record { return transfer.Grant{Grant: r} })},
	transfer.KindCallback: {from: "callbacks", key: []string{"workspace", "request"}, data: "record",
		read: recordIn(kindCallback, func(r *approvals.Callback) transfer.Record {
			return transfer.Callback{Callback: r}
		})},
	transfer.KindInput: {from: "inputs", key: inPlace("id"), data: "record",
		read: recordIn(kindInput, func(r *approvals.QueuedInput) transfer.Record {
			return transfer.Input{QueuedInput: r}
		})},
	transfer.KindInstallation: {from: "installations", key: []string{"workspace"}, data: "record",
		read: recordIn(kindInstallation, func(r *installed) transfer.Record {
			return transfer.Installation{Installation: r.record()}
		})},
	transfer.KindAudit: {from: "audit", key: []string{"workspace", "seq"}, data: "record",
		read: recordIn(kindSealed, func(r *approvals.AuditEntry) transfer.Record {
			return transfer.Audit{AuditEntry: r}
		})},
	transfer.KindUnsealed: {from: "audit", key: []string{"workspace", "unsealed_id"}, data: "record",
		read: recordIn(kindUnsealed, func(r *approvals.AuditEntry) transfer.Record {
			return transfer.Unsealed{AuditEntry: r}
		})},
	transfer.KindNotification: {from: "outbox", key: inPlace("copy", "id"), data: "record",
		read: recordIn(kindNotification, func(r *approvals.Notification) transfer.Record {
			return transfer.Notification{Notification: r}
		})},
	transfer.KindDeadLetter: {
		from: "dead_letters", key: inPlace("copy", "id"), data: "record",
		order: []string{"workspace", "id", "surface", "channel", "thread", "copy"},
		read: recordIn(kindNotification, func(r *approvals.Notification) transfer.Record {
			return transfer.DeadLetter{Notification: r}
		}),
	},
	transfer.KindState: {from: "states", key: []string{"workspace", "run"}, data: "head", large: true,
		read: func(t *tx, rows pgx.Rows, k *rowKey) (transfer.Record, error) {
			head, err := rawIn(t, rows, k, kindState)
			return transfer.State{Workspace: k.ws(), Run: approvals.RunID(k.parts[1]), Head: head}, err
		}},
	transfer.KindStateChunk: {from: "state_chunks", key: []string{"workspace", "run", "start"}, data: "items",
		large: true, read: readChunk},
	transfer.KindEvent: {from: "events", key: []string{"workspace", "key"}, data: "at",
		read: func(_ *tx, rows pgx.Rows, k *rowKey) (transfer.Record, error) {
			var at time.Time
			err := k.scan(rows, &at)
			return transfer.Event{Workspace: k.ws(), Name: k.parts[1], At: at.UTC()}, err
		}},
	transfer.KindSessionKey: {from: "sessions", key: inPlace("key"), data: "appended", read: readSessionKey,
		order: inPlace("appended", "key")},
	transfer.KindSessionChunk: {from: "sessions", key: inPlace("key"), data: "n, items", read: readSession,
		order: inPlace("n"), large: true},
	transfer.KindJob: {
		from: "jobs", key: []string{"workspace", "id", "kind"}, read: readJob,
		data: "grp, place::text, copy, due, not_before, generation, attempts",
	},
}

func readRequest(t *tx, rows pgx.Rows, k *rowKey) (transfer.Record, error) {
	var head, content []byte
	if err := k.scan(rows, &head, &content); err != nil {
		return nil, err
	}
	r := new(approvals.Request)
	return transfer.Request{Request: r}, errors.Join(t.opened(head, &r.RequestHead, kindHead, k.parts...),
		t.opened(content, &r.RequestContent, kindContent, k.parts...))
}

func readChunk(t *tx, rows pgx.Rows, k *rowKey) (transfer.Record, error) {
	items, err := rawIn(t, rows, k, kindChunk)
	if err != nil {
		return nil, err
	}
	var from uint64
	_, err = fmt.Sscan(k.parts[2], &from)
	return transfer.StateChunk{Workspace: k.ws(), Run: approvals.RunID(k.parts[1]), From: from, Items: items}, err
}

func readSessionKey(_ *tx, rows pgx.Rows, k *rowKey) (transfer.Record, error) {
	var at time.Time
	err := k.scan(rows, &at)
	return transfer.SessionKey{Workspace: k.ws(), Place: k.place(), Name: k.parts[4], At: at.UTC()}, err
}

func readSession(t *tx, rows pgx.Rows, k *rowKey) (transfer.Record, error) {
	var n int64
	var data []byte
	if err := k.scan(rows, &n, &data); err != nil {
		return nil, err
	}
	items, err := t.open(data, kindSession, k.parts...)
	return transfer.SessionChunk{Workspace: k.ws(), Place: k.place(), N: uint64(n), Items: items}, err
}

func readJob(_ *tx, rows pgx.Rows, k *rowKey) (transfer.Record, error) {
	var group, copyOf string
	var place *string
	var notBefore *time.Time
	var generation int64
	j := transfer.Job{}
	err := k.scan(rows, &group, &place, &copyOf, &j.Due, &notBefore, &generation, &j.Attempts)
	if err != nil {
		return nil, err
	}
	j.Workspace, j.ID, j.Job.Kind = k.ws(), k.parts[1], approvals.JobKind(k.parts[2])
	j.Group, j.Copy, j.Generation = untext(group), approvals.Copy(untext(copyOf)), uint64(generation)
	j.Due = j.Due.UTC()
	if notBefore != nil {
		j.NotBefore = notBefore.UTC()
	}
	if place != nil {
		err = json.Unmarshal([]byte(*place), &j.Place)
	}
	return j, err
}
