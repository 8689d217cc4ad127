package approvals_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
	"countersign/store/storetest"
)

// frozen is lenient, with a freeze that begins and ends so long from now.
func frozen(from, to time.Duration, except ...approvals.UserID) approvals.Requirement {
	now := time.Now()
	return with(func(q *approvals.Requirement) {
		q.Freeze = []approvals.Freeze{{
			From: now.Add(from), To: now.Add(to), Except: approvals.Approvers{Users: except},
		}}
	})
}

// TestFreeze lets nobody approve but those who are excepted, and everybody reject.
func TestFreeze(t *testing.T) {
	t.Parallel()
	during := frozen(-time.Minute, time.Hour, cara)
	t.Run("approve", func(t *testing.T) {
		t.Parallel()
		b, r := asked(t, during)
		_, err := b.decide(r, bob, approvals.Approve, "")
		until := during.Freeze[0].To.UTC().Format("2006-01-02 15:04 UTC")
		if err == nil || !strings.Contains(err.Error(), "frozen until "+until+" for all but cara") {
			t.Errorf("%v; want it to say until when", err)
		}
		b.refused(r, bob, approvals.AlwaysApprove, approvals.ErrUnauthorized)
		b.must(r, cara, approvals.Approve, "")
	})
	t.Run("reject", func(t *testing.T) {
		t.Parallel()
		b, r := asked(t, during)
		if got := b.must(r, bob, approvals.Reject, ""); got.Status != approvals.RequestRejected {
			t.Errorf("%s", got.Status)
		}
	})
	t.Run("before and behind", func(t *testing.T) {
		t.Parallel()
		for _, q := range []approvals.Requirement{frozen(time.Hour, 2*time.Hour), frozen(-time.Hour, -time.Second)} {
			b, r := asked(t, q)
			b.must(r, bob, approvals.Approve, "")
		}
	})
	t.Run("a freeze that the policy has got since", func(t *testing.T) {
		t.Parallel()
		b, r := asked(t, lenient())
		b.policy.always(during)
		b.refused(r, bob, approvals.Approve, approvals.ErrUnauthorized)
	})
	t.Run("a freeze that the policy has lost since", func(t *testing.T) {
		t.Parallel()
		b, r := asked(t, during)
		b.policy.always(lenient())
		b.refused(r, bob, approvals.Approve, approvals.ErrUnauthorized)
	})
	t.Run("votes of before", func(t *testing.T) {
		t.Parallel()
		two := with(func(q *approvals.Requirement) { quorum(q, 2) })
		b, r := asked(t, two)
		b.must(r, bob, approvals.Approve, "")
		b.policy.always(with(func(q *approvals.Requirement) { quorum(q, 2); q.Freeze = during.Freeze }))
		if got := b.must(r, cara, approvals.Approve, ""); got.Status != approvals.RequestPending {
			t.Fatalf("bob may not approve now, and counted: %s", got.Status)
		}
		b.policy.always(two)
		if got := b.must(r, bob, approvals.Approve, ""); got.Status != approvals.RequestApproved {
			t.Errorf("after the freeze: %s", got.Status)
		}
	})
	t.Run("nobody can tell who is excepted", func(t *testing.T) {
		t.Parallel()
		q := during
		q.Freeze = []approvals.Freeze{{From: q.Freeze[0].From, To: q.Freeze[0].To,
			Except: approvals.Approvers{Groups: []string{"S1"}}}}
		b, r := asked(t, q)
		b.people.setGroup("S1", bob)
		b.people.failGroups(approvals.ErrUnavailable)
		_, err := b.decide(r, bob, approvals.Approve, "")
		if err == nil {
			t.Error("approved")
		}
		b.people.failGroups(nil)
		b.must(r, bob, approvals.Approve, "")
	})
}

// TestFreezeAtTheIntent starts no call in a freeze that somebody approved before who is not excepted.
func TestFreezeAtTheIntent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by   approvals.UserID
		v    approvals.Verdict
		runs int
	}{
		"not excepted":         {bob, approvals.Approve, 0},
		"by a standing answer": {bob, approvals.AlwaysApprove, 0},
		"excepted":             {cara, approvals.Approve, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			first := b.question(id)
			b.must(first, c.by, c.v, "")
			b.policy.always(frozen(-time.Minute, time.Hour, cara))
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if got := b.effects.all(); len(got) != c.runs {
				t.Fatalf("ran %v", got)
			}
			if c.runs == 1 {
				return
			}
			if got := b.request(first.ID).Status; got != approvals.RequestStale {
				t.Errorf("the first request is %s", got)
			}
			b.must(b.question(id), cara, approvals.Approve, "")
			if err := step(runJob(id)); err != nil || len(b.effects.all()) != 1 {
				t.Errorf("%v, ran %v", err, b.effects.all())
			}
		})
	}
}

// TestFreezeForGood asks nobody what nobody can answer in time.
func TestFreezeForGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q     approvals.Requirement
		asked bool
	}{
		"longer than the request waits": {frozen(-time.Minute, 48*time.Hour), false},
		"not as long":                   {frozen(-time.Minute, 30*time.Minute), true},
		"with exceptions":               {frozen(-time.Minute, 48*time.Hour, cara), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.policy.always(c.q)
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if got := len(b.pending(id)) == 1; got != c.asked {
				t.Errorf("asked %v", got)
			}
		})
	}
}

// TestFreezeByTheStoresTime: this process's clock is hours behind the store's, by which a freeze has begun. Whoever a
// group excepts from it approves, and nobody else does.
func TestFreezeByTheStoresTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(t, 1, storetest.Chaos{})
		cl.bench.people.setGroup("S1", cara)
		q := frozen(3*time.Hour, 9*time.Hour)
		q.Freeze[0].Except, q.ExpiresIn = approvals.Approvers{Groups: []string{"S1"}}, 24*time.Hour
		cl.bench.policy.always(q)
		cl.bench.model(asks(call("c1", "pay", `{"amount":1}`)))
		if _, err := cl.service[0].Submit(t.Context(), cl.bench.submission(ann, place, "please")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		r := cl.pending()[0]
		cl.stopWorking()
		cl.data.Advance(5 * time.Hour)
		decide := func(by approvals.UserID) error {
			_, err := cl.service[0].Decide(t.Context(), approvals.Decision{
				Workspace: ws, Request: r.ID, By: by, Verdict: approvals.Approve, Digest: r.Digest, Via: "button",
			})
			return err
		}
		if err := decide(bob); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("bob: %v", err)
		}
		if _, err := cl.service[0].Progress(t.Context(), r); err != nil {
			t.Error(err)
		}
		if err := decide(cara); err != nil {
			t.Errorf("cara, who is excepted: %v", err)
		}
		cl.stop()
	})
}
