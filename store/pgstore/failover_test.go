package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

// TestFailover kills the primary in the middle of many transactions and promotes its standby. Of a synchronous one
// everything is there of which Update said so; what failed is not there, and of a few it is not known. The store finds
// the new primary by itself, with and without target_session_attrs.
func TestFailover(t *testing.T) {
	t.Parallel()
	ifLong(t)
	for _, more := range []string{"", "&target_session_attrs=read-write"} {
		t.Run("url"+more, func(t *testing.T) {
			t.Parallel()
			primary := pgdev.Own(t, pgdev.Options{})
			standby := primary.Standby(t)
			primary.RequireStandby(t)
			// The standby is named first: only the primary is taken.
			s := openStore(t, pgdev.URLOf("postgres", standby, primary)+more, Config{})
			told := failOver(t, s, primary, standby, func() {})
			lost, failed, unknown := 0, 0, 0
			for id, err := range told {
				there := hasEffect(t, s, id)
				switch {
				case errors.Is(err, approvals.ErrCommitUnknown):
					unknown++
				case err != nil && there:
					t.Errorf("%s: told %v, and it is there", id, err)
				case err != nil:
					failed++
				case !there:
					lost++
				}
			}
			if lost > 0 || failed+unknown == len(told) {
				t.Errorf("of %d transactions %d were acknowledged and lost, %d failed", len(told), lost, failed)
			}
			t.Logf("%d transactions, %d failed, of %d it is not known", len(told), failed, unknown)
		})
	}
}

// TestFailoverToAsynchronous is the control: a standby that is behind loses what was acknowledged, which is why the
// store warns of it.
func TestFailoverToAsynchronous(t *testing.T) {
	t.Parallel()
	ifLong(t)
	primary := pgdev.Own(t, pgdev.Options{})
	standby := primary.Standby(t)
	var log lockedBuffer
	s := openStore(t, pgdev.URLOf("postgres", standby, primary),
		Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	const warning = "replicas are asynchronous"
	if !strings.Contains(log.String(), warning) {
		t.Errorf("nobody is warned of an asynchronous replica: %s", log.String())
	}
	told := failOver(t, s, primary, standby, func() { standby.Detach(t) })
	lost := 0
	for id, err := range told {
		if err == nil && !hasEffect(t, s, id) {
			lost++
		}
	}
	if lost == 0 {
		t.Error("nothing was lost: this control shows nothing")
	}
	t.Logf("%d transactions, %d acknowledged and lost", len(told), lost)
}

// TestSynchronousReplica is the control of the warning.
func TestSynchronousReplica(t *testing.T) {
	t.Parallel()
	ifLong(t)
	primary := pgdev.Own(t, pgdev.Options{})
	standby := primary.Standby(t)
	primary.RequireStandby(t)
	var log lockedBuffer
	s := openStore(t, primary.URL("postgres")+"&statement_timeout=200",
		Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if strings.Contains(log.String(), "asynchronous") {
		t.Errorf("it is warned of: %s", log.String())
	}
	if _, err := Open(t.Context(), standby.URL("postgres"), Config{}); !errors.Is(err, ErrStandby) {
		t.Errorf("a standby alone: %v", err)
	}
	// While the standby is away nothing is acknowledged, whatever statement_timeout says.
	standby.Stop(false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.Update(ctx, writeEffect("1")); err == nil {
		t.Error("a transaction was acknowledged that no standby has")
	}
	if err := standby.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), writeEffect("2")); err != nil {
		t.Error(err)
	}
}

func ifLong(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("needs -long: it starts servers of its own")
	}
}

// failOver writes through the store, has the primary crash in the middle, and returns what each writer was told.
func failOver(t *testing.T, s *Store, primary, standby *pgdev.Cluster, before func()) map[string]error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	told := map[string]error{}
	var done atomic.Int64
	var wg sync.WaitGroup
	for caller := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d_%d", caller, i)
				err := s.Update(t.Context(), writeEffect(id))
				mu.Lock()
				told[id] = err
				mu.Unlock()
				if err == nil {
					done.Add(1)
				}
			}
		})
	}
	more := func(n int64) {
		for target := done.Load() + n; done.Load() < target; {
			time.Sleep(time.Millisecond)
		}
	}
	more(40)
	before()
	more(40)
	primary.Stop(true)
	standby.Promote(t)
	more(40)
	cancel()
	wg.Wait()
	return told
}
