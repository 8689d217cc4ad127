package storetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"time"

	"countersign/approvals"
)

// The types here and in the files beside it are transactions that break a promise with one of their methods.

// quietTx lets DeleteSession succeed where it must not.
type quietTx struct {
	approvals.Tx
	quiet func() bool
}

func (t quietTx) DeleteSession(ws approvals.WorkspaceID, p approvals.Place) error {
	err := t.Tx.DeleteSession(ws, p)
	if t.quiet() {
		return nil
	}
	return err
}

type saysNothing struct{ approvals.Tx }

func (t saysNothing) StateTail(ws approvals.WorkspaceID, run approvals.RunID, size int) (
	[]json.RawMessage, int, error) {
	chunks, older, err := t.Tx.StateTail(ws, run, size)
	if errors.Is(err, approvals.ErrNotFound) {
		err = nil
	}
	return chunks, older, err
}

type forgetsOwn struct {
	approvals.Tx
	put map[string]bool
}

func newForgetsOwn(tx approvals.Tx) forgetsOwn { return forgetsOwn{tx, map[string]bool{}} }

func (t forgetsOwn) PutEffect(e *approvals.EffectRecord) error {
	t.put[e.ID] = true
	return t.Tx.PutEffect(e)
}

func (t forgetsOwn) Effect(ws approvals.WorkspaceID, run approvals.RunID, id string) (*approvals.EffectRecord, error) {
	e, err := t.Tx.Effect(ws, run, id)
	if err == nil && t.put[id] {
		return nil, approvals.ErrNotFound
	}
	return e, err
}

type ignoresOnce struct{ approvals.Tx }

func (t ignoresOnce) Once(ws approvals.WorkspaceID, key string, at time.Time) (bool, error) {
	_, err := t.Tx.Once(ws, key, at)
	return err == nil, err
}

type mixesWorkspaces struct{ approvals.Tx }

func (t mixesWorkspaces) Effect(w approvals.WorkspaceID, run approvals.RunID, id string) (
	*approvals.EffectRecord, error) {
	if w == other {
		w = ws
	}
	return t.Tx.Effect(w, run, id)
}

type escapesJSON struct{ approvals.Tx }

func (t escapesJSON) PutRequest(r *approvals.Request) error {
	c := *r
	if data, err := json.Marshal(r.Arguments); err == nil {
		c.Arguments = data
	}
	return t.Tx.PutRequest(&c)
}

// keysOptional gives an effect without id one.
type keysOptional struct{ approvals.Tx }

func (t keysOptional) PutEffect(e *approvals.EffectRecord) error {
	c := *e
	c.ID = cmp.Or(c.ID, "none")
	return t.Tx.PutEffect(&c)
}

type directMatters struct{ approvals.Tx }

func (t directMatters) Notifications(ws approvals.WorkspaceID, p approvals.Place, audience approvals.Copy, limit int) (
	[]*approvals.Notification, error) {
	if p.Direct {
		p.Thread += " direct"
	}
	return t.Tx.Notifications(ws, p, audience, limit)
}

type lavish struct{ approvals.Tx }

func (t lavish) DeadLetters(ws approvals.WorkspaceID, after approvals.NotificationID, limit int) (
	[]*approvals.Notification, error) {
	if limit < 0 {
		limit = math.MaxInt
	}
	return t.Tx.DeadLetters(ws, after, limit)
}
