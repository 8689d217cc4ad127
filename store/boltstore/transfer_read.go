package boltstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"countersign/approvals"
	"countersign/store/transfer"
)

// OpenSource opens the store at path for moving it elsewhere: for reading only, and with any keys that it needs, so
// that a plain file opens although there are keys.
func OpenSource(path string, cfg Config) (transfer.Source, error) {
	cfg.ReadOnly, cfg.compacting = true, true
	s, err := Open(path, cfg)
	if err != nil {
		return nil, err // never a typed nil
	}
	return s, nil
}

var _ transfer.Source = (*Store)(nil)

// Records yields the records of the kind behind a key, in order; see transfer.Source.
func (s *Store) Records(ctx context.Context, kind transfer.Kind, after transfer.Key) iter.Seq2[transfer.Record, error] {
	var waiting *waitingList
	return transfer.Pages(after, func(after transfer.Key) (page []transfer.Record, err error) {
		err = s.view(ctx, func(t *tx) (err error) {
			defer t.end(t.begin(), &err)
			switch kind {
			case transfer.KindCounter:
				page, err = t.counterRecord(after)
			case transfer.KindJob:
				page, err = t.jobRecords(after)
			case transfer.KindSessionKey:
				page, err = t.sessionKeyRecords(after)
			case transfer.KindNotification:
				page, err = t.waitingRecords(&waiting, after)
			default:
				page, err = t.recordsOf(kind, after)
			}
			return err
		})
		return page, err
	})
}

// readout is how the records of a kind lie in the file.
type readout struct {
	bucket   []byte
	numbered bool // the last part of the key is a number
	// record reads one; nil: the entry is none of the kind.
	record func(t *tx, k, v []byte) (transfer.Record, error)
}

// readouts has all kinds that lie in one bucket, in the order of their keys.
var readouts = map[transfer.Kind]readout{
	transfer.KindRun: {bucket: bucketRuns, record: func(t *tx, k, v []byte) (transfer.Record, error) {
		if countParts(k) != 2 { // a request's head
			return nil, nil
		}
		r := new(approvals.Run)
		return transfer.Run{Run: r}, t.decode(bucketRuns, k, v, r)
	}},
	transfer.KindRequest: {bucket: bucketRequests, record: (*tx).requestRecord},
	transfer.KindEffect: {bucket: bucketEffects, record: func(t *tx, k, v []byte) (transfer.Record, error) {
		r := new(approvals.EffectRecord)
		return transfer.Effect{EffectRecord: r}, t.decode(bucketEffects, k, v, r)
	}},
	transfer.KindGrant: {bucket: bucketGrants, record: func(t *tx, k, v []byte) (transfer.Record, error) {
		r := new(approvals.Grant)
		return transfer.Grant{Grant: r}, t.decode(bucketGrants, k, v, r)
	}},
	transfer.KindCallback: {bucket: bucketCallbacks, record: func(t *tx, k, v []byte) (transfer.Record, error) {
		r := new(approvals.Callback)
		return transfer.Callback{Callback: r}, t.decode(bucketCallbacks, k, v, r)
	}},
	transfer.KindInput: {bucket: bucketInputs, record: func(t *tx, k, v []byte) (transfer.Record, error) {
		r := new(approvals.QueuedInput)
		return transfer.Input{QueuedInput: r}, t.decode(bucketInputs, k, v, r)
	}},
	transfer.KindInstallation: {
		bucket: bucketInstallations,
		record: func(t *tx, k, v []byte) (transfer.Record, error) {
			r := new(approvals.Installation)
			return transfer.Installation{Installation: r}, t.decode(bucketInstallations, k, v, r)
		},
	},
	transfer.KindDeadLetter: {bucket: bucketDead, record: func(t *tx, k, v []byte) (transfer.Record, error) {
		r := new(approvals.Notification)
		return transfer.DeadLetter{Notification: r}, t.decode(bucketDead, k, v, r)
	}},
	transfer.KindAudit: {
		bucket: bucketAudit, numbered: true,
		record: func(t *tx, k, v []byte) (transfer.Record, error) {
			r := new(approvals.AuditEntry)
			return transfer.Audit{AuditEntry: r}, t.decode(bucketAudit, k, v, r)
		},
	},
	transfer.KindUnsealed: {bucket: bucketUnsealed, record: func(t *tx, k, v []byte) (transfer.Record, error) {
		r := new(approvals.AuditEntry)
		return transfer.Unsealed{AuditEntry: r}, t.decode(bucketUnsealed, k, v, r)
	}},
	transfer.KindState:        {bucket: bucketStates, record: (*tx).stateRecord},
	transfer.KindStateChunk:   {bucket: bucketChunks, numbered: true, record: (*tx).chunkRecord},
	transfer.KindEvent:        {bucket: bucketOnce, record: (*tx).eventRecord},
	transfer.KindSessionChunk: {bucket: bucketSessions, numbered: true, record: (*tx).sessionRecord},
}

// recordsOf reads a page of the records of a kind that has a bucket of its own.
func (t *tx) recordsOf(kind transfer.Kind, after transfer.Key) (page []transfer.Record, err error) {
	from, ok := readouts[kind]
	if !ok {
		return nil, fmt.Errorf("read %s: %w: this store knows none", kind, approvals.ErrInvalid)
	}
	size := 0
	err = t.scan(from.bucket, nil, from.behind(after), func(k, v []byte) (bool, error) {
		r, err := from.record(t, k, v)
		if err != nil || r == nil {
			return err == nil, err
		}
		page, size = append(page, r), size+len(k)+len(v)
		return len(page) < transfer.PageRecords && size < transfer.PageBytes, nil
	})
	return page, err
}

