package storetest

import (
	"encoding/json"
	"errors"
	"reflect"

	"countersign/agent"
	"countersign/approvals"
)

// ownership is a kind of record, with a way to put it and all ways to read it.
type ownership struct {
	kind string
	put  func(tx approvals.Tx) error // and spoils what was put
	read func(tx approvals.Tx) error // checks what is read, and spoils it
}

func owns[T any](s *suite, kind string, fresh func() *T, put func(approvals.Tx, *T) error,
	reads ...func(approvals.Tx) ([]*T, error)) ownership {
	return ownership{kind: kind,
		put: func(tx approvals.Tx) error {
			record := fresh()
			defer spoil(reflect.ValueOf(record))
			return put(tx, record)
		},
		read: func(tx approvals.Tx) error {
			for i, read := range reads {
				got, err := read(tx)
				if err != nil {
					return err
				}
				if d := diff([]*T{fresh()}, got); d != "" {
					s.Errorf("%s, read %d, after copies of it were changed (-put +read):\n%s", kind, i+1, d)
				}
				spoil(reflect.ValueOf(got))
			}
			return nil
		}}
}

// only makes a list of what a getter returns.
func only[T any](record *T, err error) ([]*T, error) { return []*T{record}, err }

func refs(list []json.RawMessage) []*json.RawMessage {
	return idsOf(list, func(m json.RawMessage) *json.RawMessage { return &m })
}

// ownerships lists all kinds of records.
func (s *suite) ownerships() []ownership {
	wsOf := filled[approvals.Request](1).Workspace // they are all in one workspace
	runOf := filled[approvals.Request](1).Run
	freshRequest := func() *approvals.Request {
		r := filled[approvals.Request](1)
		r.Status = approvals.RequestPending
		return r
	}
	freshHead := func() *approvals.RequestHead { return &freshRequest().RequestHead }
	freshEffect := func() *approvals.EffectRecord {
		e := filled[approvals.EffectRecord](2)
		e.Workspace, e.Run = wsOf, runOf
		return e
	}
	requestOf, effectOf := freshRequest().ID, freshEffect().ID
	all := approvals.RequestQuery{Workspace: wsOf, Status: approvals.RequestPending, Limit: 10}
	return append([]ownership{
		owns(s, "request", freshRequest,
			func(tx approvals.Tx, r *approvals.Request) error { return tx.PutRequest(r) },
			func(tx approvals.Tx) ([]*approvals.Request, error) { return only(tx.Request(wsOf, requestOf)) },
			func(tx approvals.Tx) ([]*approvals.Request, error) {
				return tx.Requests(wsOf, []approvals.RequestID{requestOf})
			}),
		owns(s, "head of request", freshHead,
			func(tx approvals.Tx, r *approvals.RequestHead) error { return tx.PutRequestHead(r) },
			func(tx approvals.Tx) ([]*approvals.RequestHead, error) { return only(tx.RequestHead(wsOf, requestOf)) },
			func(tx approvals.Tx) ([]*approvals.RequestHead, error) { return tx.RequestsOfRun(wsOf, runOf) },
			func(tx approvals.Tx) ([]*approvals.RequestHead, error) {
				page, _, err := tx.QueryRequests(all)
				return page, err
			}),
		owns(s, "effect", freshEffect,
			func(tx approvals.Tx, e *approvals.EffectRecord) error { return tx.PutEffect(e) },
			func(tx approvals.Tx) ([]*approvals.EffectRecord, error) {
				return only(tx.Effect(wsOf, runOf, effectOf))
			},
			func(tx approvals.Tx) ([]*approvals.EffectRecord, error) { return tx.EffectsOfRun(wsOf, runOf) }),
	}, s.moreOwnerships(wsOf)...)
}

// moreOwnerships lists those that do not hang together.
func (s *suite) moreOwnerships(w approvals.WorkspaceID) []ownership {
	freshInput := func() *approvals.QueuedInput { return filled[approvals.QueuedInput](3) }
	freshDead := func() *approvals.Notification { return filled[approvals.Notification](4) }
	freshEntry := func() *approvals.AuditEntry { return filled[approvals.AuditEntry](5) }
	in, letter, e := freshInput(), freshDead(), freshEntry()
	freshUnsealed := func() *approvals.AuditEntry {
		e := freshEntry()
		e.Seq = 0
		return e
	}
	chunk := func() *json.RawMessage { return &json.RawMessage{'[', '1', ']'} }
	return []ownership{
		owns(s, "input", freshInput,
			func(tx approvals.Tx, in *approvals.QueuedInput) error { return tx.PutInput(in) },
			func(tx approvals.Tx) ([]*approvals.QueuedInput, error) { return tx.Inputs(in.Workspace, in.Place, 10) }),
		owns(s, "dead letter", freshDead,
			func(tx approvals.Tx, n *approvals.Notification) error { return tx.PutNotification(n) },
			func(tx approvals.Tx) ([]*approvals.Notification, error) {
				return tx.DeadLetters(letter.Workspace, "", 10)
			}),
		owns(s, "unsealed entry", freshUnsealed,
			func(tx approvals.Tx, e *approvals.AuditEntry) error { return tx.AppendAudit(e) },
			func(tx approvals.Tx) ([]*approvals.AuditEntry, error) { return tx.UnsealedAudit(e.Workspace, 10) }),
		owns(s, "state", chunk,
			func(tx approvals.Tx, items *json.RawMessage) error {
				return tx.PutState(w, "run_1", agent.Delta{Head: *items, Count: 1, Items: *items})
			},
			func(tx approvals.Tx) ([]*json.RawMessage, error) {
				head, chunks, err := tx.State(w, "run_1")
				if d := diff(*chunk(), head); d != "" {
					s.Errorf("head of state, after copies of it were changed (-put +read):\n%s", d)
				}
				spoil(reflect.ValueOf(head))
				return refs(chunks), err
			},
			func(tx approvals.Tx) ([]*json.RawMessage, error) {
				chunks, _, err := tx.StateTail(w, "run_1", 1000)
				return refs(chunks), err
			}),
		owns(s, "memory", chunk,
			func(tx approvals.Tx, items *json.RawMessage) error {
				return tx.AppendSession(w, place, "run_1", *items)
			},
			func(tx approvals.Tx) ([]*json.RawMessage, error) {
				chunks, _, err := tx.SessionTail(w, place, 1000)
				return refs(chunks), err
			}),
	}
}

func testOwnRecords(s *suite) {
	all := s.ownerships()
	put := func(tx approvals.Tx) error {
		var err error
		for _, o := range all {
			err = errors.Join(err, o.put(tx))
		}
		return err
	}
	read := func(tx approvals.Tx) error {
		for range 2 {
			for _, o := range all {
				if err := o.read(tx); err != nil {
					return err
				}
			}
		}
		return nil
	}
	s.update(func(tx approvals.Tx) error { return errors.Join(put(tx), read(tx)) })
	s.view(read)
	s.update(read)
	s.reopen()
	s.view(read)
	s.expectKept()
}

// expectKept checks that what was read survives the transaction, and the store.
func (s *suite) expectKept() {
	s.Helper()
	var q *approvals.Request
	want := filled[approvals.Request](1)
	want.Status = approvals.RequestPending
	s.view(func(tx approvals.Tx) (err error) {
		q, err = tx.Request(want.Workspace, want.ID)
		return err
	})
	s.reopen()
	if d := diff(want, q); d != "" {
		s.Errorf("a request that was kept (-put +read):\n%s", d)
	}
}
