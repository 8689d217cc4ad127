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

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

// TestFailover kills the primary in the middle of many transactions and promotes its standby. Of a synchronous one
// everything is there of which Update said so; what failed is not there, and of a few it is not known. The store finds
// the new primary by itself, with and without target_session_attrs.
func TestFailover(t *testing.T) {
	t.Parallel()
	ifLong(t)
	for name, c := range map[string]struct {
		url   string
		parts func(t *testing.T, standby *pgdev.Cluster) // the standby says no more that it has what is committed
	}{
		"while it is written":                              {"", nil},
		"while it is written, target_session_attrs":        {"&target_session_attrs=read-write", nil},
		"while all wait for a standby that has nothing":    {"", func(t *testing.T, c *pgdev.Cluster) { c.Detach(t) }},
		"while all wait for a standby that has everything": {"&synchronous_commit=remote_apply", pausesReplay},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := pgdev.Own(t, pgdev.Options{})
			standby := primary.Standby(t)
			primary.RequireStandby(t)
			// The standby is named first: only the primary is taken.
			s := openStore(t, pgdev.URLOf("postgres", standby, primary)+c.url, Config{})
			told := failOver(t, s, primary, standby, func() {
				if c.parts != nil {
					c.parts(t, standby)
				}
			})
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
			if lost > 0 || failed+unknown == len(told) || c.parts != nil && unknown == 0 {
				t.Errorf("of %d transactions %d were acknowledged and lost, %d failed, of %d it is not known",
					len(told), lost, failed, unknown)
			}
			t.Logf("%d transactions, %d failed, of %d it is not known", len(told), failed, unknown)
		})
	}
}

// pausesReplay has the standby write down what it receives and not apply it, until it is promoted.
func pausesReplay(t *testing.T, standby *pgdev.Cluster) {
	standby.Exec(t, "postgres", "select pg_wal_replay_pause()")
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
	s := openStore(t, primary.URL("postgres")+"&statement_timeout=500",
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

// failOver writes through the store, has the primary crash in the middle, and returns what each writer was told. The
// crash comes some transactions after before, or when they wait for the standby.
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
	more := func(n int64, unless func() bool) {
		for target := done.Load() + n; done.Load() < target && !unless(); {
			time.Sleep(time.Millisecond)
		}
	}
	never := func() bool { return false }
	more(40, never)
	before()
	more(40, standsStill(t, primary))
	primary.Stop(true)
	standby.Promote(t)
	more(40, never)
	cancel()
	wg.Wait()
	return told
}

// standsStill reports whether a transaction waits for a standby to have it. Writers wait for it, and for each other.
func standsStill(t *testing.T, c *pgdev.Cluster) func() bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return func() (waits bool) {
		const one = "select exists (select from pg_stat_activity where wait_event = 'SyncRep')"
		if err := conn.QueryRow(t.Context(), one).Scan(&waits); err != nil {
			t.Error(err)
		}
		return waits
	}
}
