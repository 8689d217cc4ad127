package approvals_test

import (
	"context"
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

// TestSealerRests: in a rush the sealer leaves most of the time to those who wait, but not so that it falls behind.
func TestSealerRests(t *testing.T) {
	t.Parallel()
	const each = 10 * time.Millisecond
	for _, c := range []struct {
		what string
		age  time.Duration // of the entries
		want []time.Duration
	}{
		{"new entries", 0, []time.Duration{each, 5 * each, 9 * each}},
		{"old entries", time.Minute, []time.Duration{each, 2 * each, 3 * each}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := storetest.NewMemory().Open()
				defer st.Close()
				at := time.Now().Add(-c.age)
				for range 250 {
					if err := approvals.AppendEntryAt(t.Context(), st, ws, at); err != nil {
						t.Fatal(err)
					}
				}
				begin, n := time.Now(), 0
				var got []time.Duration
				page := func(_ context.Context, all []*approvals.AuditEntry) {
					got, n = append(got, time.Since(begin)), n+len(all)
				}
				err := approvals.Seal(t.Context(), slowUpdates{st, each}, page)
				if err != nil || n != 250 {
					t.Errorf("%d entries are linked, want 250: %v", n, err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("pages were linked at other times (-want +got)\n%s", diff)
				}
			})
		})
	}
}
