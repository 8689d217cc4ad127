package pgstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

// TestReminderRow compares the row that a transaction writes for River with what River's own call writes: they must not
// part when River changes its table.
func TestReminderRow(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t), jobSettings{})
	j := approvals.Job{Workspace: "T1", Kind: approvals.JobDeliver, ID: "a\x00b|ä"}
	enqueueJobs(t, s, j)
	client, err := river.NewClient(riverpgxv5.New(s.work), &river.Config{Schema: s.schema})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Insert(t.Context(), reminderOf([]jobKey{keyOf(&j)}), &river.InsertOpts{Queue: reminderQueue})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.work.Query(t.Context(), "select * from river_job order by id")
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToMap)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d rows, %v", len(list), err)
	}
	for _, row := range list {
		for _, c := range []string{"id", "created_at", "scheduled_at"} {
			delete(row, c)
		}
	}
	if d := cmp.Diff(list[1], list[0]); d != "" {
		t.Errorf("River's row (-) and ours (+):\n%s", d)
	}
}

// TestRiverInLongSchemas: River tells of jobs, and is done with reminders, under every name that a schema may have.
func TestRiverInLongSchemas(t *testing.T) {
	t.Parallel()
	newURL(t) // makes the database
	for _, length := range []int{longestHeard, longestHeard + 1, 48} {
		t.Run(strconv.Itoa(length), func(t *testing.T) {
			t.Parallel()
			s := openJobs(t, inSchema(storesDB.url, strings.Repeat("a", length)), jobSettings{sweep: -1, noLocal: true})
			enqueueJobs(t, s, job("run_1"))
			handled := make(chan string, 1)
			defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
				handled <- j.ID
				return nil
			})()
			await(t, "the job", handled)
			for begun, left := time.Now(), 1; left > 0; time.Sleep(50 * time.Millisecond) {
				err := s.work.QueryRow(t.Context(), "select count(*) from river_job where state <> 'completed'").
					Scan(&left)
				if err != nil || time.Since(begun) > *awaiting {
					t.Fatalf("%d reminders are left: %v", left, err)
				}
			}
		})
	}
}

