package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// exportedOf are the exported requests of a window.
func (b *bench) exportedOf(from, to time.Time) []*approvals.ExportedRequest {
	b.Helper()
	return exportedFrom(b, b.store, from, to)
}

func exportedFrom(t testing.TB, st approvals.Store, from, to time.Time) (all []*approvals.ExportedRequest) {
	t.Helper()
	what := approvals.RequestExport{From: from, To: to}
	err := approvals.ExportRequests(t.Context(), st, what, func(r *approvals.ExportedRequest) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestExportRequests has who asked for what, who answered, and what became of the call, each as the trail says.
func TestExportRequests(t *testing.T) {
	t.Parallel()
	b := told(t)
	all := b.exportedOf(time.Time{}, time.Time{})
	if len(all) != 1 {
		t.Fatalf("%d requests", len(all))
	}
	r := all[0]
	if r.Audit != approvals.AuditAgrees || r.Tool != "pay" || r.Requester != ann ||
		r.Status != approvals.RequestApproved || r.Outcome != approvals.OutcomeRan || len(r.Decisions) != 1 ||
		r.Decisions[0].By != bob || r.Decisions[0].Verdict != approvals.Approve || r.Decisions[0].Via != "button" ||
		!strings.Contains(string(r.Arguments), "amount") {
		t.Errorf("%+v", r)
	}
	for name, w := range map[string]struct {
		from, to time.Time
		want     int
	}{
		"from then on":  {r.Created, time.Time{}, 1},
		"later":         {r.Created.Add(time.Microsecond), time.Time{}, 0},
		"until then":    {time.Time{}, r.Created, 0},
		"until behind":  {time.Time{}, r.Created.Add(time.Microsecond), 1},
		"another month": {r.Created.AddDate(0, 1, 0), r.Created.AddDate(0, 2, 0), 0},
	} {
		if got := b.exportedOf(w.from, w.to); len(got) != w.want {
			t.Errorf("%s: %d requests, want %d", name, len(got), w.want)
		}
	}
}

// TestExportRequestsComparesEach with the trail: one that was forged says so, and so do all where the chain is broken.
func TestExportRequestsComparesEach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		forge func(*approvals.Request)
		chain func([]*approvals.AuditEntry) []*approvals.AuditEntry
		want  string
	}{
		"another verdict": {forge: func(r *approvals.Request) { r.Decisions[0].Verdict = approvals.AlwaysApprove },
			want: "decisions"},
		"other arguments": {forge: func(r *approvals.Request) { r.Arguments = []byte(`{"amount":6}`) },
			want: "arguments"},
		"overruled by nothing": {forge: func(r *approvals.Request) { r.Overruled = r.ID },
			want: "hold in its place"},
		"another entry": {chain: func(all []*approvals.AuditEntry) []*approvals.AuditEntry {
			all[0].Actor = string(cara)
			return all
		}, want: "entry 1: was altered"},
		"nothing": {want: approvals.AuditAgrees},
	} {
		b := told(t)
		if c.forge != nil {
			b.forge(b.exportedOf(time.Time{}, time.Time{})[0].ID, c.forge)
		}
		var st approvals.Store = b.store
		if c.chain != nil {
			st = tampered{b.store, c.chain}
		}
		all := exportedFrom(t, st, time.Time{}, time.Time{})
		if len(all) != 1 || !strings.Contains(all[0].Audit, c.want) {
			t.Errorf("%s: %+v", name, all[0])
		}
	}
}

// unsealedEnd is a store of which only the first entries are linked into the chain.
type unsealedEnd struct {
	approvals.Store
	linked int
}

func (s unsealedEnd) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.View(ctx, func(tx approvals.Tx) error { return fn(unsealedTx{tx, s.linked}) })
}

type unsealedTx struct {
	approvals.Tx
	linked int
}

func (tx unsealedTx) AuditEntries(ws approvals.WorkspaceID, seq uint64, limit int) ([]*approvals.AuditEntry, error) {
	all, err := tx.Tx.AuditEntries(ws, 1, tx.linked)
	if err != nil || seq > uint64(tx.linked) {
		return nil, err
	}
	return all[seq-1:], nil
}

func (tx unsealedTx) UnsealedAudit(ws approvals.WorkspaceID, limit int) ([]*approvals.AuditEntry, error) {
	rest, err := tx.Tx.AuditEntries(ws, uint64(tx.linked)+1, limit)
	for _, e := range rest {
		e.Seq = 0
	}
	return rest, err
}

// TestExportRequestsBeforeSealing has entries that are not linked yet: they count.
func TestExportRequestsBeforeSealing(t *testing.T) {
	t.Parallel()
	b := told(t)
	for linked := range 12 {
		all := exportedFrom(t, unsealedEnd{b.store, linked}, time.Time{}, time.Time{})
		if len(all) != 1 || all[0].Audit != approvals.AuditAgrees {
			t.Errorf("%d entries are linked: %+v", linked, all[0])
		}
	}
}

// TestReadingTellsHowFarItIs, in pages of the trail, before the first request is handed out.
func TestReadingTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	b := told(t)
	if err := approvals.FillTrail(t.Context(), b.store, ws, 2100); err != nil {
		t.Fatal(err)
	}
	var read []int
	progress := func(n int) { read = append(read, n) }
	if _, err := approvals.VerifyAudit(t.Context(), b.store, approvals.VerifyOptions{Progress: progress}); err != nil {
		t.Error(err)
	}
	if want := []int{1000, 2000}; !slices.Equal(read, want) {
		t.Errorf("a verification told of %d, want %d", read, want)
	}
	read = nil
	err := approvals.ExportRequests(t.Context(), b.store, approvals.RequestExport{Progress: progress},
		func(*approvals.ExportedRequest) error {
			if len(read) != 2 {
				t.Errorf("told of %d before the first request", read)
			}
			return nil
		})
	if err != nil || len(read) != 2 {
		t.Errorf("an export told of %d, %v", read, err)
	}
}

// readTwice is a store that refuses what was read first, as a server does of which the connection is lost: it reads
// again.
type readTwice struct{ approvals.Store }

func (s readTwice) View(ctx context.Context, fn func(approvals.Tx) error) error {
	_ = s.Store.View(ctx, fn)
	return s.Store.View(ctx, fn)
}

// TestExportRequestsReadsAgain exports every request once where each page has to be read a second time.
func TestExportRequestsReadsAgain(t *testing.T) {
	t.Parallel()
	b := told(t)
	const more = 150 // two pages
	err := b.store.Update(t.Context(), func(tx approvals.Tx) (err error) {
		for i := range more {
			r := &approvals.Request{}
			r.Workspace, r.ID, r.Status = ws, approvals.RequestID(fmt.Sprintf("req_%05d", i)), approvals.RequestPending
			err = errors.Join(err, tx.PutRequest(r))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[approvals.RequestID]bool{}
	all := exportedFrom(t, readTwice{b.store}, time.Time{}, time.Time{})
	for _, r := range all {
		ids[r.ID] = true
	}
	if len(all) != more+1 || len(ids) != len(all) {
		t.Errorf("%d requests, %d different ones; want %d", len(all), len(ids), more+1)
	}
}
