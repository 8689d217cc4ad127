package storetest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"countersign/approvals"
	"countersign/store/transfer"
)

// Transfer returns the data as package transfer moves it, into another store or out of one. Nobody may have a store
// open on it meanwhile.
func (m *Memory) Transfer() transfer.Target { return &memoryTransfer{data: m, Store: m.Open()} }

// memoryTransfer is the data of a Memory while it is moved.
type memoryTransfer struct {
	approvals.Store
	data *Memory
}

// transferKey is where the mark of a move lies, as JSON.
var transferKey = everywhere("transfer")

func (s *memoryTransfer) Mark(context.Context) (*transfer.Mark, error) {
	v := s.data.root.Load().get(transferKey)
	if v == nil {
		return nil, nil
	}
	m := new(transfer.Mark)
	return m, json.Unmarshal(v.data, m)
}

func (s *memoryTransfer) Empty(context.Context) (bool, error) { return s.data.root.Load() == nil, nil }

func (s *memoryTransfer) Import(ctx context.Context, records []transfer.Record, m transfer.Mark) error {
	mark, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.write(ctx, func(t *memoryTx) error {
		for _, r := range records {
			if err := t.importRecord(r); err != nil {
				return err
			}
		}
		t.set(transferKey, mark)
		return nil
	})
}

func (s *memoryTransfer) Finish(ctx context.Context) error {
	return s.write(ctx, func(t *memoryTx) error {
		t.remove(transferKey)
		return nil
	})
}

func (s *memoryTransfer) write(ctx context.Context, fn func(t *memoryTx) error) error {
	if err := s.data.lock(ctx); err != nil {
		return err
	}
	defer s.data.unlock()
	t := s.data.begin(ctx, true)
	t.deferred = false
	if err := fn(t); err != nil {
		return err
	}
	s.data.commit(t)
	return nil
}

func (t *memoryTx) importRecord(r transfer.Record) error {
	if done, err := transfer.Put(t, r); done {
		return err
	}
	switch r := r.(type) {
	case transfer.State:
		t.set(key("state", r.Workspace, string(r.Run)), r.Head)
	case transfer.StateChunk:
		t.set(key("chunk", r.Workspace, string(r.Run), number(r.From)), r.Items)
	case transfer.SessionChunk:
		t.set(key("session", r.Workspace, placeParts(r.Place, number(r.N))...), r.Items)
	case transfer.Counter:
		t.set(everywhere("generation"), []byte(number(r.Generation)))
	case transfer.Event:
		return t.put(key("once", r.Workspace, r.Name), r.At)
	case transfer.SessionKey:
		return t.put(key("session key", r.Workspace, placeParts(r.Place, r.Name)...), r.At)
	case transfer.Job:
		return t.setJob(&queuedJob{Job: r.Job, NotBefore: r.NotBefore})
	}
	return nil
}

