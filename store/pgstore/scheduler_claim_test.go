package pgstore

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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

// heldClaim is a database on which claims take until they are let through. One that is broken off meanwhile is carried
// out all the same, as a server does that has read it already.
type heldClaim struct {
	querier
	begun chan<- []string // the jobs' ids
	let   <-chan struct{}
}

func (q heldClaim) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if b.QueuedQueries[0].SQL != sqlClaimJob {
		return q.querier.SendBatch(ctx, b)
	}
	var ids []string
	again := new(pgx.Batch)
	for _, claim := range b.QueuedQueries {
		ids = append(ids, claim.Arguments[2].(string))
		again.Queue(claim.SQL, claim.Arguments...)
	}
	q.begun <- ids
	select {
	case <-q.let:
	case <-ctx.Done():
		q.querier.SendBatch(context.WithoutCancel(ctx), again).Close()
	}
	return q.querier.SendBatch(ctx, b)
}

// withHeldClaims runs a scheduler on a heldClaim, which nothing tells of jobs but their commits, until stop is called.
func withHeldClaims(t *testing.T, s *Store, let <-chan struct{}, handle func(context.Context, approvals.Job) error) (
	begun <-chan []string, stop func(),
) {
	t.Helper()
	db, err := s.dispatchPool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	claims := make(chan []string, 100)
	d := newScheduler(s, heldClaim{db, claims, let}, handle)
	s.jobs.listen(d.told)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		s.jobs.leave(d.told)
	})
	t.Cleanup(stop)
	return claims, stop
}

// TestClaimIsNotBrokenOff: a replica stops while a claim of its is on its way, and gives the job back: nobody else
// waits for a claim to lapse that nobody knows of.
func TestClaimIsNotBrokenOff(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t), jobSettings{sweep: -1, noRiver: true})
	let := make(chan struct{})
	begun, stop := withHeldClaims(t, s, let, func(ctx context.Context, _ approvals.Job) error { return ctx.Err() })
	enqueueJobs(t, s, job("run_1"))
	await(t, "the claim", begun)
	stopped := make(chan bool, 1)
	go func() {
		stop()
		stopped <- true
	}()
	select {
	case <-stopped: // it did not wait for the claim
	case <-time.After(50 * time.Millisecond):
	}
	close(let)
	stop()
	if _, got := claimAs(t, s, "another", 1, job("run_1")); len(got) != 1 {
		t.Error("the job is claimed, and nobody works on it")
	}
}

// TestClaimedOnceAtATime has a job found a second time while its claim is on its way, as by a sweep beside it.
func TestClaimedOnceAtATime(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t), jobSettings{sweep: -1, noRiver: true})
	let, handled := make(chan struct{}), make(chan string, 100)
	begun, stop := withHeldClaims(t, s, let, func(ctx context.Context, j approvals.Job) error {
		handled <- j.ID
		<-ctx.Done()
		return ctx.Err()
	})
	enqueueJobs(t, s, job("run_1"))
	claims := [][]string{await(t, "the claim", begun)}
	enqueueJobs(t, s, job("run_1"))
	close(let)
	await(t, "the first job", handled)
	enqueueJobs(t, s, job("run_2"))
	await(t, "the second job", handled)
	stop()
	for len(begun) > 0 {
		claims = append(claims, <-begun)
	}
	if want := [][]string{{"run_1"}, {"run_2"}}; !slices.EqualFunc(claims, want, slices.Equal) {
		t.Errorf("claims of %v, want %v", claims, want)
	}
}

// TestDamagedJob: a job that cannot be read fails, and those that are claimed together with it are handled.
func TestDamagedJob(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t), jobSettings{})
	enqueueJobs(t, s, job("run_1"), job("run_2"), job("run_3"))
	if _, err := s.work.Exec(t.Context(), `update jobs set place = '"here"' where id = 'run_2'`); err != nil {
		t.Fatal(err)
	}
	handled := make(chan string, 10)
	defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
		handled <- j.ID
		return nil
	})()
	for range 2 {
		if id := await(t, "the sound ones", handled); id == "run_2" {
			t.Error("the damaged one was handled")
		}
	}
	for begun, attempts := time.Now(), 0; attempts == 0; time.Sleep(10 * time.Millisecond) {
		err := s.work.QueryRow(t.Context(), "select attempts from jobs where id = 'run_2'").Scan(&attempts)
		if err != nil || time.Since(begun) > *awaiting {
			t.Fatalf("the damaged one: %v", err)
		}
	}
}
