package approvals_test

import (
	"errors"
	"testing"

	"countersign/approvals"
)

// decidedCrowd is a crowd of which all but two requests of each person were rejected, ann's by cara.
func decidedCrowd(t *testing.T, n int) *bench {
	b := crowd(t, n)
	page, _ := b.walk(approvals.PendingQuery{Limit: 100})
	err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
		left := map[approvals.UserID]int{ann: 2, bob: 2}
		for _, r := range page {
			if left[r.Requester]--; left[r.Requester] >= 0 {
				continue
			}
			r.Status, r.Settled = approvals.RequestRejected, r.Created
			if r.Requester == ann {
				r.Decisions = []approvals.Decision{{By: cara, Verdict: approvals.Reject}}
			}
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// history pages through it and returns what it holds, and how many pages that took.
func (b *bench) history(q approvals.HistoryQuery) (all []*approvals.RequestHead, pages int) {
	b.Helper()
	q.Workspace = ws
	for {
		got, err := b.service.History(b.Context(), q)
		if err != nil {
			b.Fatal(err)
		}
		all, pages = append(all, got.Requests...), pages+1
		if got.Next == "" {
			return all, pages
		}
		q.After = got.Next
	}
}

func TestHistoryShowsWhatTheViewerMaySee(t *testing.T) {
	t.Parallel()
	b := decidedCrowd(t, 30) // 28 of ann, 28 of bob
	for _, tt := range []struct {
		viewer approvals.UserID
		mine   bool
		want   int
	}{
		{ann, false, 28},
		{bob, false, 56},
		{cara, false, 28},
		{guest, false, 0},
		{out, false, 0},
		{"", false, 0},
		{ann, true, 28},  // asked for them
		{bob, true, 28},  // asked for his own
		{cara, true, 28}, // answered ann's
	} {
		got, pages := b.history(approvals.HistoryQuery{Viewer: tt.viewer, Mine: tt.mine, Limit: 7})
		if len(got) != tt.want || pages > tt.want/7+1 {
			t.Errorf("%q, mine %v: %d requests in %d pages, want %d", tt.viewer, tt.mine, len(got), pages, tt.want)
		}
		for i, r := range got {
			if r.Status == approvals.RequestPending || i > 0 && r.ID >= got[i-1].ID {
				t.Errorf("%q: %s is %s, or out of order", tt.viewer, r.ID, r.Status)
			}
		}
	}
}

// TestHistoryWithoutDirectory counts what cannot be judged, and shows none of it.
func TestHistoryWithoutDirectory(t *testing.T) {
	t.Parallel()
	b := decidedCrowd(t, 5)
	b.people.failChannel("C1", errors.New("no answer"))
	page, err := b.service.History(t.Context(), approvals.HistoryQuery{Workspace: ws, Viewer: cara, Limit: 50})
	if err != nil || len(page.Requests) != 0 || page.Unjudged != 3 {
		t.Errorf("%d requests, %d unjudged, %v", len(page.Requests), page.Unjudged, err)
	}
}

// TestHistoryIsBounded looks at so many requests and no more, and says where to go on.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.waiting(1)
	const many = 12_000
	for from := 0; from < many; from += 4000 {
		err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
			for range 4000 {
				r := *all[0]
				r.ID, r.Status = approvals.NewRequestID(tx.Now()), approvals.RequestRejected
				if err := tx.PutRequest(&r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	q := approvals.HistoryQuery{Workspace: ws, Viewer: bob, Mine: true, Limit: 5}
	page, err := b.service.History(t.Context(), q)
	if err != nil || len(page.Requests) != 0 || page.Next == "" {
		t.Fatalf("%d requests, next %q, %v", len(page.Requests), page.Next, err)
	}
	q.After = page.Next
	if page, err = b.service.History(t.Context(), q); err != nil || page.Next != "" {
		t.Errorf("the second page goes on at %q, %v", page.Next, err)
	}
	q.After, q.Mine = "", false
	if page, err = b.service.History(t.Context(), q); err != nil || len(page.Requests) != 5 { // the control
		t.Errorf("%d requests, %v", len(page.Requests), err)
	}
}
