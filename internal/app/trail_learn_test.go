package app

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/storetest"
)

// countingTx counts what it is asked about requests, and refuses to answer when it is told to.
type countingTx struct {
	approvals.Tx
	calls  int
	refuse error
}

func (t *countingTx) RequestHead(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.RequestHead, error) {
	t.calls++
	return t.Tx.RequestHead(ws, id)
}

func (t *countingTx) Requests(ws approvals.WorkspaceID, ids []approvals.RequestID) ([]*approvals.Request, error) {
	if t.calls++; t.refuse != nil {
		return nil, t.refuse
	}
	return t.Tx.Requests(ws, ids)
}

// TestQuestionsAreLearntOfTogether: the requests that a page of the trail speaks of are read a few at a time, each
// once, and one that is gone is known to be; after an error they are read again.
func TestQuestionsAreLearntOfTogether(t *testing.T) {
	t.Parallel()
	st := storetest.NewMemory().Open()
	defer st.Close()
	var entries []*approvals.AuditEntry
	asked := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		for i := range 50 {
			r := &approvals.Request{RequestHead: approvals.RequestHead{
				Workspace: "T1", ID: approvals.RequestID(fmt.Sprintf("req_%02d", i)), Run: "run_1", Agent: "ops",
				Kind: agent.Confirm, Status: approvals.RequestPending,
				Created: asked.Add(time.Duration(i) * time.Second),
			}}
			if i%2 == 1 {
				r.Workspace = "T2"
			}
			r.Digest = r.Definition.Call(r.Arguments)
			if i != 7 {
				if err := tx.PutRequest(r); err != nil {
					return err
				}
			}
			e := &approvals.AuditEntry{Workspace: r.Workspace, Request: r.ID}
			entries = append(entries, e, e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := func(*approvals.AuditEntry) bool { return true }
	q := questions{}
	learn := func(refuse error) (calls int, err error) {
		err = st.View(t.Context(), func(tx approvals.Tx) error {
			counting := &countingTx{Tx: tx, refuse: refuse}
			defer func() { calls = counting.calls }()
			return q.learn(counting, entries, all)
		})
		return calls, err
	}
	refused := errors.New("not now")
	if _, err := learn(refused); !errors.Is(err, refused) {
		t.Errorf("got the error %v, want %v", err, refused)
	}
	if calls, err := learn(nil); err != nil || calls != 4 {
		t.Errorf("50 requests of two workspaces were read with %d calls, want 4: %v", calls, err)
	}
	for i, e := range entries {
		got, known := q[requestKey{e.Workspace, e.Request}]
		want := question{agent: "ops", asked: asked.Add(time.Duration(i/2) * time.Second)}
		if i/2 == 7 {
			want = question{}
		}
		if !known || got != want {
			t.Errorf("of %s is known %+v (%v), want %+v", e.Request, got, known, want)
		}
	}
	if calls, err := learn(nil); err != nil || calls != 0 {
		t.Errorf("what is known is read again, with %d calls: %v", calls, err)
	}
}
