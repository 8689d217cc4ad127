package pgstore

import (
	"context"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/pgdev"
	"countersign/store/storetest"
)

// jobHarness is a store whose jobs are found as the settings say.
func jobHarness(set jobSettings) func(t testing.TB) storetest.Harness {
	return func(t testing.TB) storetest.Harness {
		url := pgdev.Start(t).Database(t)
		return storetest.Harness{Open: func() approvals.Store { return openJobs(t, url, set) }}
	}
}

func openJobs(t testing.TB, url string, set jobSettings) *Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := Open(ctx, url, Config{jobs: set, Logger: testLogger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return s
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
	s := openJobs(t, pgdev.Start(t).Database(t), jobSettings{sweep: -1, noLocal: true, noRiver: true})
	defer s.Close()
	handled := make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.Dispatch(ctx, func(_ context.Context, j approvals.Job) error {
			handled <- j.ID
			return nil
		})
	}()
	enqueueJobs(t, s, approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1"})
	select {
	case id := <-handled:
		t.Errorf("job %s was handled, and nothing can have found it", id)
	case <-time.After(time.Second):
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func enqueueJobs(t testing.TB, s approvals.Store, jobs ...approvals.Job) {
	t.Helper()
	err := s.Update(context.WithoutCancel(t.Context()), func(tx approvals.Tx) error { return tx.Enqueue(jobs...) })
	if err != nil {
		t.Fatal(err)
	}
}
