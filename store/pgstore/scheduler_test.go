package pgstore

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
	"countersign/store/storetest"
)

// jobHarness is a store whose jobs are found as the settings say.
func jobHarness(set jobSettings) func(t testing.TB) storetest.Harness {
	return func(t testing.TB) storetest.Harness {
		url := newURL(t)
		return storetest.Harness{Open: func() approvals.Store { return openJobs(t, url, set) }}
	}
}

func openJobs(t testing.TB, url string, set jobSettings) *Store {
	t.Helper()
	return openStore(t, url, Config{jobs: set})
}

// TestJobs runs the promises of jobs with everything that finds them.
func TestJobs(t *testing.T) { storetest.RunJobs(t, jobHarness(jobSettings{})) }

// TestRiverAlone has nobody but River tell of jobs: no sweep looks for them, and a store is not told of its own.
func TestRiverAlone(t *testing.T) {
	storetest.RunJobs(t, jobHarness(jobSettings{sweep: -1, noLocal: true}))
}

// TestSweepAlone has jobs found by nothing but a sweep, which is frequent so that the promises of time can be kept.
func TestSweepAlone(t *testing.T) {
	storetest.RunJobs(t, jobHarness(jobSettings{sweep: 200 * time.Millisecond, noLocal: true, noRiver: true}))
}

// TestNobodyFinds is the control of the two: without either no job is handled.
func TestNobodyFinds(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t), jobSettings{sweep: -1, noLocal: true, noRiver: true})
	handled := make(chan string, 1)
	defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
		handled <- j.ID
		return nil
	})()
	enqueueJobs(t, s, approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1"})
	select {
	case id := <-handled:
		t.Errorf("job %s was handled, and nothing can have found it", id)
	case <-time.After(time.Second):
	}
}

// dispatch hands jobs to handle until stop is called.
func dispatch(t testing.TB, s *Store, handle func(context.Context, approvals.Job) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Dispatch(ctx, handle) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("dispatch: %v", err)
		}
	}
}

// job is one of a run.
func job(id string) approvals.Job {
	return approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: id}
}

// await returns what arrives, or fails the test.
func await[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(*awaiting):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// TestGivesBack ends a Dispatch whose handler returns an error: another begins with the job although the claim would
// have held for minutes.
func TestGivesBack(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	set := jobSettings{lease: 4 * time.Minute}
	s, other := openJobs(t, url, set), openJobs(t, url, set)
	begun := make(chan string, 1)
	stop := dispatch(t, s, func(ctx context.Context, j approvals.Job) error {
		begun <- j.ID
		<-ctx.Done()
		return ctx.Err()
	})
	enqueueJobs(t, s, job("run_1"))
	await(t, "the handler", begun)
	again := make(chan approvals.Job, 1)
	defer dispatch(t, other, func(_ context.Context, j approvals.Job) error {
		again <- j
		return nil
	})()
	stop()
	if j := await(t, "the job that was given back", again); j.Attempts != 0 {
		t.Errorf("being interrupted counts as %d failed attempts", j.Attempts)
	}
}

func enqueueJobs(t testing.TB, s approvals.Store, jobs ...approvals.Job) {
	t.Helper()
	err := s.Update(context.WithoutCancel(t.Context()), func(tx approvals.Tx) error { return tx.Enqueue(jobs...) })
	if err != nil {
		t.Fatal(err)
	}
}

// TestFailedClaimsAreTold: an operator reads of every time that the server has refused to claim jobs, and the next
// attempt comes later each time, although the jobs can be read.
func TestFailedClaimsAreTold(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	s := openStore(t, newURL(t), Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, err := s.work.Exec(t.Context(), `create sequence refused;
		create function refuse() returns trigger language plpgsql
			as $$ begin raise 'no claim %', nextval('refused'); end $$;
		create trigger refuse before update of claim_owner on jobs for each row execute function refuse()`,
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	enqueueJobs(t, s, job("run_1"))
	stop := dispatch(t, s, func(context.Context, approvals.Job) error { return nil })
	for begun := time.Now(); !strings.Contains(log.String(), "times=4 "); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > *awaiting {
			t.Fatalf("no claim is told of that failed for the fourth time in a row:\n%s", &log)
		}
	}
	stop()
	var refused int
	if err := s.work.QueryRow(t.Context(), "select last_value from refused").Scan(&refused); err != nil {
		t.Fatal(err)
	}
	if told := strings.Count(log.String(), "no claim"); told != refused {
		t.Errorf("%d claims were refused, and of %d it is told", refused, told)
	}
}