// TestRiverUpgrade has River's tables of an earlier version: they are brought up to date by one of several stores that
// are opened at once, and come out as in a new schema.
func TestRiverUpgrade(t *testing.T) {
	t.Parallel()
	url, fresh := newURL(t), openJobs(t, newURL(t), jobSettings{})
	s := openJobs(t, url, jobSettings{})
	m, err := rivermigrate.New(riverpgxv5.New(s.work), &rivermigrate.Config{Schema: s.schema})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Migrate(t.Context(), rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: 5})
	if err != nil {
		t.Fatal(err)
	}
	var stores sync.WaitGroup
	for range 3 {
		stores.Go(func() { openJobs(t, url, jobSettings{}) })
	}
	stores.Wait()
	indexes := func(s *Store) []string {
		rows, err := s.work.Query(t.Context(), `select indexname::text from pg_indexes
			where schemaname = $1 and tablename = 'river_job' order by 1`, s.schema)
		if err != nil {
			t.Fatal(err)
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if d := cmp.Diff(indexes(fresh), indexes(s)); d != "" {
		t.Errorf("indexes of new tables (-) and of upgraded ones (+):\n%s", d)
	}
	if slices.ContainsFunc(indexes(s), isSearchIndex) {
		t.Errorf("the indexes for searches are there: %q", indexes(s))
	}
}

// often is a schedule.
type often struct{}

func (often) Next(t time.Time) time.Time { return t.Add(100 * time.Millisecond) }

// TestNothingIsLeftBesideABackup: a backup of the database is a transaction that lasts. What River does with its tables
// meanwhile leaves no index behind that nobody removes and each reminder is written to.
func TestNothingIsLeftBesideABackup(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t)+"&lock_timeout=200ms", jobSettings{})
	backup, err := s.clicks.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Rollback(context.WithoutCancel(t.Context()))
	_, err = backup.Exec(t.Context(), "set local idle_in_transaction_session_timeout = 0; select from format",
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	db, err := s.dispatchPool(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cfg := riverConfig(make(chan reminded))
	cfg.Schema, cfg.Logger, cfg.ReindexerSchedule = s.schema, quiet(ctx, s.jobs.log), often{}
	client, err := river.NewClient(riverpgxv5.New(db), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second) // its leader is elected, and begins within a second
	cancel()
	<-client.Stopped()
	var left []string
	err = s.work.QueryRow(t.Context(), `select array(select indexrelid::regclass::text from pg_index
		where not indisvalid and indrelid = 'river_job'::regclass)`).Scan(&left)
	if err != nil || len(left) > 0 {
		t.Errorf("left are %q: %v", left, err)
	}
}

// TestLeftIndexesAreDropped: what a start that was killed has left, the next one removes.
func TestLeftIndexesAreDropped(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s := openJobs(t, url, jobSettings{})
	_, err := s.work.Exec(t.Context(), `create index river_job_args_index on river_job using gin (args);
		create index river_job_kind_ccnew on river_job (kind);
		update pg_index set indisvalid = false where indexrelid = 'river_job_kind_ccnew'::regclass`,
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := leftIndexes(t.Context(), s.work); err != nil || len(left) != 2 {
		t.Fatalf("left are %q: %v", left, err)
	}
	openJobs(t, url, jobSettings{})
	if left, err := leftIndexes(t.Context(), s.work); err != nil || len(left) != 0 {
		t.Errorf("left are still %q: %v", left, err)
	}
}

// TestUpgradesArePatient: what changes River's tables may take longer than any statement else, as it does where they
// are large or somebody holds them.
func TestUpgradesArePatient(t *testing.T) {
	t.Parallel()
	const limit = 200 * time.Millisecond
	url := newURL(t)
	s := openJobs(t, url, jobSettings{})
	m, err := rivermigrate.New(riverpgxv5.New(s.work), &rivermigrate.Config{Schema: s.schema})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Migrate(t.Context(), rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{MaxSteps: 1})
	if err != nil {
		t.Fatal(err)
	}
	held, err := s.clicks.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback(context.WithoutCancel(t.Context()))
	_, err = held.Exec(t.Context(), "set local idle_in_transaction_session_timeout = 0; "+
		"lock table river_migration in share mode", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		s, err := Open(t.Context(), fmt.Sprintf("%s&statement_timeout=%d", url, limit.Milliseconds()), Config{})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	for waited := false; !waited; {
		select {
		case err := <-opened:
			t.Fatalf("opened while somebody held River's tables: %v", err)
		default:
		}
		err := s.work.QueryRow(t.Context(), `select exists (select from pg_locks join pg_stat_activity using (pid)
			where relation = 'river_migration'::regclass and not granted
			and query_start < clock_timestamp() - $1::interval) from pg_sleep(0.01)`, 3*limit).Scan(&waited)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := held.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if now, err := m.Validate(t.Context(), nil); err != nil || !now.OK {
		t.Errorf("River's tables are not up to date: %v, %v", now, err)
	}
}

// TestReminderKeys reads reminders back.
func TestReminderKeys(t *testing.T) {
	t.Parallel()
	keys := []jobKey{{"T1", "run", "run_1"}, {"", "\xff", "a.b\x00"}}
	if got := reminderOf(keys).keys(); !reflect.DeepEqual(got, keys) {
		t.Errorf("got %q, want %q", got, keys)
	}
	if got := reminderOf(make([]jobKey, maxRemindedKeys+1)).Keys; got != nil {
		t.Errorf("a reminder of too many jobs names %q", got)
	}
	if got := (reminder{Keys: []string{"VDE.cnVu.cnVuXzE", "broken"}}).keys(); got != nil {
		t.Errorf("a reminder that cannot be read names %q, not all jobs", got)
	}
}

// TestWithoutNotifications has the server's notifications swallowed on their way, as a pooler of transactions does.
// That is found out, and River finds jobs by looking.
func TestWithoutNotifications(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	direct := openJobs(t, url, jobSettings{})
	if heard, err := notifies(t.Context(), direct.work, direct.schema); err != nil || !heard {
		t.Fatalf("without anything between: notifications arrive: %v, %v", heard, err)
	}
	cluster := pgdev.Start(t)
	through := swallowNotifications(t, cluster.Socket())
	s := openJobs(t, strings.Replace(url, filepath.Dir(cluster.Socket()), through, 1),
		jobSettings{sweep: -1, noLocal: true})
	if heard, err := notifies(t.Context(), s.work, s.schema); err != nil || heard {
		t.Fatalf("where they are swallowed: notifications arrive: %v, %v", heard, err)
	}
	ids := make(chan string, 10)
	defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
		ids <- j.ID
		return nil
	})()
	for _, id := range []string{"run_1", "run_2"} {
		enqueueJobs(t, direct, job(id))
		if got := await(t, "the job", ids); got != id {
			t.Errorf("%s was handled, want %s", got, id)
		}
	}
}

// swallowNotifications passes on connections to a server, without the messages of type A, NotificationResponse. It
// returns the folder of its socket.
func swallowNotifications(t *testing.T, socket string) string {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, filepath.Base(socket)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				client.Close()
				return
			}
			go func() {
				io.Copy(server, client)
				server.Close()
			}()
			go func() {
				defer client.Close()
				var head [5]byte
				for {
					if _, err := io.ReadFull(server, head[:]); err != nil {
						return
					}
					body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
					if _, err := io.ReadFull(server, body); err != nil {
						return
					}
					if head[0] == 'A' {
						continue
					}
					if _, err := client.Write(append(head[:], body...)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return dir
}

// TestIdleReplicas counts what replicas without work ask of the server: each fewer than five queries a second. What is
// done with jobs does not stay in the tables.
func TestIdleReplicas(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: run with -long")
	}
	t.Parallel()
	cluster := pgdev.Own(t, pgdev.Options{Settings: map[string]string{
		"shared_preload_libraries": "pg_stat_statements",
	}})
	url := cluster.Database(t)
	const replicas = 3
	handled := make(chan string, 1000)
	var s *Store
	for range replicas {
		s = openStore(t, url, Config{})
		defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
			handled <- j.ID
			return nil
		})()
	}
	const jobs = 100
	for range jobs {
		enqueueJobs(t, s, job("run_1"))
		await(t, "a job", handled)
	}
	const settle, span = 45 * time.Second, 20 * time.Second // the first is more than River's cleaner needs
	time.Sleep(settle)
	left := func(table string) (n int) {
		if err := s.work.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if j, r := left("jobs"), left("river_job"); j != 0 || r != 0 {
		t.Errorf("%d jobs and %d of River's are left", j, r)
	}
	calls := func() (n int) {
		err := s.work.QueryRow(t.Context(), "select sum(calls)::int from statements.pg_stat_statements").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := s.work.Exec(t.Context(), "create schema statements"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.work.Exec(t.Context(), "create extension pg_stat_statements schema statements"); err != nil {
		t.Fatal(err)
	}
	before := calls()
	time.Sleep(span)
	each := float64(calls()-before) / span.Seconds() / replicas
	t.Logf("an idle replica asks %.1f queries a second", each)
	if each >= 5 {
		t.Errorf("an idle replica asks %.1f queries a second, want fewer than 5", each)
	}
}