// behind returns where to go on behind a record; nil: at the beginning.
func (r *readout) behind(after transfer.Key) []byte {
	if len(after) == 0 {
		return nil
	}
	if !r.numbered {
		k := key(after...)
		if string(r.bucket) == string(bucketRequests) { // the key goes on with the run
			return behind(k)
		}
		return append(k, 0)
	}
	last := len(after) - 1
	return append(appendNumber(key(after[:last]...), transfer.Number(after[last])), 0)
}

func (t *tx) requestRecord(k, _ []byte) (transfer.Record, error) {
	ws, id, _, ok := cutTwo(k)
	if !ok {
		return nil, t.unreadable(bucketRequests, k)
	}
	r, err := t.readRequest(approvals.WorkspaceID(ws), approvals.RequestID(id))
	return transfer.Request{Request: r}, err
}

func (t *tx) stateRecord(k, v []byte) (transfer.Record, error) {
	ws, run, _, ok := cutTwo(k)
	if !ok {
		return nil, t.unreadable(bucketStates, k)
	}
	head, err := t.raw(bucketStates, k, v)
	return transfer.State{Workspace: approvals.WorkspaceID(ws), Run: approvals.RunID(run), Head: head}, err
}

func (t *tx) chunkRecord(k, v []byte) (transfer.Record, error) {
	ws, run, rest, ok := cutTwo(k)
	if !ok || len(rest) != numberSize {
		return nil, t.unreadable(bucketChunks, k)
	}
	items, err := t.raw(bucketChunks, k, v)
	return transfer.StateChunk{
		Workspace: approvals.WorkspaceID(ws), Run: approvals.RunID(run), From: number(rest), Items: items,
	}, err
}

func (t *tx) eventRecord(k, v []byte) (transfer.Record, error) {
	ws, name, _, ok := cutTwo(k)
	at, err := t.raw(bucketOnce, k, v)
	if err == nil && (!ok || len(at) != numberSize) {
		err = t.unreadable(bucketOnce, k)
	}
	if err != nil {
		return nil, err
	}
	return transfer.Event{Workspace: approvals.WorkspaceID(ws), Name: name, At: transfer.Microsecond(timeOf(at))}, nil
}

func (t *tx) sessionRecord(k, v []byte) (transfer.Record, error) {
	ws, place, rest, ok := cutPlace(k)
	if !ok || len(rest) != numberSize {
		return nil, t.unreadable(bucketSessions, k)
	}
	items, err := t.raw(bucketSessions, k, v)
	return transfer.SessionChunk{
		Workspace: approvals.WorkspaceID(ws), Place: place, N: number(rest), Items: json.RawMessage(items),
	}, err
}

// sessionKeyRecords reads a page of the keys of sessions: whole places, because those of a place are not in the order
// of their times.
func (t *tx) sessionKeyRecords(after transfer.Key) (page []transfer.Record, err error) {
	var from []byte
	if len(after) > 0 {
		from = key(after[:4]...) // the place, from its beginning
	}
	var place []transfer.Record
	flush := func() {
		slices.SortFunc(place, func(a, b transfer.Record) int { return a.Key().Compare(b.Key()) })
		for _, r := range place {
			if r.Key().Compare(after) > 0 {
				page = append(page, r)
			}
		}
		place = nil
	}
	err = t.scan(bucketSessionKey, nil, from, func(k, v []byte) (bool, error) {
		r, err := t.sessionKeyRecord(k, v)
		if err != nil {
			return false, err
		}
		if len(place) > 0 && !slices.Equal(place[0].Key()[:4], r.Key()[:4]) {
			if flush(); len(page) >= transfer.PageRecords {
				return false, nil
			}
		}
		place = append(place, r)
		return true, nil
	})
	flush()
	return page, err
}

func (t *tx) sessionKeyRecord(k, v []byte) (transfer.Record, error) {
	ws, place, rest, ok := cutPlace(k)
	if !ok {
		return nil, t.unreadable(bucketSessionKey, k)
	}
	at, err := t.raw(bucketSessionKey, k, v)
	r := transfer.SessionKey{Workspace: approvals.WorkspaceID(ws), Place: place, Name: lastPart(rest)}
	if len(at) == numberSize { // earlier versions wrote nothing
		r.At = transfer.Microsecond(timeOf(at))
	}
	return r, err
}

// cutTwo splits off the first two parts of a key.
func cutTwo(k []byte) (first, second string, rest []byte, ok bool) {
	if first, rest, ok = cutPart(k); ok {
		second, rest, ok = cutPart(rest)
	}
	return first, second, bytes.Clone(rest), ok
}

// cutPlace splits off the workspace and the place that a key begins with.
func cutPlace(k []byte) (ws string, p approvals.Place, rest []byte, ok bool) {
	ws, rest, ok = cutPart(k)
	for _, part := range []*string{&p.Surface, &p.Channel, &p.Thread} {
		if ok {
			*part, rest, ok = cutPart(rest)
		}
	}
	return ws, p, rest, ok
}

func (t *tx) unreadable(bucket, k []byte) error {
	return t.damaged(fmt.Errorf("%s %q: unreadable key", bucket, k))
}
