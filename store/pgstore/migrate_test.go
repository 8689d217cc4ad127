package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivermigrate"
)

// released has the SHA-256 of every migration that was merged. Such a file never changes: write another one.
var released = map[string]string{
	"0001_records.sql":          "af1cc012b5dc408c7113171efb0f50ef6eea41dbc741793579553842649d3092",
	"0002_jobs.sql":             "fb9b026c43248967a7dbe82e53980cf1455e7d097b54693b8002ab88c650189e",
	"0003_room_for_updates.sql": "efa73fda1d452cdeb4f89611c0c3004a804cab2a64de0bd844c9e529d2b298e0",
	"0004_replicas.sql":         "041beac803c2e3ec7cdc0e9f9720be379c3417e0f3e803844b640bc6ec11d4e9",
	"0005_pauses.sql":           "9c85ac6b2329284761654dff549622ab8c8bd444af7e6cf4507bd9b4aab3e2bb",
}

func TestMigrationsNeverChange(t *testing.T) {
	t.Parallel()
	list, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if released[m.name] != m.sum {
			t.Errorf("migration %s has the SHA-256 %s, and had %s when it was merged", m.name, m.sum, released[m.name])
		}
	}
	if len(list) != len(released) {
		t.Errorf("%d migrations, and %d were released", len(list), len(released))
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s := openStore(t, url, Config{})
	_, err := s.clicks.Exec(t.Context(), "insert into migrations (version, name, sha256, program) "+
		"values (999, 'later', '', 'countersign v9.9.9')")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), url, Config{})
	if !errors.Is(err, ErrNewer) {
		t.Errorf("a newer schema: %v, want ErrNewer", err)
	}
	for _, words := range []string{"nothing is lost", "countersign v9.9.9"} {
		if !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("it is not said: %q: %v", words, err)
		}
	}
}

// TestMigrateAtOnce has many processes open a store that is not there.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := Open(t.Context(), url, Config{})
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	wg.Wait()
}

// TestMigrateGoesOn: a process that was killed behind its first step, or in the middle of one, left what the next goes
// on with.
func TestMigrateGoesOn(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	list, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, url, Config{})
	if _, err := s.clicks.Exec(t.Context(), "drop schema "+s.schema+" cascade"); err != nil {
		t.Fatal(err)
	}
	for step := range list {
		for _, last := range []bool{false, true} { // one time it is interrupted before its end
			tx, err := s.clicks.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if done, err := s.migrateOnce(t.Context(), tx, list); err != nil || done {
				t.Fatalf("step %d: %v, %v", step+1, done, err)
			}
			if last {
				err = tx.Commit(t.Context())
			} else {
				err = tx.Conn().Close(t.Context())
				tx.Rollback(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := openStore(t, url, Config{}).Update(t.Context(), writeEffect("1")); err != nil {
		t.Error(err)
	}
}

// TestUpToDate: a start finds nothing to do exactly where all of our migrations and of River's were carried out, and
// then waits for nobody who migrates.
func TestUpToDate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		want   bool
	}{
		"nothing":               {"select", true},
		"a version to come":     {"delete from migrations where version >= 5", false},
		"River's last":          {"delete from river_migration where version >= 6", false},
		"one of River's":        {"delete from river_migration where version = 3", false},
		"another line of River": {"insert into river_migration (line, version) values ('other', 99)", true},
		"River's without lines": {"alter table river_migration drop column line", false},
		"no tables of River":    {"drop table river_migration", false},
		"a newer schema":        {"insert into migrations values (999, 'later', '', 'countersign v9.9.9')", false},
		"no tables of ours":     {"drop table migrations", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, newURL(t), Config{})
			if _, err := s.clicks.Exec(t.Context(), c.change); err != nil {
				t.Fatal(err)
			}
			if got, err := s.upToDate(t.Context()); got != c.want || err != nil {
				t.Errorf("up to date: %v, %v, want %v", got, err, c.want)
			}
		})
	}
	url := newURL(t)
	s := openStore(t, url, Config{})
	conn, err := s.work.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "select pg_advisory_lock($1)", s.migrationsLock()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again, err := Open(ctx, url, Config{})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// TestUpgradesHoldNobodyUp: while a backup reads the tables that an upgrade is to change, the replicas that are at work
// go on, and the upgrade comes after it.
func TestUpgradesHoldNobodyUp(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"jobs", "river_job"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			s := openJobs(t, url, jobSettings{})
			m, err := s.riverMigrator(t.Context(), s.work)
			if err == nil && table == "river_job" {
				_, err = m.Migrate(t.Context(), rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: 5})
			} else if err == nil {
				_, err = s.work.Exec(t.Context(), "delete from migrations where version = 5; "+
					"alter table jobs drop column paused", pgx.QueryExecModeSimpleProtocol)
			}
			if err != nil {
				t.Fatal(err)
			}
			backup, err := s.clicks.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer backup.Rollback(context.WithoutCancel(t.Context()))
			_, err = backup.Exec(t.Context(), "set local idle_in_transaction_session_timeout = 0; lock table "+table+
				" in access share mode", pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				t.Fatal(err)
			}
			opened := make(chan error, 1)
			go func() {
				s, err := Open(t.Context(), url, Config{})
				if err == nil {
					err = s.Close()
				}
				opened <- err
			}()
			for waits := false; !waits; {
				err := s.work.QueryRow(t.Context(), `select exists (select from pg_locks where not granted
					and relation = $1::text::regclass) from pg_sleep(0.01)`, table).Scan(&waits)
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err = s.work.Exec(t.Context(), "insert into "+table+" select * from "+table+" where false")
			if err != nil {
				t.Errorf("a replica at work is held up: %v", err)
			}
			if err := backup.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-opened; err != nil {
				t.Error(err)
			}
			if done, err := s.upToDate(t.Context()); err != nil || !done {
				t.Errorf("up to date: %v, %v", done, err)
			}
		})
	}
}
