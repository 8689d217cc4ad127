package storetest

import (
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// ownership is a kind of record, with a way to put it and all ways to read it.
type ownership struct {
	put  func(tx approvals.Tx) error // and spoils what was put
	read func(tx approvals.Tx) error // checks what is read, and spoils it
}

// reader reads a record as a list of one.
type reader[T any] func(tx approvals.Tx) ([]*T, error)

func owns[T any](s *suite, fresh func() *T, put func(approvals.Tx, *T) error, reads ...reader[T]) ownership {
	return ownership{
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
					s.Errorf("%T, read in way %d, after copies of it were changed (-put +read):\n%s", *fresh(), i+1, d)
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

// changed makes a filled record of which something is different.
func changed[T any](salt int, change func(*T)) func() *T {
	return func() *T {
		record := filled[T](salt)
		change(record)
		return record
	}
}

func freshRequest() *approvals.Request {
	return changed(1, func(r *approvals.Request) { r.Status = approvals.RequestPending })()
}

// ownRequests is about requests, their heads, grants, and effects of the same run.
func (s *suite) ownRequests() []ownership {
	q := freshRequest()
	w, run, id := q.Workspace, q.Run, q.ID
	head := func() *approvals.RequestHead { return &freshRequest().RequestHead }
	token := changed(10, func(k *approvals.Callback) { k.Workspace, k.Request = w, "req_1" })
	app := changed(11, func(i *approvals.Installation) { i.Workspace = w })
	effect := changed(2, func(e *approvals.EffectRecord) { e.Workspace, e.Run = w, run })
	given := changed(7, func(g *approvals.Grant) { g.Workspace, g.Used, g.Revoked = w, 0, time.Time{} })
	return []ownership{
		owns(s, freshRequest,
			func(tx approvals.Tx, r *approvals.Request) error { return tx.PutRequest(r) },
			func(tx approvals.Tx) ([]*approvals.Request, error) { return only(tx.Request(w, id)) },
			func(tx approvals.Tx) ([]*approvals.Request, error) { return tx.Requests(w, []approvals.RequestID{id}) }),
		owns(s, head,
			func(tx approvals.Tx, r *approvals.RequestHead) error { return tx.PutRequestHead(r) },
			func(tx approvals.Tx) ([]*approvals.RequestHead, error) { return only(tx.RequestHead(w, id)) },
			func(tx approvals.Tx) ([]*approvals.RequestHead, error) { return tx.RequestsOfRun(w, run) },
			func(tx approvals.Tx) ([]*approvals.RequestHead, error) {
				return tx.RequestsOfRuns(w, []approvals.RunID{run, "run_9"})
			},
			func(tx approvals.Tx) ([]*approvals.RequestHead, error) {
				page, _, err := tx.QueryRequests(approvals.RequestQuery{Workspace: w, Status: q.Status, Limit: 10})
				return page, err
			}),
		owns(s, given,
			func(tx approvals.Tx, g *approvals.Grant) error { return tx.PutGrant(g) },
			func(tx approvals.Tx) ([]*approvals.Grant, error) { return only(tx.Grant(w, given().ID)) },
			func(tx approvals.Tx) ([]*approvals.Grant, error) { return tx.Grants(w, "", 10) },
			func(tx approvals.Tx) ([]*approvals.Grant, error) {
				return tx.GrantsByID(w, []approvals.GrantID{given().ID})
			},
			func(tx approvals.Tx) ([]*approvals.Grant, error) {
				return tx.OpenGrants(w, given().Agent, given().Tool, time.Unix(0, 0), 10)
			}),
		owns(s, effect,
			func(tx approvals.Tx, e *approvals.EffectRecord) error { return tx.PutEffect(e) },
			func(tx approvals.Tx) ([]*approvals.EffectRecord, error) { return only(tx.Effect(w, run, effect().ID)) },
			func(tx approvals.Tx) ([]*approvals.EffectRecord, error) { return tx.EffectsOfRun(w, run) }),
		owns(s, token,
			func(tx approvals.Tx, k *approvals.Callback) error { return tx.PutCallback(k) },
			func(tx approvals.Tx) ([]*approvals.Callback, error) { return only(tx.Callback(w, "req_1")) }),
		owns(s, app,
			func(tx approvals.Tx, i *approvals.Installation) error { return tx.PutInstallation(i) },
			func(tx approvals.Tx) ([]*approvals.Installation, error) { return only(tx.Installation(w)) },
			func(tx approvals.Tx) ([]*approvals.Installation, error) { return tx.Installations("", 10) }),
	}
}

// ownPlaces is about runs, input and notifications.
func (s *suite) ownPlaces() []ownership {
	fresh := changed(3, func(r *approvals.Run) { r.Status = approvals.RunWaiting })
	message := changed(4, func(*approvals.QueuedInput) {})
	waiting := changed(5, func(n *approvals.Notification) { n.Dead = time.Time{} })
	dead := changed(6, func(*approvals.Notification) {})
	r, in, n, d := fresh(), message(), waiting(), dead()
	put := func(tx approvals.Tx, n *approvals.Notification) error { return tx.PutNotification(n) }
	return []ownership{
		owns(s, fresh,
			func(tx approvals.Tx, r *approvals.Run) error { return tx.PutRun(r) },
			func(tx approvals.Tx) ([]*approvals.Run, error) { return only(tx.Run(r.Workspace, r.ID)) },
			func(tx approvals.Tx) ([]*approvals.Run, error) { return only(tx.ActiveRun(r.Workspace, r.Place)) },
			func(tx approvals.Tx) ([]*approvals.Run, error) {
				page, _, err := tx.QueryRuns(approvals.RunQuery{Workspace: r.Workspace, Limit: 10})
				return page, err
			}),
		owns(s, message,
			func(tx approvals.Tx, in *approvals.QueuedInput) error { return tx.PutInput(in) },
			func(tx approvals.Tx) ([]*approvals.QueuedInput, error) { return tx.Inputs(in.Workspace, in.Place, 10) }),
		owns(s, waiting, put, func(tx approvals.Tx) ([]*approvals.Notification, error) {
			return tx.Notifications(n.Workspace, n.Place, n.Copy, 10)
		}),
		owns(s, dead, put, func(tx approvals.Tx) ([]*approvals.Notification, error) {
			return tx.DeadLetters(d.Workspace, "", 10)
		}),
	}
}

// ownPieces is about what is only added to: the audit trail, states, and the memory of places.
func (s *suite) ownPieces() []ownership {
	sealed := changed(7, func(e *approvals.AuditEntry) { e.Seq = 1 })
	unsealed := changed(8, func(e *approvals.AuditEntry) { e.Seq = 0 })
	w, of := unsealed().Workspace, sealed().Workspace
	put := func(tx approvals.Tx, e *approvals.AuditEntry) error { return tx.AppendAudit(e) }
	piece := func() *json.RawMessage { return &json.RawMessage{'[', '1', ']'} }
	return []ownership{
		owns(s, sealed, put,
			func(tx approvals.Tx) ([]*approvals.AuditEntry, error) { return only(tx.AuditHead(of)) },
			func(tx approvals.Tx) ([]*approvals.AuditEntry, error) { return tx.AuditEntries(of, 1, 10) }),
		owns(s, unsealed, put,
			func(tx approvals.Tx) ([]*approvals.AuditEntry, error) { return tx.UnsealedAudit(w, 10) }),
		owns(s, piece,
			func(tx approvals.Tx, p *json.RawMessage) error {
				return tx.PutState(w, "run_1", agent.Delta{Head: *p, Count: 1, Items: *p})
			},
			func(tx approvals.Tx) ([]*json.RawMessage, error) {
				head, chunks, err := tx.State(w, "run_1")
				same(s, "head of state", []string{string(*piece())}, []string{string(head)})
				spoil(reflect.ValueOf(head))
				return refs(chunks), err
			},
			func(tx approvals.Tx) ([]*json.RawMessage, error) {
				chunks, _, err := tx.StateTail(w, "run_1", 1000)
				return refs(chunks), err
			}),
		owns(s, piece,
			func(tx approvals.Tx, p *json.RawMessage) error { return tx.AppendSession(w, place, "run_1", *p) },
			func(tx approvals.Tx) ([]*json.RawMessage, error) {
				chunks, _, err := tx.SessionTail(w, place, 1000)
				return refs(chunks), err
			}),
	}
}

func testOwnRecords(s *suite) {
	all := append(append(s.ownRequests(), s.ownPlaces()...), s.ownPieces()...)
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
	want := freshRequest()
	s.view(func(tx approvals.Tx) (err error) {
		q, err = tx.Request(want.Workspace, want.ID)
		return err
	})
	s.reopen()
	same(s, "a request that was kept", []*approvals.Request{want}, []*approvals.Request{q})
}
