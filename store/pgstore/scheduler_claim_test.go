package pgstore

import (
	"slices"
	"testing"
	"time"

	"countersign/approvals"
)

// claimAs has the replica with the name claim the jobs, and returns the claims.
func claimAs(t testing.TB, s *Store, name string, first int64, jobs ...approvals.Job) (claims, []claimedJob) {
	t.Helper()
	c := claims{db: s.work, owner: []byte(name), lease: time.Minute}
	keys := make([]jobKey, len(jobs))
	for i := range jobs {
		keys[i] = keyOf(&jobs[i])
	}
	claimed, err := c.claim(t.Context(), keys, first)
	if err != nil {
		t.Fatal(err)
	}
	return c, claimed
}

// TestClaimsAreFenced: a claim holds against everybody until it lapses. Whoever had it then neither prolongs it nor
// acknowledges the job, be the next claim another replica's or a later one of the same.
func TestClaimsAreFenced(t *testing.T) {
	t.Parallel()
	for next, number := range map[string]int64{"other": 1, "same": 2} {
		s := openJobs(t, newURL(t), jobSettings{sweep: -1, noLocal: true, noRiver: true})
		enqueueJobs(t, s, job("run_1"))
		first, had := claimAs(t, s, "same", 1, job("run_1"))
		if len(had) != 1 {
			t.Fatalf("%d jobs were claimed", len(had))
		}
		if _, again := claimAs(t, s, next, number, job("run_1")); len(again) > 0 {
			t.Errorf("%s: claimed while a handler is at work", next)
		}
		lapse := "update jobs set claim_until = now() - interval '1 second'"
		if _, err := s.work.Exec(t.Context(), lapse); err != nil {
			t.Fatal(err)
		}
		second, has := claimAs(t, s, next, number, job("run_1"))
		if len(has) != 1 {
			t.Fatalf("%s: %d jobs were claimed when the claim had lapsed", next, len(has))
		}
		if ours, err := first.renew(t.Context(), had); err != nil || len(ours) > 0 {
			t.Errorf("%s: the claim that had lapsed was prolonged: %v, %v", next, ours, err)
		}
		for _, how := range []outcome{succeeded, failed, interrupted} {
			stay, err := first.end(t.Context(), []endedJob{{claimedJob: had[0], outcome: how}}, false)
			if err != nil || len(stay) > 0 || countJobs(t, s) != 1 {
				t.Errorf("%s: outcome %d of whoever had lost the job: %v, %v; %d jobs are left", next, how, stay, err,
					countJobs(t, s))
			}
		}
		if ours, err := second.renew(t.Context(), has); err != nil || !slices.Equal(ours, []int64{has[0].number}) {
			t.Errorf("%s: the claim that holds was not prolonged: %v, %v", next, ours, err)
		}
		_, err := second.end(t.Context(), []endedJob{{claimedJob: has[0]}}, false)
		if left := countJobs(t, s); err != nil || left > 0 {
			t.Errorf("control, %s: whoever has the job acknowledges it: %v; %d jobs are left", next, err, left)
		}
	}
}
