package app

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"countersign/approvals"
)

// TestCheckpointFolder appends to a file for each workspace, behind whatever is there.
func TestCheckpointFolder(t *testing.T) {
	t.Parallel()
	_, key := writeKey(t, 0o600)
	folder := t.TempDir()
	point := func(ws approvals.WorkspaceID, seq uint64) *approvals.Checkpoint {
		head := &approvals.AuditEntry{Workspace: ws, Seq: seq, Hash: [32]byte{byte(seq)}}
		return approvals.NewCheckpoint(head, time.Unix(int64(seq), 0), nil, key)
	}
	keep := func(c *approvals.Checkpoint) {
		t.Helper()
		if err := newCheckpointFolder(folder).KeepCheckpoint(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	all := []*approvals.Checkpoint{point("T1", 1), point("T1", 2), point("T1", 3), point("../T2", 4)}
	keep(all[0])
	name := filepath.Join(folder, "checkpoints-T1.jsonl")
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"checkpoint":"broken o`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	keep(all[1])
	keep(all[2])
	keep(all[3])
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	var got []approvals.Checkpoint
	names, _ := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, _, err := approvals.ReadCheckpoints(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, found...)
	}
	want := []approvals.Checkpoint{*all[3], *all[0], *all[1], *all[2]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	for _, c := range got {
		if err := c.Check(key.Public().(ed25519.PublicKey)); err != nil {
			t.Error(err)
		}
	}
	gone := newCheckpointFolder(filepath.Join(folder, "gone"))
	if err := gone.KeepCheckpoint(t.Context(), all[0]); err == nil {
		t.Error("a folder was made")
	}
}

// TestCheckpointMetrics tell what is kept from what is not.
func TestCheckpointMetrics(t *testing.T) {
	t.Parallel()
	r := prometheus.NewPedanticRegistry()
	m := newCheckpointMetrics(r)
	m.kept(&approvals.Checkpoint{Workspace: "T1", At: time.Unix(90, 0)}, nil)
	m.kept(&approvals.Checkpoint{Workspace: "T1", At: time.Unix(95, 0)}, os.ErrPermission)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	want := map[string]float64{"countersign_audit_checkpoint_timestamp_seconds T1": 90,
		"countersign_audit_checkpoints_total kept": 1, "countersign_audit_checkpoints_total failed": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
}
