package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"countersign/approvals"
)

// crowd puts pending requests into the store: n of ann in C1, then n of bob in C2, alternating.
func crowd(t *testing.T, n int) *bench {
	t.Helper()
	b := newBench(t)
	b.people.channels["C2"] = []approvals.UserID{bob}
	all := b.waiting(2 * n)
	err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
		for i, r := range all {
			if i%2 == 1 {
				r.Place.Channel, r.Requester = "C2", bob
				if err := tx.PutRequest(r); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// walk pages through the list and returns what it holds, and how many pages that took.
func (b *bench) walk(q approvals.PendingQuery) (all []*approvals.Request, pages int) {
	b.Helper()
	q.Workspace = ws
	for {
		got, err := b.service.Pending(b.Context(), q)
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

func TestPendingShowsWhatTheViewerMaySee(t *testing.T) {
	t.Parallel()
	b := crowd(t, 30)
	b.policy.always(with(func(q *approvals.Requirement) { q.SelfApproval = false }))
	for _, tt := range []struct {
		viewer approvals.UserID
		mine   bool
		want   int
	}{
		{"", false, 60},
		{ann, false, 30},
		{bob, false, 60},
		{cara, false, 30},
		{guest, false, 0},
		{out, false, 0},
		{ann, true, 30},  // asked for them
		{bob, true, 60},  // decides ann's, asked for his own
		{cara, true, 30}, // decides ann's
		{guest, true, 0},
	} {
		got, pages := b.walk(approvals.PendingQuery{Viewer: tt.viewer, Mine: tt.mine, Limit: 7})
		if len(got) != tt.want || pages > tt.want/7+1 {
			t.Errorf("%q, mine %v: %d requests in %d pages, want %d", tt.viewer, tt.mine, len(got), pages, tt.want)
		}
		for i := 1; i < len(got); i++ {
			if got[i].ID <= got[i-1].ID {
				t.Errorf("%q: out of order", tt.viewer)
			}
		}
	}
}

func TestPendingPages(t *testing.T) {
	t.Parallel()
	b := crowd(t, 60)
	for _, tt := range []struct{ limit, want int }{{0, 20}, {5, 5}, {1000, 100}} {
		got, err := b.service.Pending(t.Context(), approvals.PendingQuery{Workspace: ws, Limit: tt.limit})
		page, next := got.Requests, got.Next
		if err != nil || len(page) != tt.want || next != page[len(page)-1].ID {
			t.Errorf("limit %d: %d, next %q, %v", tt.limit, len(page), next, err)
		}
	}
	if got, err := b.service.Pending(t.Context(), approvals.PendingQuery{Workspace: "T2"}); err != nil ||
		len(got.Requests) != 0 {
		t.Errorf("another workspace sees %d, %v", len(got.Requests), err)
	}
}

// TestPendingGoesOnBehindAnEmptyPage: somebody whose request stands behind ten thousand of others finds it.
func TestPendingGoesOnBehindAnEmptyPage(t *testing.T) {
	t.Parallel()
	b := crowd(t, 5050) // of ann's and of bob's each
	b.policy.always(with(func(q *approvals.Requirement) {
		askOf(q, approvals.Approvers{Users: []approvals.UserID{bob}})
	}))
	q := approvals.PendingQuery{Workspace: ws, Viewer: cara, Mine: true}
	got, err := b.service.Pending(t.Context(), q)
	if err != nil || len(got.Requests) != 0 || got.Next == "" {
		t.Fatalf("%d requests, next %q, %v", len(got.Requests), got.Next, err)
	}
	if all, pages := b.walk(q); len(all) != 0 || pages != 2 {
		t.Errorf("%d requests in %d pages", len(all), pages)
	}
}

// TestPendingAsksTheDirectoryOnce counts the questions that a page of many requests takes.
func TestPendingAsksTheDirectoryOnce(t *testing.T) {
	t.Parallel()
	b := crowd(t, 50)
	b.walk(approvals.PendingQuery{Viewer: cara, Limit: 100})
	if b.people.asked > 5 {
		t.Errorf("the directory was asked %d times", b.people.asked)
	}
}

func TestMaySee(t *testing.T) {
	t.Parallel()
	b, r := asked(t, with(func(q *approvals.Requirement) {
		askOf(q, approvals.Approvers{Users: []approvals.UserID{out, bob}})
	}))
	foreign := approvals.NewUserID("T2", "bob")
	b.people.persons[foreign] = approvals.Person{ID: foreign, Regular: true}
	b.people.channels["C1"] = append(b.people.channels["C1"], foreign)
	for u, want := range map[approvals.UserID]bool{
		ann: true, bob: true, cara: true, out: true, guest: false, user("ghost"): false, foreign: false,
	} {
		if err := b.service.MaySee(t.Context(), r, u); (err == nil) != want {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]approvals.Requirement{
		"1 member of this channel": {Seats: approvals.Quorum(1,
			approvals.Approvers{ChannelMembers: true}), SelfApproval: true},
		"2 members of this channel, not the requester": {Seats: approvals.Quorum(2,
			approvals.Approvers{ChannelMembers: true})},
		"1 of bob, group S1, not the requester": {Seats: approvals.Quorum(1,
			approvals.Approvers{Users: []approvals.UserID{bob}, Groups: []string{"S1"}})},
		"2 of bob, the members of this channel": {Seats: approvals.Quorum(2,
			approvals.Approvers{Users: []approvals.UserID{bob}, ChannelMembers: true}), SelfApproval: true},
		"nobody can approve this": {},
	} {
		if got := q.Describe(); got != want {
			t.Errorf("have %q, want %q", got, want)
		}
	}
}

// TestListTellsPoliciesOfEachRequester lists what two people asked for in one channel: the policy hears of each of
// them.
func TestListTellsPoliciesOfEachRequester(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	names := map[approvals.UserID]string{ann: "Ann", bob: "Bob"}
	for u, name := range names {
		b.people.put(approvals.Person{ID: u, Regular: true, Name: name})
	}
	b.policy.reads = []approvals.Fact{approvals.FactRequesterName}
	asked := 0
	b.policy.informed = func(r *approvals.Request, told approvals.PolicyFacts) (approvals.Requirement, error) {
		asked++
		if want := names[r.Requester]; told.RequesterName != want {
			t.Errorf("of what %s asked for the policy hears that %s did", want, told.RequesterName)
		}
		return lenient(), nil
	}
	step := b.step()
	for i, u := range []approvals.UserID{ann, bob} {
		at := place
		at.Thread = fmt.Sprint("7.", i)
		receipt, err := b.service.Submit(t.Context(), b.submission(u, at, "please"))
		if err != nil {
			t.Fatal(err)
		}
		if err := step(runJob(receipt.Run)); err != nil {
			t.Fatal(err)
		}
	}
	asked = 0
	got, err := b.service.Pending(t.Context(), approvals.PendingQuery{Workspace: ws, Viewer: cara, Mine: true})
	if err != nil || len(got.Requests) != 2 || asked != 2 {
		t.Errorf("%d requests, %v; the policy was asked %d times", len(got.Requests), err, asked)
	}
	b.stop()
}

// overtaken is a store in which something happens between two reads.
type overtaken struct {
	approvals.Store
	between func()
}

func (s *overtaken) View(ctx context.Context, fn func(approvals.Tx) error) error {
	err := s.Store.View(ctx, fn)
	if between := s.between; between != nil {
		s.between = nil
		between()
	}
	return err
}

// TestDecidedMeanwhileIsNotPending: a request that is settled, or deleted, while the list is made is not in it, and the
// page is filled with others.
func TestDecidedMeanwhileIsNotPending(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.waiting(6)
	all, _ := b.walk(approvals.PendingQuery{})
	st := &overtaken{Store: b.mortal}
	b.serve(st)
	st.between = func() {
		err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
			r := *all[1]
			r.Status = approvals.RequestRejected
			return errors.Join(tx.PutRequest(&r), tx.DeleteRequest(ws, all[2].ID))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := b.service.Pending(t.Context(), approvals.PendingQuery{Workspace: ws, Limit: 3})
	var ids, want []approvals.RequestID
	for _, r := range page.Requests {
		ids = append(ids, r.ID)
	}
	for _, i := range []int{0, 3, 4} {
		want = append(want, all[i].ID)
	}
	if err != nil || !slices.Equal(ids, want) || page.Next != all[4].ID {
		t.Errorf("%v, next %s, %v; want %v", ids, page.Next, err, want)
	}
}
