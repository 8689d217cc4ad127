package approvals_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

// TestProgress: what a waiting request still needs, under the policy recorded with it and the one of now. One of each
// of two sets is asked, and Cara is in both.
func TestProgress(t *testing.T) {
	t.Parallel()
	seat := func(people ...approvals.UserID) approvals.Seat {
		return approvals.Seat{Approvers: approvals.Approvers{Users: people}}
	}
	seats := func(all ...approvals.Seat) []approvals.Seat { return all }
	asks := func(all ...approvals.Seat) approvals.Requirement {
		return with(func(q *approvals.Requirement) { q.Seats = all })
	}
	first, second := seat(bob, cara), seat(cara, out)
	for _, tt := range []struct {
		why           string
		votes         []approvals.UserID
		now           approvals.Requirement
		changed       bool
		left, leftNow []approvals.Seat
		uncounted     int
	}{
		{"nobody has answered", nil, asks(first, second), false, seats(first, second), seats(first, second), 0},
		{"Bob takes the first", []approvals.UserID{bob}, asks(first, second), false, seats(second), seats(second), 0},
		{"Cara takes either, and leaves the other", []approvals.UserID{cara}, asks(first, second), false,
			seats(seat(bob, out)), seats(seat(bob, out)), 0},
		{"the policy asks two more of the second", []approvals.UserID{bob}, asks(first, second, second), true,
			seats(second), seats(second, second), 0},
		{"the policy asks one other person", []approvals.UserID{cara}, asks(seat(out)), true, seats(seat(), seat(out)),
			seats(seat(out)), 1},
		{"the policy no longer asks who has not answered", []approvals.UserID{cara}, asks(seat(cara)), true,
			seats(seat()), nil, 0},
		{"nor anybody who was asked", nil, asks(seat(ann)), true, seats(seat(), seat()), seats(seat()), 0},
		{"only how long it holds differs", nil, with(func(q *approvals.Requirement) {
			q.Seats, q.ValidFor = []approvals.Seat{first, second}, 1
		}), false, seats(first, second), seats(first, second), 0},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.policy.always(asks(first, second))
			b.start()
			r := b.question(b.submit())
			for _, u := range tt.votes {
				b.must(r, u, approvals.Approve, "")
			}
			b.policy.always(tt.now)
			p, err := b.service.Progress(t.Context(), b.request(r.ID))
			if err != nil {
				t.Fatal(err)
			}
			if p.Changed != tt.changed || !sameSeats(p.Missing, tt.left) || !sameSeats(p.MissingNow, tt.leftNow) ||
				len(p.Uncounted) != tt.uncounted || p.Left() != max(len(tt.left), len(tt.leftNow)) {
				t.Errorf("%+v", p)
			}
		})
	}
}

func sameSeats(a, b []approvals.Seat) bool {
	describe := func(seats []approvals.Seat) string { return approvals.Requirement{Seats: seats}.Describe() }
	return len(a) == len(b) && describe(a) == describe(b)
}

// TestDecideTellsWhatHasChanged: whoever answers what the policy asks others for by now is told what is still missing,
// without another question to policy and directory.
func TestDecideTellsWhatHasChanged(t *testing.T) {
	t.Parallel()
	two := func(q *approvals.Requirement) { q.Seats = approvals.Quorum(2, q.Seats[0].Approvers) }
	three := func(q *approvals.Requirement) { q.Seats = approvals.Quorum(3, q.Seats[0].Approvers) }
	for why, now := range map[string]approvals.Requirement{
		"as recorded": with(two), "it asks one more now": with(three),
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.policy.always(with(two))
			b.start()
			r := b.question(b.submit())
			b.policy.always(now)
			decided := b.must(r, bob, approvals.Approve, "")
			want, err := b.service.Progress(t.Context(), b.request(r.ID))
			if err != nil {
				t.Fatal(err)
			}
			if want.Changed != (why != "as recorded") || want.Left() == 0 {
				t.Errorf("this is no test: %+v", want)
			}
			if !want.Changed {
				want = nil
			}
			if diff := cmp.Diff(want, decided.Progress); diff != "" {
				t.Errorf("(-Service.Progress +Decide):\n%s", diff)
			}
			if settled := b.must(r, cara, approvals.Reject, ""); settled.Progress != nil {
				t.Errorf("a settled request still needs %+v", settled.Progress)
			}
		})
	}
}
