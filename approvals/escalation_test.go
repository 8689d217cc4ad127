package approvals_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// escalating demands n of bob and cara, and lets dan answer too after so long.
func escalating(n int, after time.Duration) approvals.Requirement {
	return with(func(q *approvals.Requirement) {
		q.Seats = approvals.Quorum(n, approvals.Approvers{Users: []approvals.UserID{bob, cara}})
		q.Escalation = approvals.Escalation{
			After: after, To: approvals.Approvers{Users: []approvals.UserID{user("dan")}},
		}
	})
}

// withDan adds a third person to the bench, who is in no channel.
func withDan(b *bench) approvals.UserID {
	dan := user("dan")
	b.people.persons[dan] = approvals.Person{ID: dan, Regular: true}
	return dan
}

// TestEscalation lets the second set answer from its instant on, as one person each beside the first, and tells it
// once: in the trail, in the conversation, and on the card.
func TestEscalation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		dan := withDan(b)
		b.policy.always(escalating(2, 30*time.Minute))
		b.start()
		r := b.question(b.submit())
		time.Sleep(29 * time.Minute)
		b.refused(r, dan, approvals.Approve, approvals.ErrUnauthorized)
		told := len(b.surface.texts(approvals.NotifyEscalation))
		if told != 0 || b.count(approvals.AuditRequestEscalated) != 0 {
			t.Errorf("told too early: %d", told)
		}
		time.Sleep(2 * time.Minute)
		told = len(b.surface.texts(approvals.NotifyEscalation))
		if told != 1 || b.count(approvals.AuditRequestEscalated) != 1 {
			t.Errorf("told %d times", told)
		}
		half := b.must(r, dan, approvals.Approve, "")
		if half.Status != approvals.RequestPending || half.Escalated.IsZero() {
			t.Errorf("one of two: %s, escalated %s", half.Status, half.Escalated)
		}
		b.refused(r, dan, approvals.Approve, approvals.ErrConflict)
		if got := b.must(r, cara, approvals.Approve, ""); got.Status != approvals.RequestApproved {
			t.Errorf("dan and cara: %s", got.Status)
		}
		time.Sleep(time.Hour)
		if n := len(b.effects.all()); n != 1 {
			t.Errorf("%d effects", n)
		}
		b.trail()
		b.stop()
		b.store.Close()
	})
}

// TestEscalationCanDecline gives the second set the right to decline too, and survives a restart that lasts longer than
// the time until it.
func TestEscalationCanDecline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		dan := withDan(b)
		b.policy.always(escalating(1, 30*time.Minute))
		b.start()
		r := b.question(b.submit())
		b.reopen()
		time.Sleep(40 * time.Minute)
		b.start()
		time.Sleep(2 * time.Minute)
		if n := b.count(approvals.AuditRequestEscalated); n != 1 {
			t.Errorf("told %d times", n)
		}
		if got := b.must(r, dan, approvals.Reject, "no"); got.Status != approvals.RequestRejected {
			t.Errorf("it is %s", got.Status)
		}
		b.stop()
		b.store.Close()
	})
}

// TestEscalationIsCounted asks people only where enough can be reached before the deadline: the second set counts when
// its time comes before, or there is no deadline.
func TestEscalationIsCounted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration
		how   approvals.OnExpiry
		asks  bool
	}{
		"before the deadline": {59 * time.Minute, approvals.ExpiryReject, true},
		"at the deadline":     {time.Hour, approvals.ExpiryReject, false},
		"without a deadline":  {48 * time.Hour, approvals.ExpiryKeep, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			withDan(b)
			q := escalating(3, tt.after)
			q.OnExpiry = tt.how
			b.policy.always(q)
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if asks := len(b.pending(id)) == 1; asks != tt.asks {
				t.Errorf("people are asked: %v", asks)
			}
			b.stop()
		})
	}
}

// TestDeclinedBeforeTheEscalation waits for the second set where, with one of the first declining, the others are too
// few until then.
func TestDeclinedBeforeTheEscalation(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]approvals.RequestStatus{
		30 * time.Minute: approvals.RequestPending, 2 * time.Hour: approvals.RequestRejected,
	} {
		b := newBench(t)
		withDan(b)
		q := escalating(2, after)
		q.DenyQuorum = 2
		b.policy.always(q)
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.must(b.pending(id)[0], bob, approvals.Reject, ""); got.Status != want {
			t.Errorf("escalation after %s: it is %s, %q", after, got.Status, got.Note)
		}
		b.stop()
	}
}

