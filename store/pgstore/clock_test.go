package pgstore

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

const unasked = time.Duration(-1)

// TestClock sets the server's clock and lets time pass here; each step says what the store's time is then.
func TestClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for _, c := range []struct {
		what  string
		steps [][3]time.Duration // the server's clock, monotonic time, and the store's time wanted, since the start;
		// of a step in which nobody asks the server its clock is unasked
		alert bool
	}{
		{"follows the server", [][3]time.Duration{{time.Second, time.Second, time.Second}, {3e9, 3e9, 3e9}}, false},
		{"follows a server that is set forward a little",
			[][3]time.Duration{{4 * time.Minute, 1e9, 4 * time.Minute}}, false},
		{"goes at half speed until the server has caught up",
			[][3]time.Duration{{60e9, 60e9, 60e9}, {40e9, 70e9, 65e9}, {80e9, 110e9, 80e9}}, false},
		{"goes on with monotonic time behind a jump",
			[][3]time.Duration{{1e9, 1e9, 1e9}, {time.Hour, 2e9, 2e9}, {time.Hour + 1e9, 3e9, 3e9}}, true},
		{"goes on with monotonic time behind a jump back",
			[][3]time.Duration{{time.Second, time.Second, time.Second}, {-time.Hour, 2e9, 2e9}}, true},
		{"never goes back for answers that overtake each other",
			[][3]time.Duration{{2e9, 2e9, 2e9}, {19e8, 19e8, 2e9}}, false},
		{"counts what passes while nobody asks", [][3]time.Duration{{61e9, 1e9, 61e9}, {unasked, 4e9, 64e9},
			{unasked, 5e9, 65e9}, {66e9, 6e9, 66e9}}, false},
		{"never goes back behind what it has counted",
			[][3]time.Duration{{1e9, 1e9, 1e9}, {unasked, 9e9, 9e9}, {8e9, 9e9, 9e9}, {9e9, 10e9, 9e9}}, false},
		{"counts at half speed until the server has caught up",
			[][3]time.Duration{{60e9, 60e9, 60e9}, {40e9, 60e9, 60e9}, {unasked, 70e9, 65e9}, {80e9, 100e9, 80e9},
				{unasked, 101e9, 81e9}}, false},
		{"counts behind a jump", [][3]time.Duration{{1e9, 1e9, 1e9}, {time.Hour, 2e9, 2e9}, {unasked, 3e9, 3e9}},
			true},
	} {
		var log bytes.Buffer
		clock := newClock(slog.New(slog.NewTextHandler(&log, nil)), start, 0)
		for i, s := range c.steps {
			got := time.Time{}
			if s[0] == unasked {
				got = clock.now(s[1])
			} else {
				got = clock.tell(at(s[0]), s[1], s[1])
			}
			if !got.Equal(at(s[2])) {
				t.Errorf("%s: step %d: %v after the start, want %v", c.what, i+1, got.Sub(start), s[2])
			}
		}
		since := clock.uncertainSince()
		if got := strings.Contains(log.String(), "ALERT"); got != c.alert || since.IsZero() == c.alert {
			t.Errorf("%s: alert %v, want %v; uncertain since %v", c.what, got, c.alert, since)
		}
	}
}

// TestClockBehindRecords opens a store whose newest record is of tomorrow.
func TestClockBehindRecords(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s := openStore(t, url, Config{})
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		return tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", Seq: 1, At: tx.Now().Add(24 * time.Hour)})
	})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	again := openStore(t, url, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "ALERT") || again.UncertainSince().IsZero() {
		t.Errorf("nobody is told: %s", &log)
	}
	if !s.UncertainSince().IsZero() {
		t.Error("the store that wrote it was sound")
	}
}

// TestClockBesideWriters opens a store again and again while another replica writes: what that writes meanwhile is
// newer than what the server's clock said first, and no sign of a clock that is wrong.
func TestClockBesideWriters(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s := openStore(t, url, Config{})
	stop := make(chan struct{})
	var writers sync.WaitGroup
	defer writers.Wait()
	defer close(stop)
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				err := s.Update(t.Context(), func(tx approvals.Tx) error {
					id := approvals.AuditID(fmt.Sprintf("aud_%d_%d", w, i))
					return tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", ID: id, At: tx.Now()})
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 50 {
		again := openStore(t, url, Config{ReadOnly: true})
		if since := again.UncertainSince(); !since.IsZero() {
			t.Fatalf("start %d holds the server's clock for wrong since %v", i+1, since)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// ahead has a connection take the server's clock to be five minutes less a second ahead, which is not too much to be
// believed.
func ahead(t *testing.T, conn *pgxpool.Conn) {
	t.Helper()
	_, err := conn.Exec(t.Context(), `create schema if not exists ahead;
		create or replace function ahead.now() returns timestamptz stable language sql
			as $$ select pg_catalog.now() + interval '299 seconds' $$;
		create or replace function ahead.clock_timestamp() returns timestamptz volatile language sql
			as $$ select pg_catalog.clock_timestamp() + interval '299 seconds' $$;
		select set_config('search_path', 'ahead, pg_catalog, ' || current_schema, false)`,
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
}

// TestClockIsTheServers: what counts is the server's clock, for the store's time as for when a job is due and until
// when it is claimed, whatever the clock of this process says.
func TestClockIsTheServers(t *testing.T) {
	t.Parallel()
	s := openJobs(t, pgdev.Start(t).Database(t), jobSettings{sweep: -1, noLocal: true, noRiver: true})
	conns := s.clicks.AcquireAllIdle(t.Context())
	conn := must(s.work.Acquire(t.Context()))
	defer conn.Release()
	for _, c := range append(conns, conn) {
		ahead(t, c)
	}
	for _, c := range conns {
		c.Release() // those are the ones that are taken next
	}
	var early, at, late time.Time
	clock := func() (now time.Time) {
		if err := conn.QueryRow(t.Context(), "select clock_timestamp()").Scan(&now); err != nil {
			t.Fatal(err)
		}
		return now
	}
	early = clock()
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		at = tx.Now()
		j := job("run_1")
		j.Due = at
		return tx.Enqueue(j)
	})
	if late = clock(); err != nil || at.Before(early.Truncate(time.Microsecond)) || at.After(late) {
		t.Errorf("the store's time is %v, and the server's was %v before and %v after: %v", at, early, late, err)
	}
	for _, tt := range []struct {
		name  string
		db    querier
		found int
	}{{"behind the time at which it is due", s.work, 0}, {"at that time", conn, 1}, {"a second time", conn, 0}} {
		c := claims{db: tt.db, owner: []byte("x"), lease: time.Second}
		claimed, err := c.claim(t.Context(), []jobKey{{"T1", approvals.JobRun, "run_1"}}, 1)
		if err != nil || len(claimed) != tt.found {
			t.Errorf("%s: %d jobs were claimed, want %d: %v", tt.name, len(claimed), tt.found, err)
		}
	}
}
