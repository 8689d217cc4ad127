package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// told is a bench with a finished run, and so with a trail.
func told(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	b.must(b.pending(id)[0], bob, approvals.Approve, "the secret reason")
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	b.seal()
	return b
}

// tampered is a store whose trail somebody changed behind its back.
type tampered struct {
	approvals.Store
	change func([]*approvals.AuditEntry) []*approvals.AuditEntry
}

func (s tampered) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.View(ctx, func(tx approvals.Tx) error { return fn(tamperedTx{tx, s.change}) })
}

type tamperedTx struct {
	approvals.Tx
	change func([]*approvals.AuditEntry) []*approvals.AuditEntry
}

func (tx tamperedTx) AuditEntries(ws approvals.WorkspaceID, seq uint64, limit int) ([]*approvals.AuditEntry, error) {
	all, err := tx.Tx.AuditEntries(ws, 1, 1<<20)
	if err != nil {
		return nil, err
	}
	all = tx.change(all)
	from := slices.IndexFunc(all, func(e *approvals.AuditEntry) bool { return e.Seq >= seq })
	if from < 0 {
		return nil, nil
	}
	return all[from:min(len(all), from+limit)], nil
}

func TestVerifyAuditFindsTheFirstBadLink(t *testing.T) {
	t.Parallel()
	b := told(t)
	entry := func(i int, change func(*approvals.AuditEntry)) func([]*approvals.AuditEntry) []*approvals.AuditEntry {
		return func(all []*approvals.AuditEntry) []*approvals.AuditEntry {
			change(all[i])
			return all
		}
	}
	tests := []struct {
		name   string
		change func([]*approvals.AuditEntry) []*approvals.AuditEntry
		seq    uint64
	}{
		{"nothing", func(all []*approvals.AuditEntry) []*approvals.AuditEntry { return all }, 0},
		{"another actor", entry(4, func(e *approvals.AuditEntry) { e.Actor = string(cara) }), 5},
		{"another action", entry(4, func(e *approvals.AuditEntry) { e.Action = approvals.AuditDecisionRefused }), 5},
		{"another time", entry(4, func(e *approvals.AuditEntry) { e.At = e.At.Add(time.Nanosecond) }), 5},
		{"another request", entry(4, func(e *approvals.AuditEntry) { e.Request = "req_x" }), 5},
		{"another run", entry(0, func(e *approvals.AuditEntry) { e.Run = "run_x" }), 1},
		{"another workspace", entry(0, func(e *approvals.AuditEntry) { e.Workspace = "T2" }), 1},
		{"other facts", entry(4, func(e *approvals.AuditEntry) {
			e.Data = []byte(strings.Replace(string(e.Data), "approve", "reject", 1))
		}), 5},
		{"no facts", entry(4, func(e *approvals.AuditEntry) { e.Data = nil }), 5},
		{"facts that are none", entry(4, func(e *approvals.AuditEntry) { e.Data = []byte(`[`) }), 5},
		{"a fact beside the one that counts", entry(4, func(e *approvals.AuditEntry) {
			e.Data = []byte(`{"verdict":"reject",` + string(e.Data[1:]))
		}), 5},
		{"something behind the facts", entry(4, func(e *approvals.AuditEntry) {
			e.Data = append(e.Data, ` {"verdict":"reject"}`...)
		}), 5},
		{"facts that are nothing", entry(4, func(e *approvals.AuditEntry) { e.Data = []byte(`null`) }), 5},
		{"the same facts in another order are the same", entry(4, func(e *approvals.AuditEntry) {
			e.Data = reordered(t, e.Data)
		}), 0},
		{"another hash", entry(4, func(e *approvals.AuditEntry) { e.Hash[0]++ }), 5},
		{"another link", entry(4, func(e *approvals.AuditEntry) { e.Prev[0]++ }), 5},
		{"the first is missing", func(all []*approvals.AuditEntry) []*approvals.AuditEntry { return all[1:] }, 1},
		{"one is missing", func(all []*approvals.AuditEntry) []*approvals.AuditEntry {
			return slices.Delete(all, 3, 4)
		}, 4},
		{"the last is missing", func(all []*approvals.AuditEntry) []*approvals.AuditEntry {
			return all[:len(all)-1]
		}, 11},
		{"two have changed places", func(all []*approvals.AuditEntry) []*approvals.AuditEntry {
			all[3], all[4] = all[4], all[3]
			all[3].Seq, all[4].Seq = 4, 5
			return all
		}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report, err := approvals.VerifyAudit(t.Context(), tampered{b.store, tt.change}, approvals.VerifyOptions{})
			bad, found := errors.AsType[*approvals.AuditError](err)
			switch {
			case tt.seq == 0 && err != nil:
				t.Errorf("have %v", err)
			case tt.seq == 0 && (len(report.Workspaces) != 1 || report.Workspaces[0].Entries != 11):
				t.Errorf("report %+v", report)
			case tt.seq != 0 && (!found || bad.Seq != tt.seq):
				t.Errorf("have %v, want entry %d", err, tt.seq)
			}
		})
	}
}

// reordered writes the members of an object in another order and with spaces, as a store that keeps JSON may.
func reordered(t *testing.T, data json.RawMessage) json.RawMessage {
	var facts map[string]json.RawMessage
	if err := json.Unmarshal(data, &facts); err != nil {
		t.Fatal(err)
	}
	var parts []string
	for k, v := range facts {
		parts = append(parts, `"`+k+`" : `+string(v))
	}
	slices.Sort(parts)
	slices.Reverse(parts)
	return json.RawMessage("{ " + strings.Join(parts, " , ") + " }")
}

func TestAuditHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	b := told(t)
	err := approvals.ExportAudit(t.Context(), b.store, ws, func(e *approvals.AuditEntry) error {
		for _, secret := range []string{"amount", "secret reason", "please"} {
			if strings.Contains(string(e.Data), secret) {
				t.Errorf("%s holds %q: %s", e.Action, secret, e.Data)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestExportAuditSelects(t *testing.T) {
	t.Parallel()
	b := told(t)
	for in, want := range map[approvals.WorkspaceID]int{ws: 11, "": 11, "T2": 0} {
		n := 0
		count := func(*approvals.AuditEntry) error { n++; return nil }
		if err := approvals.ExportAudit(t.Context(), b.store, in, count); err != nil || n != want {
			t.Errorf("%q: %d entries, %v", in, n, err)
		}
	}
	stop := errors.New("enough")
	err := approvals.ExportAudit(t.Context(), b.store, ws, func(*approvals.AuditEntry) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("have %v", err)
	}
}

// TestWorkspacesHaveTheirOwnChains writes in two workspaces by turns.
func TestWorkspacesHaveTheirOwnChains(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := approvals.NewUserID("T2", "zoe")
	b.people.persons[other] = approvals.Person{ID: other, Regular: true}
	b.people.channels["C1"] = append(b.people.channels["C1"], other)
	for i := range 3 {
		b.submitAt(approvals.Place{Surface: "slack", Channel: "C1", Thread: string(rune('a' + i))})
		in := b.submission(other, place, "please")
		in.Workspace = "T2"
		in.Place.Thread = string(rune('a' + i))
		if _, err := b.service.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	b.seal()
	report, err := b.service.VerifyAudit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range report.Workspaces {
		if w.Entries != 3 {
			t.Errorf("%s has %d entries", w.Workspace, w.Entries)
		}
	}
	if len(report.Workspaces) != 2 {
		t.Errorf("%d workspaces", len(report.Workspaces))
	}
}
