package pgdev

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Cluster is a running server of which tests take databases and schemas.
type Cluster struct {
	*Server
	schemas schemas
}

var shared struct {
	sync.Mutex
	cluster *Cluster
	err     error
}

// Start returns the cluster that all tests of the process share. Without PostgreSQL's server the test is skipped, or
// fails where COUNTERSIGN_TEST_REQUIRE has the word postgres. TestMain calls Run, or StopShared at the end.
func Start(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		var s *Server
		if s, shared.err = NewServer(Options{}); shared.err == nil {
			shared.cluster = &Cluster{Server: s}
		}
	}
	need(t, shared.err)
	return shared.cluster
}

// StopShared ends the cluster that Start has started, if it has.
func StopShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.Remove()
		shared.cluster = nil
	}
}

// Run runs the tests of a package and calls StopShared. Tests with servers wait more than they compute: unless
// -parallel says otherwise, twice as many as usual run at the same time. The flags must have been parsed.
func Run(m *testing.M) (code int) {
	defer StopShared()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// StoreFlag defines the flag -store of a package's tests, which says where their stores are: bolt, in files, or
// postgres. Another word ends the run, which would otherwise seem to have tested what it names.
func StoreFlag() *string {
	kind := "bolt"
	flag.Func("store", "the store of the tests: bolt or postgres (default bolt)", func(word string) error {
		if word != "bolt" && word != "postgres" {
			return errors.New("want bolt or postgres")
		}
		kind = word
		return nil
	})
	return &kind
}

// Own returns a cluster of the test's own, which it may stop and start again.
func Own(t testing.TB, o Options) *Cluster {
	t.Helper()
	s, err := NewServer(o)
	need(t, err)
	t.Cleanup(s.Remove)
	return &Cluster{Server: s}
}

func need(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrAbsent) && !strings.Contains(os.Getenv("COUNTERSIGN_TEST_REQUIRE"), "postgres"):
		t.Skip("SKIPPED, NOTHING IS PROVEN: ", err)
	case err != nil:
		t.Fatal(err)
	}
}

var databases atomic.Int64

// Database makes a database of the test's own and returns its URL. It is dropped at the test's end.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	c.Exec(t, "postgres", "create database "+name)
	t.Cleanup(func() {
		// The context of the test has ended by now.
		c.exec(context.WithoutCancel(t.Context()), "postgres", "drop database "+name+" with (force)")
	})
	return c.URL(name)
}

// Exec runs statements in a database as its superuser.
func (c *Cluster) Exec(t testing.TB, database, sql string) {
	t.Helper()
	if err := c.exec(t.Context(), database, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (c *Cluster) exec(ctx context.Context, database, sql string) error {
	conn, err := pgx.Connect(ctx, c.URL(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}
