package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

// TestStats makes happen what is counted, each once at least, and nothing else.
func TestStats(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s, other := openStore(t, url+"&pool_max_conns=2", Config{}), openStore(t, url, Config{})
	if err := s.Update(t.Context(), writeEffect("1")); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if st.Pools["clicks"].Max != 2 || st.Pools["work"].Max != 2 || st.Pools["clicks"].InUse != 0 ||
		st.Retries["conflict"]+st.Retries["server"]+st.CommitsUnknown+st.Sweeps != 0 || st.Format != formatNow {
		t.Errorf("before anything has happened: %+v", st)
	}
	runs := 0
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		e, err := tx.Effect("T1", "run_1", "1")
		if err != nil {
			return err
		}
		if runs++; runs == 1 {
			if err := other.Update(t.Context(), writeEffect("1")); err != nil {
				return err
			}
		}
		if used := s.Stats().Pools["clicks"]; used.InUse != 1 {
			t.Errorf("in a transaction: %+v", used)
		}
		e.Attempt++
		return tx.PutEffect(e)
	})
	if err != nil || s.Stats().Retries["conflict"] != 1 {
		t.Errorf("after a conflict: %v, %+v", err, s.Stats().Retries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	began, release := make(chan bool, 3), make(chan bool)
	for range 3 { // three, and two connections
		go s.View(ctx, func(tx approvals.Tx) error {
			began <- true
			<-release
			return nil
		})
	}
	<-began
	<-began
	release <- true
	<-began
	cancel()
	close(release)
	if used := s.Stats().Pools["clicks"]; used.Waits == 0 {
		t.Errorf("after a wait: %+v", used)
	}
	stop := dispatch(t, s, func(context.Context, approvals.Job) error { return approvals.ErrNewer })
	enqueueJobs(t, s, job("run_1"))
	for st := s.Stats(); st.JobsLeft == 0 || st.Sweeps == 0 || st.Pools["jobs"].Max == 0; st = s.Stats() {
		time.Sleep(time.Millisecond)
	}
	stop()
}

// TestStatsOfUnknownCommits cuts a commit of which nothing can be found out.
func TestStatsOfUnknownCommits(t *testing.T) {
	t.Parallel()
	p, url := through(t)
	s := openStore(t, url, Config{blind: true})
	p.Next.Store(pgdev.CutAfter)
	if err := s.Update(t.Context(), writeEffect("1")); !errors.Is(err, approvals.ErrCommitUnknown) {
		t.Fatal(err)
	}
	if n := s.Stats().CommitsUnknown; n != 1 {
		t.Errorf("counted %d", n)
	}
}