// TestEscalationOfAChangedPolicy has the policy change while a request waits: each of the two lets the second set in at
// its own time, and both must be met.
func TestEscalationOfAChangedPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		dan := withDan(b)
		b.policy.always(escalating(1, 10*time.Minute))
		b.start()
		r := b.question(b.submit())
		b.policy.always(escalating(1, 20*time.Minute))
		time.Sleep(15 * time.Minute)
		b.refused(r, dan, approvals.Approve, approvals.ErrUnauthorized)
		time.Sleep(6 * time.Minute)
		if got := b.must(r, dan, approvals.Approve, ""); got.Status != approvals.RequestApproved {
			t.Errorf("it is %s", got.Status)
		}
		b.stop()
		b.store.Close()
	})
}

// TestEscalationSetByAWrongClock has a request be asked in what is now the future: its escalation counts from when
// that was found out.
func TestEscalationSetByAWrongClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		dan := withDan(b)
		q := escalating(1, 30*time.Minute)
		q.OnExpiry = approvals.ExpiryKeep
		b.policy.always(q)
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		b.stop()
		r := b.pending(id)[0]
		b.forge(r.ID, func(r *approvals.Request) {
			r.Created, r.NextAct = r.Created.AddDate(1, 0, 0), r.NextAct.AddDate(1, 0, 0)
		})
		b.start()
		time.Sleep(20 * time.Minute)
		b.refused(r, dan, approvals.Approve, approvals.ErrUnauthorized)
		time.Sleep(15 * time.Minute)
		b.must(r, dan, approvals.Approve, "")
		b.stop()
		b.store.Close()
	})
}

// TestVerifyFindsAForgedEscalation holds the record against the trail.
func TestVerifyFindsAForgedEscalation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	withDan(b)
	b.policy.always(escalating(1, 30*time.Minute))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.VerifyAudit(t.Context()); err != nil {
		t.Fatalf("control: %v", err)
	}
	b.forge(b.pending(id)[0].ID, func(r *approvals.Request) { r.Escalated = r.Created })
	_, err := b.service.VerifyAudit(t.Context())
	if forged, ok := errors.AsType[*approvals.AuditError](err); !ok || !strings.Contains(forged.Reason, "more people") {
		t.Errorf("have %v", err)
	}
	b.stop()
}

// TestDescribeEscalation says in words who else may answer, and when.
func TestDescribeEscalation(t *testing.T) {
	t.Parallel()
	const want = "1 of bob, cara; after 1h30m also dan"
	if got := escalating(1, 90*time.Minute).Describe(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEscalationCanCancel lets those who may answer since the escalation cancel the run, and not before.
func TestEscalationCanCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		dan := withDan(b)
		b.policy.always(escalating(1, 30*time.Minute))
		b.start()
		r := b.question(b.submit())
		time.Sleep(29 * time.Minute)
		if _, err := b.service.CancelRun(b.Context(), ws, r.Run, dan, ""); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("before: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := b.service.CancelRun(b.Context(), ws, r.Run, dan, ""); err != nil {
			t.Error(err)
		}
		b.stop()
		b.store.Close()
	})
}

// late is a store whose next write waits.
type late struct {
	approvals.Store
	by atomic.Int64
}

func (s *late) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	time.Sleep(time.Duration(s.by.Swap(0)))
	return s.Store.Update(ctx, fn)
}

// TestEscalationThatComesDueMeanwhile calls the people whom it lets answer also where its instant comes while the timer
// is at work.
func TestEscalationThatComesDueMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		dan := withDan(b)
		b.policy.always(escalating(1, 30*time.Minute))
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.pending(id)[0]
		slow := &late{Store: b.mortal}
		b.serve(slow)
		time.Sleep(30*time.Minute - time.Second)
		slow.by.Store(int64(2 * time.Second))
		if err := b.service.Expire(t.Context(), ws, r.ID); err != nil {
			t.Fatal(err)
		}
		if err := b.service.Expire(t.Context(), ws, r.ID); err != nil {
			t.Fatal(err)
		}
		got := b.request(r.ID)
		if got.Escalated.IsZero() || !slices.Contains(got.Called.Copies, approvals.CopyFor(dan)) {
			t.Errorf("escalated at %s; called are %+v", got.Escalated, got.Called)
		}
		b.stop()
		b.store.Close()
	})
}
