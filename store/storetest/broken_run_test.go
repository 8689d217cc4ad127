package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

type countsOne struct{ approvals.Tx }

func (t countsOne) ActiveRuns(ws approvals.WorkspaceID, requester approvals.UserID, channel string) (int, error) {
	n, err := t.Tx.ActiveRuns(ws, requester, channel)
	return min(n, 1), err
}

type leasesLinger struct{ approvals.Tx }

func (t leasesLinger) LapsedLeases(at, latest time.Time, limit int) ([]approvals.RunKey, error) {
	return t.Tx.LapsedLeases(at.Add(-time.Microsecond), latest, limit)
}

type leasesTrusted struct{ approvals.Tx }

func (t leasesTrusted) LapsedLeases(at, _ time.Time, limit int) ([]approvals.RunKey, error) {
	return t.Tx.LapsedLeases(at, at.AddDate(100, 0, 0), limit)
}

type endsByName struct{ approvals.Tx }

func (t endsByName) EndedRuns(ws approvals.WorkspaceID, before time.Time, limit int) ([]approvals.RunID, error) {
	ids, err := t.Tx.EndedRuns(ws, before, math.MaxInt)
	slices.Sort(ids)
	return ids[:min(len(ids), max(limit, 0))], err
}

type leavesEffects struct{ approvals.Tx }

func (t leavesEffects) DeleteRun(ws approvals.WorkspaceID, id approvals.RunID) error {
	effects, _ := t.EffectsOfRun(ws, id)
	err := t.Tx.DeleteRun(ws, id)
	for _, e := range effects {
		err = errors.Join(err, t.PutEffect(e))
	}
	return err
}

type leavesCallbacks struct{ approvals.Tx }

func (t leavesCallbacks) DeleteRequest(ws approvals.WorkspaceID, id approvals.RequestID) error {
	k, missing := t.Callback(ws, id)
	err := t.Tx.DeleteRequest(ws, id)
	if err == nil && missing == nil {
		err = t.PutCallback(k)
	}
	return err
}

type keepsTokens struct{ approvals.Tx }

func (t keepsTokens) PutCallback(k *approvals.Callback) error {
	c := *k
	if old, err := t.Callback(k.Workspace, k.Request); err == nil {
		c.Token = old.Token
	}
	return t.Tx.PutCallback(&c)
}

type deletesMemory struct{ approvals.Tx }

func (t deletesMemory) DeleteRun(ws approvals.WorkspaceID, id approvals.RunID) error {
	r, err := t.Run(ws, id)
	if err == nil {
		err = t.DeleteSession(ws, r.Place)
	}
	if errors.Is(err, approvals.ErrNotFound) {
		err = nil
	}
	return errors.Join(err, t.Tx.DeleteRun(ws, id))
}

// runsByPrefix takes what belongs to run_10 for run_1's.
type runsByPrefix struct{ approvals.Tx }

func (t runsByPrefix) EffectsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.EffectRecord, error) {
	list, err1 := t.Tx.EffectsOfRun(ws, run)
	more, err2 := t.Tx.EffectsOfRun(ws, run+"0")
	return append(list, more...), errors.Join(err1, err2)
}

func (t runsByPrefix) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.RequestHead, error) {
	list, err1 := t.Tx.RequestsOfRun(ws, run)
	more, err2 := t.Tx.RequestsOfRun(ws, run+"0")
	return append(list, more...), errors.Join(err1, err2)
}

type keepsAttempts struct{ approvals.Tx }

func (t keepsAttempts) PutEffect(e *approvals.EffectRecord) error {
	c := *e
	if old, err := t.Effect(e.Workspace, e.Run, e.ID); err == nil {
		c.Attempt = old.Attempt
	}
	return t.Tx.PutEffect(&c)
}

type keepsInputs struct{ approvals.Tx }

func (t keepsInputs) PutInput(in *approvals.QueuedInput) error {
	list, err := t.Inputs(in.Workspace, in.Place, math.MaxInt)
	if i := slices.IndexFunc(list, func(old *approvals.QueuedInput) bool { return old.ID == in.ID }); i >= 0 {
		in = list[i]
	}
	return errors.Join(err, t.Tx.PutInput(in))
}

// overlapsState appends without replacing what comes behind.
type overlapsState struct{ approvals.Tx }