// Records yields the records of the kind in the order of their keys.
func (s *memoryTransfer) Records(
	ctx context.Context, kind transfer.Kind, after transfer.Key,
) iter.Seq2[transfer.Record, error] {
	t := s.data.begin(ctx, false)
	var all []transfer.Record
	for k, v := range t.rows(everywhere(memoryKinds[kind]), "") {
		r, err := t.recordOf(kind, parts(k), v)
		if err != nil {
			return func(yield func(transfer.Record, error) bool) { yield(nil, err) }
		}
		if r != nil && r.Key().Compare(after) > 0 {
			all = append(all, r)
		}
	}
	if kind == transfer.KindCounter && len(all) == 0 && len(after) == 0 {
		all = append(all, transfer.Counter{})
	}
	slices.SortFunc(all, func(a, b transfer.Record) int { return a.Key().Compare(b.Key()) })
	return func(yield func(transfer.Record, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// memoryKinds says what the keys of the records begin with.
var memoryKinds = map[transfer.Kind]string{
	transfer.KindAudit: "audit", transfer.KindUnsealed: "unsealed", transfer.KindInstallation: "installation",
	transfer.KindGrant: "grant", transfer.KindRun: "run", transfer.KindState: "state", transfer.KindStateChunk: "chunk",
	transfer.KindRequest: "request", transfer.KindCallback: "callback", transfer.KindEffect: "effect",
	transfer.KindInput: "input", transfer.KindEvent: "once", transfer.KindSessionChunk: "session",
	transfer.KindSessionKey: "session key", transfer.KindNotification: "notification",
	transfer.KindDeadLetter: "notification", transfer.KindJob: "job", transfer.KindCounter: "generation",
}

// recordOf returns what a key holds as a record of the kind; nil: it is none.
func (t *memoryTx) recordOf(kind transfer.Kind, k []string, v *value) (transfer.Record, error) {
	switch kind {
	case transfer.KindAudit:
		return recordAs(v, func(e *approvals.AuditEntry) transfer.Record { return transfer.Audit{AuditEntry: e} })
	case transfer.KindUnsealed:
		return recordAs(v, func(e *approvals.AuditEntry) transfer.Record { return transfer.Unsealed{AuditEntry: e} })
	case transfer.KindInstallation:
		return recordAs(v, func(i *installed) transfer.Record {
			return transfer.Installation{Installation: i.record()}
		})
	case transfer.KindGrant:
		return recordAs(v, func(g *approvals.Grant) transfer.Record { return transfer.Grant{Grant: g} })
	case transfer.KindRun:
		return recordAs(v, func(r *approvals.Run) transfer.Record { return transfer.Run{Run: r} })
	case transfer.KindRequest:
		r, err := t.Request(approvals.WorkspaceID(k[1]), approvals.RequestID(k[2]))
		return transfer.Request{Request: r}, err
	case transfer.KindCallback:
		return recordAs(v, func(c *approvals.Callback) transfer.Record { return transfer.Callback{Callback: c} })
	case transfer.KindEffect:
		return recordAs(v, func(e *approvals.EffectRecord) transfer.Record {
			return transfer.Effect{EffectRecord: e}
		})
	case transfer.KindInput:
		return recordAs(v, func(in *approvals.QueuedInput) transfer.Record { return transfer.Input{QueuedInput: in} })
	case transfer.KindNotification, transfer.KindDeadLetter:
		return recordAs(v, func(n *approvals.Notification) transfer.Record { return notificationAs(kind, n) })
	case transfer.KindJob:
		return recordAs(v, jobAs)
	}
	return pieceOf(kind, k, v)
}

// pieceOf is recordOf for what is no record of package approvals.
func pieceOf(kind transfer.Kind, k []string, v *value) (transfer.Record, error) {
	if kind == transfer.KindCounter {
		return transfer.Counter{Generation: binary.BigEndian.Uint64(v.data)}, nil
	}
	w, last := approvals.WorkspaceID(k[1]), k[len(k)-1]
	var p approvals.Place
	if len(k) == 6 {
		p = approvals.Place{Surface: k[2], Channel: k[3], Thread: k[4]}
	}
	switch kind {
	case transfer.KindState:
		return transfer.State{Workspace: w, Run: approvals.RunID(last), Head: v.data}, nil
	case transfer.KindStateChunk:
		return transfer.StateChunk{
			Workspace: w, Run: approvals.RunID(k[2]), From: transfer.Number(last), Items: v.data,
		}, nil
	case transfer.KindSessionChunk:
		return transfer.SessionChunk{Workspace: w, Place: p, N: transfer.Number(last), Items: v.data}, nil
	case transfer.KindEvent:
		return recordAs(v, func(at *time.Time) transfer.Record {
			return transfer.Event{Workspace: w, Name: last, At: *at}
		})
	}
	return recordAs(v, func(at *time.Time) transfer.Record {
		return transfer.SessionKey{Workspace: w, Place: p, Name: last, At: *at}
	})
}

func recordAs[T any](v *value, as func(*T) transfer.Record) (transfer.Record, error) {
	record, err := decode[T](v)
	if err != nil {
		return nil, err
	}
	return as(record), nil
}

func notificationAs(kind transfer.Kind, n *approvals.Notification) transfer.Record {
	switch {
	case waits(n) && kind == transfer.KindNotification:
		return transfer.Notification{Notification: n}
	case !waits(n) && kind == transfer.KindDeadLetter:
		return transfer.DeadLetter{Notification: n}
	}
	return nil
}

// jobAs is a job that nobody is at work on any more.
func jobAs(j *queuedJob) transfer.Record {
	if j.Given != 0 && j.Again != nil {
		j.Due = earliest(j.Due, *j.Again)
	}
	j.Due = transfer.Microsecond(latest(j.Due, j.NotBefore))
	return transfer.Job{Job: j.Job, NotBefore: transfer.Microsecond(j.NotBefore)}
}
