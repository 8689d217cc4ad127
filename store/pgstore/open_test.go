package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

// TestURLs: a URL that cannot be used is refused in words that do not hold it.
func TestURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://bot:s3cret@localhost:port/db", "postgres://bot:s3cret%zz@localhost/db", "mysql://bot:s3cret@h/db",
		"postgres://bot:s3cret@localhost/db?schema=public", "postgres://bot:s3cret@localhost/db?schema=A-b",
		"postgres://bot:s3cret@localhost/db?schema=", "postgres://bot:s3cret@localhost/db?schema=pg_x",
		"postgres://bot:s3cret@localhost/db?pool_max_conns=many", "postgres://bot:s3cret@localhost/db?sslmode=perhaps",
		"postgres://bot:s3cret@localhost/db?schema=a&schema=b",
	} {
		_, err := Open(t.Context(), url, Config{})
		if !errors.Is(err, ErrURL) || strings.Contains(fmt.Sprint(err), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for parameter, blamed := range map[string]bool{
		"sslmode=perhaps": true, "pool_max_conns=many": true, "schema=": false,
	} {
		_, err := PlaceOf("postgres://bot:s3cret@localhost/db?" + parameter)
		if strings.Contains(fmt.Sprint(err), "a parameter behind the ?") != blamed {
			t.Errorf("%s: %v", parameter, err)
		}
	}
	_, err := Open(t.Context(), "postgres://bot:s3cret@127.0.0.1:1/db?connect_timeout=2", Config{})
	if err == nil || strings.Contains(err.Error(), "s3cret") || errors.Is(err, ErrURL) {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestSchemas: two bots share a database and see nothing of each other.
func TestSchemas(t *testing.T) {
	t.Parallel()
	url := pgdev.Start(t).Database(t)
	a, b := openStore(t, url, Config{}), openStore(t, inSchema(url, "second"), Config{})
	if err := a.Update(t.Context(), writeEffect("1")); err != nil {
		t.Fatal(err)
	}
	if !hasEffect(t, a, "1") || hasEffect(t, b, "1") {
		t.Error("two schemas are not apart")
	}
}

// TestOneConnection: a store opens, writes and hands out jobs with one connection for those who click and one for work.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), *awaiting)
	defer cancel()
	s, err := Open(ctx, newURL(t)+"&pool_max_conns=1", Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	handled := make(chan string, 1)
	defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
		handled <- j.ID
		return s.Update(ctx, writeEffect("1"))
	})()
	enqueueJobs(t, s, job("run_1"))
	await(t, "the job", handled)
}

func TestStandbyRefused(t *testing.T) {
	t.Parallel()
	c := pgdev.Own(t, pgdev.Options{})
	openStore(t, c.URL("postgres"), Config{}).Close()
	c.Stop(false)
	if err := os.WriteFile(filepath.Join(filepath.Dir(c.Socket()), "data", "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), c.URL("postgres"), Config{}); !errors.Is(err, ErrStandby) {
		t.Errorf("a standby: %v", err)
	}
}

// TestPoolerThatForgets: where a session's settings get lost the store would be made in the schema public. It is
// refused, and nothing is made; nor does anybody wait for a pooler that refuses the settings to come to its senses.
func TestPoolerThatForgets(t *testing.T) {
	t.Parallel()
	p, url := through(t)
	p.Forgets.Store(true)
	_, err := Open(t.Context(), url, Config{})
	if !errors.Is(err, ErrPooler) {
		t.Errorf("settings that get lost: %v", err)
	}
	if _, err := Examine(t.Context(), url); !errors.Is(err, ErrPooler) {
		t.Errorf("examined: %v", err)
	}
	refusal := &pgconn.PgError{Code: "08P01", Message: "unsupported startup parameter: enable_sort"}
	if err := explain(refusal); !errors.Is(err, ErrPooler) || classify(&pgconn.ConnectError{}) == never {
		t.Errorf("settings that are refused: %v", err)
	}
	p.Forgets.Store(false) // control: it was that alone
	openStore(t, url, Config{})
}

func TestSynchronousCommit(t *testing.T) {
	t.Parallel()
	c := pgdev.Own(t, pgdev.Options{})
	var log bytes.Buffer
	openStore(t, c.URL("postgres"), Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "fsync=off") {
		t.Errorf("nobody is warned of fsync=off: %s", &log)
	}
	c.Exec(t, "postgres", "alter database postgres set synchronous_commit = off")
	if _, err := Open(t.Context(), c.URL("postgres"), Config{}); !errors.Is(err, ErrAsync) {
		t.Errorf("synchronous_commit = off: %v", err)
	}
}

// TestServerThatTakesNoWrites: where transactions only read unless they say otherwise, as a managed service sets it
// while its disk is nearly full, or an operator before a move, nothing is written all the same, and nothing looks as if
// the store were in order, neither to who opens it nor to who looks whether it answers. It goes on when that is over.
func TestServerThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	c := pgdev.Own(t, pgdev.Options{})
	url := c.URL("postgres")
	s := openStore(t, url, Config{})
	if err := s.Update(t.Context(), writeEffect("1")); err != nil {
		t.Fatal(err)
	}
	set := func(to string) { // sessions that are there follow
		c.Exec(t, "postgres", "alter system set default_transaction_read_only = "+to)
		c.Exec(t, "postgres", "select pg_reload_conf()")
		for _, pool := range []*pgxpool.Pool{s.clicks, s.work} {
			for is := ""; is != to && t.Context().Err() == nil; { // no new connection is made until it is over
				_ = pool.QueryRow(t.Context(), "select current_setting('default_transaction_read_only')").Scan(&is)
			}
		}
	}
	set("on")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.Update(ctx, writeEffect("2")); !errors.Is(err, ErrTakesNoWrites) {
		t.Errorf("written: %v", err)
	}
	looking, end := context.WithTimeout(t.Context(), time.Second)
	defer end()
	err := s.View(looking, func(tx approvals.Tx) error {
		_, err := tx.AuditWorkspaces()
		return err
	})
	if !errors.Is(err, ErrTakesNoWrites) {
		t.Error("the store answers as if nothing were wrong")
	}
	if _, err := Open(t.Context(), url, Config{}); !errors.Is(err, ErrTakesNoWrites) {
		t.Errorf("opened: %v", err)
	}
	if _, err := Examine(t.Context(), url); !errors.Is(err, ErrTakesNoWrites) {
		t.Errorf("examined: %v", err)
	}
	openStore(t, url, Config{ReadOnly: true}) // only what is written is in doubt
	set("off")
	if err := s.Update(t.Context(), writeEffect("3")); err != nil {
		t.Errorf("when it is over: %v", err)
	}
	if hasEffect(t, s, "2") {
		t.Error("what was refused is there")
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	if _, err := Open(t.Context(), url, Config{ReadOnly: true}); err == nil {
		t.Error("a store that is not there was opened for reading only")
	}
	openStore(t, url, Config{})
	s := openStore(t, url, Config{ReadOnly: true})
	if err := s.Update(t.Context(), writeEffect("1")); !errors.Is(err, ErrReadOnly) {
		t.Errorf("update: %v, want ErrReadOnly", err)
	}
	if hasEffect(t, s, "1") {
		t.Error("it was written")
	}
}

// TestViews: an analyst reads the views, and nothing else.
func TestViews(t *testing.T) {
	t.Parallel()
	c := pgdev.Start(t)
	url := c.Database(t)
	s := openStore(t, url, Config{})
	at := approvals.Decision{ID: "dec_1", By: "T1/U1", Verdict: approvals.Approve, Via: "button", Reason: "canary"}
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		r := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1", ID: "req\x00_1", Run: "run_1",
			Status: approvals.RequestApproved, Decisions: []approvals.Decision{at}, Note: "canary"}}
		r.Arguments = []byte(`{"memo":"canary"}`)
		run := &approvals.Run{Workspace: "T1", ID: "run_1", Input: "canary", Output: "canary", Failure: "canary"}
		return errors.Join(tx.PutRequest(r), tx.PutRun(run), writeEffect("1")(tx))
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.clicks.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	exec := func(sql string) error {
		_, err := conn.Exec(t.Context(), sql)
		return err
	}
	role := fmt.Sprintf("analyst_%d", schemas.Add(1))
	for _, sql := range []string{"create role " + role, "grant usage on schema countersign to " + role,
		"grant select on runs, requests, decisions, effects to " + role, "set role " + role} {
		if err := exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, view := range []string{"runs", "requests", "decisions", "effects"} {
		var n int
		var all string
		err := conn.QueryRow(t.Context(), "select count(*), string_agg(v::text, ' ') from "+view+" v").Scan(&n, &all)
		if err != nil || n != 1 || strings.Contains(all, "canary") {
			t.Errorf("%s: %d rows, %v: %s", view, n, err, all)
		}
	}
	for _, table := range []string{"run_records", "request_heads", "store_keys", "audit", "installations"} {
		if err := exec("select from " + table); !isCode(err, "42501") {
			t.Errorf("%s can be read by an analyst: %v", table, err)
		}
	}
	if err := exec("reset role"); err != nil {
		t.Error(err)
	}
}

// TestExamineUpgrade: a role that may write the tables, and not change them, as after a restore that made another role
// their owner, starts the program for as long as nothing of them is to be changed. Who examines them is told before.
func TestExamineUpgrade(t *testing.T) {
	t.Parallel()
	server := pgdev.Start(t)
	server.Exec(t, "postgres", "create database restored")
	url, role := server.URL("restored"), "writer"
	s := openStore(t, url, Config{})
	server.Exec(t, "restored", "create role "+role+" login; grant usage, create on schema countersign to "+role+"; "+
		"grant all on all tables in schema countersign to "+role+"; "+
		"grant all on all sequences in schema countersign to "+role)
	as := strings.Replace(url, "postgres@", role+"@", 1)
	if _, err := Examine(t.Context(), as); err != nil || as == url {
		t.Fatalf("%s, control: up to date: %v", as, err)
	}
	if err := openStore(t, as, Config{}).Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.work.Exec(t.Context(), "delete from migrations where version = 5; alter table jobs drop column paused",
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), as, Config{}); !isCode(err, "42501") {
		t.Errorf("control: a start: %v", err)
	}
	_, err = Examine(t.Context(), as)
	if !errors.Is(err, ErrNotOwner) || !strings.Contains(fmt.Sprint(err), "countersign.audit") {
		t.Errorf("examined: %v", err)
	}
	if e, err := Examine(t.Context(), url); err != nil || e.Version != 4 {
		t.Errorf("control: the owner: %v, %v", e, err)
	}
}
