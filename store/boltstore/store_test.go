package boltstore

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

func open(t *testing.T, path string, cfg Config) *Store {
	t.Helper()
	s, err := Open(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSmoke(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, Config{})
	place := approvals.Place{Surface: "slack", Channel: "C1", Thread: "1.2"}
	now := time.Now().UTC()
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		return errors.Join(
			tx.PutRun(&approvals.Run{Workspace: "T1", ID: "run_1", Place: place, Requester: "T1/U1", Status: approvals.RunQueued}),
			tx.PutRequest(&approvals.Request{Workspace: "T1", ID: "req_1", Run: "run_1", Status: approvals.RequestPending, Arguments: []byte(`{"a":"<b>&"}`)}),
			tx.PutState("T1", "run_1", agent.Delta{Head: []byte(`{}`), From: 0, Count: 1, Items: []byte(`[1]`)}),
			tx.PutAudit(&approvals.AuditEntry{Workspace: "T1", Seq: 1, At: now}),
			tx.PutNotification(&approvals.Notification{Workspace: "T1", ID: "ntf_1", Place: place}),
			tx.AppendSession("T1", place, "run_1", []byte(`[1]`)),
			tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1"}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(tx approvals.Tx) error {
		r, err := tx.ActiveRun("T1", place)
		if err != nil || r.ID != "run_1" {
			t.Errorf("active run: %v, %v", r, err)
		}
		p, err := tx.PendingRequests("T1", "", 10)
		if err != nil || len(p) != 1 || string(p[0].Arguments) != `{"a":"<b>&"}` {
			t.Errorf("pending: %v, %v", p, err)
		}
		w, err := tx.AuditWorkspaces()
		if err != nil || len(w) != 1 {
			t.Errorf("workspaces: %v, %v", w, err)
		}
		n, err := tx.ActiveRuns("T1", "T1/U1", "")
		if err != nil || n != 1 {
			t.Errorf("active runs: %v, %v", n, err)
		}
		_, chunks, err := tx.State("T1", "run_1")
		if err != nil || len(chunks) != 1 {
			t.Errorf("state: %v, %v", chunks, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err = s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
		tries++
		if tries < 2 {
			return errors.New("again")
		}
		cancel()
		return nil
	})
	if err != nil || tries != 2 {
		t.Errorf("dispatch: %v after %d tries", err, tries)
	}
}
