package pgstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
	"countersign/internal/gopool"
)

// Store keeps the records in one schema of a PostgreSQL database. It is safe for concurrent use, and so is the
// database: any number of stores, in any number of processes, may be open on it.
type Store struct {
	cfg    Config
	schema string
	clicks *pgxpool.Pool // for people who wait for an answer
	work   *pgxpool.Pool // for what handlers of jobs do, and all else that may wait; see isWork
	leave  func()        // of a move: gives up the lock of transfer_guard.go
	born   time.Time     // elapsed times count from here
	clock  *clock
	crypt  atomic.Pointer[encryption] // nil: the store is plain

	views   [2]queue     // for clicks and for work
	updates queue        // for both: two that write at once conflict
	batches *gopool.Pool // of the transactions that several share

	jobs dispatching

	id     []byte        // of this process among those that have the store open; see format.go
	reads  int           // the newest format that it can read
	later  []laterField  // what comes with formats that may not be in force yet
	format atomic.Int64  // in force
	others atomic.Int64  // processes that write to the store beside this one, by its last announcement
	over   chan struct{} // closed when a newer program has taken over
	counts counts

	mu       sync.Mutex
	closed   bool
	outdated error          // why the store is not to be used any more
	closing  chan struct{}  // closed by Close
	active   sync.WaitGroup // transactions under way, and what keeps the announcement
}

var (
	_ approvals.Store = (*Store)(nil)
	_ approvals.Clock = (*Store)(nil)
	_ approvals.Timed = (*Store)(nil)

	_ approvals.Replicated = (*Store)(nil)
)

var (
	// ErrReadOnly is returned by Update and Dispatch of a store opened for reading only.
	ErrReadOnly = errors.New("store is open for reading only")
	// ErrNewer is returned for a database that a newer version of the program has written to in a way that this one
	// does not understand. Nothing is lost.
	ErrNewer error = newerError("database was written by a newer version")
	// ErrNoRight is returned by Examine when the role may not write all of the program's tables.
	ErrNoRight = errors.New("the role may not write")
	// ErrNotOwner is returned by Examine when a start would change tables that are another role's.
	ErrNotOwner = errors.New("the role may not change tables of another one")
	// ErrNoSchema is returned by Examine when the schema is not there and cannot be made.
	ErrNoSchema = errors.New("there is nowhere to keep the records")
	// ErrDamaged is returned for a record that is not what was written.
	ErrDamaged = errors.New("record in the database is damaged")
)

// newerError is approvals.ErrNewer in the words of this package.
type newerError string

func (e newerError) Error() string { return string(e) }

// Is has errors.Is take it for approvals.ErrNewer.
func (e newerError) Is(target error) bool { return target == approvals.ErrNewer }

// Open connects to the database that url names, and brings its schema up to date unless cfg.ReadOnly is set; see the
// package for the URL's parameter schema. No error repeats the URL, which may hold a password.
func Open(ctx context.Context, url string, cfg Config) (*Store, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	pool, schema, err := readURL(url, cfg.ReadOnly)
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, schema: schema, born: time.Now(), closing: make(chan struct{}),
		over: make(chan struct{}), id: []byte(rand.Text()), batches: gopool.New(mostIdleBatches)}
	if err := s.open(ctx, pool); err != nil {
		s.closePools()
		s.batches.Close()
		return nil, fmt.Errorf("open PostgreSQL store: %w", explain(err))
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, pool *pgxpool.Config) error {
	if err := s.connect(ctx, pool); err != nil {
		return err
	}
	if err := s.alone(ctx); err != nil {
		return err
	}
	if err := s.unfilled(ctx); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.notHalf(ctx); err != nil {
		return err
	}
	if err := s.unlock(ctx); err != nil {
		return err
	}
	s.makeQueues()
	announced := make(chan error, 1)
	go func() { announced <- s.prepareFormat(ctx) }() // on another connection than inspect asks its questions on
	err := s.inspect(ctx)
	if err := cmp.Or(<-announced, err); err != nil {
		return err
	}
	if !s.cfg.ReadOnly {
		s.keepAnnounced(ctx)
	}
	return nil
}

// prepare brings the schema up to date, River's tables included, while no other process does. The lock is the
// session's, so it ends with a process that is killed. The steps use the pools, which may have one connection each.
func (s *Store) prepare(ctx context.Context) error {
	s.prepareJobs()
	if s.cfg.ReadOnly {
		return s.migrate(ctx)
	}
	if done, err := s.upToDate(ctx); err != nil || done {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, s.clicks.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer closeOwn(ctx, conn) // and with it the lock and the settings
	if _, err := conn.Exec(ctx, "set lock_timeout = 0; set statement_timeout = 0",
		pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", s.migrationsLock()); err != nil {
		return fmt.Errorf("wait for another process that migrates: %w", err)
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	return s.migrateRiver(ctx)
}

// migrationsLock is what a process locks that brings the schema up to date.
func (s *Store) migrationsLock() int64 {
	lock := fnv.New64a()
	lock.Write([]byte("countersign migrations " + s.schema))
	return int64(lock.Sum64())
}

// UncertainSince returns when the server's clock was last found to be wrong; see approvals.Clock.
func (s *Store) UncertainSince() time.Time { return s.clock.uncertainSince() }

// Close waits for the transactions under way and closes the connections. Closing again does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	if first {
		close(s.closing) // ends Dispatch
	}
	s.mu.Unlock()
	s.active.Wait()
	if first {
		s.jobs.told.Wait()
		s.closePools()
		s.batches.Close()
	}
	return nil
}

// enter admits one more transaction; the caller calls s.active.Done when it is over.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return approvals.ErrClosed
	}
	if s.outdated != nil {
		return s.outdated
	}
	s.active.Add(1)
	return nil
}

// Now returns the store's time without asking the server; see approvals.Timed.
func (s *Store) Now() time.Time { return s.clock.now(s.elapsed()) }

// elapsed is monotonic time since the store was opened.
func (s *Store) elapsed() time.Duration { return time.Since(s.born) }
