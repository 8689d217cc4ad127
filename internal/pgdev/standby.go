package pgdev

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// standbyName is what a standby calls itself to its primary.
const standbyName = "standby"

// NewStandby makes a standby of the server, from a base backup, and starts it. It is asynchronous until RequireStandby.
func (s *Server) NewStandby() (*Server, error) {
	basebackup, err := binary("pg_basebackup")
	if err != nil {
		return nil, err
	}
	dir, err := newFolder(s.account)
	if err != nil {
		return nil, err
	}
	b := &Server{dir: dir, opts: s.opts, account: s.account, postgres: s.postgres}
	cmd := exec.Command(basebackup, "-D", b.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync",
		"-d", "host="+s.dir+" user=postgres application_name="+standbyName)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: s.account}
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	if err := b.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return b, nil
}

// Standby makes a standby for the test; see NewStandby. It returns when that receives what the primary writes.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	s, err := c.NewStandby()
	need(t, err)
	t.Cleanup(s.Remove)
	c.awaitStandby(t, "async")
	return &Cluster{Server: s}
}

// RequireStandby has every commit of the server wait until its standby has it on disk.
func (c *Cluster) RequireStandby(t testing.TB) {
	t.Helper()
	c.Exec(t, "postgres", "alter system set synchronous_standby_names = '"+standbyName+"'")
	c.Exec(t, "postgres", "select pg_reload_conf()")
	c.awaitStandby(t, "sync")
}

// Detach has a standby receive nothing any more.
func (c *Cluster) Detach(t testing.TB) {
	t.Helper()
	c.Exec(t, "postgres", "alter system set primary_conninfo = ''")
	c.Exec(t, "postgres", "select pg_reload_conf()")
	c.await(t, "not exists (select from pg_stat_wal_receiver)")
}

// Promote makes a standby the primary, and returns when it takes writes.
func (c *Cluster) Promote(t testing.TB) {
	t.Helper()
	c.Exec(t, "postgres", "select pg_promote()")
	c.await(t, "not pg_is_in_recovery()")
}

func (c *Cluster) awaitStandby(t testing.TB, state string) {
	t.Helper()
	c.await(t, "exists (select from pg_stat_replication where state = 'streaming' and sync_state = '"+state+"')")
}

// await waits until the condition holds on the server.
func (c *Cluster) await(t testing.TB, condition string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for holds := false; !holds; {
		if err := conn.QueryRow(ctx, "select "+condition+" from pg_sleep(0.01)").Scan(&holds); err != nil {
			t.Fatalf("wait until %s: %v", condition, err)
		}
	}
}

// URLOf names a database on several servers: whoever of them is the primary.
func URLOf(database string, servers ...*Cluster) string {
	folders := make([]string, len(servers))
	for i, c := range servers {
		folders[i] = c.dir
	}
	return "postgres://postgres@localhost/" + database + "?host=" + strings.Join(folders, ",")
}
