package approvals_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/store/storetest"
)

// slowUpdates is a store whose changes take their time.
type slowUpdates struct {
	approvals.Store
	each time.Duration
}

func (s slowUpdates) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	time.Sleep(s.each)
	return s.Store.Update(ctx, fn)
}

// TestSealerRests: in a rush the sealer leaves most of the time to those who wait, the less the further it is behind.
func TestSealerRests(t *testing.T) {
	t.Parallel()
	const each = 10 * time.Millisecond
	for _, c := range []struct {
		what string
		age  time.Duration // of the entries, when the sealer begins
		want []time.Duration
	}{
		{"new", time.Second, []time.Duration{each, 5 * each, 9 * each}},
		{"late", 3 * time.Second, []time.Duration{each, 3 * each, 5 * each}},
		{"latest", time.Minute, []time.Duration{each, 2 * each}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := storetest.NewMemory().Open()
				defer st.Close()
				begin := time.Now().Add(time.Second) // when the sealer looks first
				for range 250 {
					if err := approvals.AppendEntryAt(t.Context(), st, ws, begin.Add(-c.age)); err != nil {
						t.Fatal(err)
					}
				}
				n := 0
				var got []time.Duration
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				approvals.KeepSealing(ctx, slowUpdates{st, each}, func(_ context.Context, all []*approvals.AuditEntry) {
					got, n = append(got, time.Since(begin)), n+len(all)
				})
				if n != 250 {
					t.Errorf("%d entries are linked, want 250", n)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("pages were linked at other times (-want +got)\n%s", diff)
				}
			})
		})
	}
}

// unreadable is a store that cannot read what waits in a workspace.
type unreadable struct {
	approvals.Store
	ws approvals.WorkspaceID
}

func (s unreadable) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.View(ctx, func(tx approvals.Tx) error { return fn(unreadableTx{tx, s.ws}) })
}

func (s unreadable) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.Update(ctx, func(tx approvals.Tx) error { return fn(unreadableTx{tx, s.ws}) })
}

type unreadableTx struct {
	approvals.Tx
	ws approvals.WorkspaceID
}

func (t unreadableTx) UnsealedAudit(ws approvals.WorkspaceID, limit int) ([]*approvals.AuditEntry, error) {
	if ws == t.ws {
		return nil, errors.New("not to be read")
	}
	return t.Tx.UnsealedAudit(ws, limit)
}

// TestSealerGoesOn: a workspace whose entries cannot be linked keeps none of the others waiting, and is told of.
func TestSealerGoesOn(t *testing.T) {
	t.Parallel()
	st := storetest.NewMemory().Open()
	defer st.Close()
	for _, ws := range []approvals.WorkspaceID{"T1", "T2", "T3"} {
		for range 501 {
			if err := approvals.AppendEntryAt(t.Context(), st, ws, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := approvals.SealNow(t.Context(), unreadable{st, "T2"})
	if err == nil || !strings.Contains(err.Error(), "T2: not to be read") {
		t.Errorf("got the error %v", err)
	}
	left := map[approvals.WorkspaceID]int{}
	err = st.View(t.Context(), func(tx approvals.Tx) error {
		for _, ws := range []approvals.WorkspaceID{"T1", "T2", "T3"} {
			all, err := tx.UnsealedAudit(ws, 1000)
			if err != nil {
				return err
			}
			left[ws] = len(all)
		}
		return nil
	})
	if diff := cmp.Diff(map[approvals.WorkspaceID]int{"T1": 0, "T2": 501, "T3": 0}, left); diff != "" || err != nil {
		t.Errorf("not linked are (-want +got) %v\n%s", err, diff)
	}
}

// TestSealerInARush: while more is appended than the sealer links when it rests, it stays a few seconds behind, and a
// workspace in which little happens is not left waiting.
func TestSealerInARush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewMemory().Open()
		defer st.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		linked := map[approvals.WorkspaceID]int{}
		slowest := map[approvals.WorkspaceID]time.Duration{}
		go approvals.KeepSealing(ctx, slowUpdates{st, 50 * time.Millisecond},
			func(_ context.Context, all []*approvals.AuditEntry) {
				for _, e := range all {
					linked[e.Workspace]++
					slowest[e.Workspace] = max(slowest[e.Workspace], time.Since(e.At))
				}
			})
		appended := map[approvals.WorkspaceID]int{}
		add := func(ws approvals.WorkspaceID) {
			if err := approvals.AppendEntryAt(t.Context(), st, ws, time.Now()); err != nil {
				t.Error(err)
			}
			appended[ws]++
		}
		for i := range 1700 { // 17 seconds of 600 entries each
			for range 6 {
				add("T1")
			}
			if i%300 == 150 {
				add("T2")
			}
			time.Sleep(10 * time.Millisecond)
		}
		<-ctx.Done()
		synctest.Wait()
		if diff := cmp.Diff(appended, linked); diff != "" {
			t.Errorf("not all are linked (-appended +linked)\n%s", diff)
		}
		if d := slowest["T1"]; d < 2*time.Second || d > 7*time.Second {
			t.Errorf("in the rush an entry waited for %s", d)
		}
		if d := slowest["T2"]; d > 1500*time.Millisecond {
			t.Errorf("beside the rush an entry waited for %s", d)
		}
	})
}