func (t overlapsState) PutState(ws approvals.WorkspaceID, run approvals.RunID, d agent.Delta) error {
	m := t.Tx.(*memoryTx)
	var behind []func()
	first := after(key("chunk", ws, string(run), number(uint64(d.From))))
	for k, v := range m.rows(key("chunk", ws, string(run)), first) {
		behind = append(behind, func() { m.set(k, v.data) })
	}
	err := m.PutState(ws, run, d)
	for _, put := range behind {
		if err == nil {
			put()
		}
	}
	return err
}

type truncates struct{ approvals.Tx }

func (t truncates) PutState(ws approvals.WorkspaceID, run approvals.RunID, d agent.Delta) error {
	d.Items = d.Items[:min(len(d.Items), 1<<19)]
	return t.Tx.PutState(ws, run, d)
}

type tailsAtLeastOne struct{ approvals.Tx }

func (t tailsAtLeastOne) StateTail(ws approvals.WorkspaceID, run approvals.RunID, size int) (
	[]json.RawMessage, int, error) {
	m := t.Tx.(*memoryTx)
	if _, _, err := m.StateTail(ws, run, size); err != nil {
		return nil, 0, err
	}
	chunks, older := m.tail(key("chunk", ws, string(run)), size, 1)
	return chunks, older, nil
}

type tailsPossiblyNone struct{ approvals.Tx }

func (t tailsPossiblyNone) SessionTail(ws approvals.WorkspaceID, p approvals.Place, size int) (
	[]json.RawMessage, int, error) {
	m := t.Tx.(*memoryTx)
	if _, _, err := m.SessionTail(ws, p, size); err != nil {
		return nil, 0, err
	}
	chunks, older := m.tail(key("session", ws, placeParts(p)...), size, 0)
	return chunks, older, nil
}

type deletesWhole struct{ approvals.Tx }

func (t deletesWhole) DeleteState(ws approvals.WorkspaceID, run approvals.RunID, _ int) (bool, error) {
	return t.Tx.DeleteState(ws, run, 0)
}

type deletesLess struct{ approvals.Tx }

func (t deletesLess) DeleteState(ws approvals.WorkspaceID, run approvals.RunID, limit int) (bool, error) {
	if limit <= 0 {
		limit = 1
	}
	return t.Tx.DeleteState(ws, run, limit)
}

type repeatsSession struct {
	approvals.Tx
	n *atomic.Int64
}

func (t repeatsSession) AppendSession(ws approvals.WorkspaceID, p approvals.Place, id string,
	items json.RawMessage) error {
	if id != "" {
		id += fmt.Sprint(t.n.Add(1))
	}
	return t.Tx.AppendSession(ws, p, id, items)
}

type remembersKeys struct{ approvals.Tx }

func (t remembersKeys) DeleteSession(ws approvals.WorkspaceID, p approvals.Place) error {
	m := t.Tx.(*memoryTx)
	if err := m.usable(true); err != nil {
		return err
	}
	m.removeAll(key("session", ws, placeParts(p)...))
	return nil
}

// readsAll looks at everything before it says what was asked for.
type readsAll struct{ approvals.Tx }

func (t readsAll) LapsedLeases(at, latest time.Time, limit int) ([]approvals.RunKey, error) {
	if _, err := t.EndedRuns(ws, at.Add(time.Hour), math.MaxInt); err != nil {
		return nil, err
	}
	return t.Tx.LapsedLeases(at, latest, limit)
}

func (t readsAll) QueryRuns(q approvals.RunQuery) ([]*approvals.Run, approvals.RunID, error) {
	if _, err := t.EndedRuns(ws, now().Add(time.Hour), math.MaxInt); err != nil {
		return nil, "", err
	}
	return t.Tx.QueryRuns(q)
}

func (t readsAll) StateTail(ws approvals.WorkspaceID, run approvals.RunID, size int) ([]json.RawMessage, int, error) {
	if _, _, err := t.State(ws, run); err != nil {
		return nil, 0, err
	}
	return t.Tx.StateTail(ws, run, size)
}

func (t readsAll) QueryRequests(q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error) {
	if _, err := t.RequestsOfRun(ws, "run_1"); err != nil {
		return nil, "", err
	}
	return t.Tx.QueryRequests(q)
}
