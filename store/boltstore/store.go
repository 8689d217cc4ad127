package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"countersign/approvals"
	"countersign/store/seal"
)

// Config configures a store. The zero value is usable.
type Config struct {
	// Logger receives what an operator should know; nil discards it.
	Logger *slog.Logger
	// Workers is how many handlers Dispatch runs at once for each group of each kind of job; 16 when zero.
	Workers int
	// ReadOnly opens the file for reading only. The file must be there, and nobody may have it open for writing.
	ReadOnly bool
	// AcceptOlder opens a file even when one of the two copies of its head is damaged. The newest commit may then be
	// missing, and with it the record that something was done: only for when there is no backup.
	AcceptOlder bool

	// Keys encrypt the file; nil: it is plain. A file that is encrypted opens only with all keys that it was written
	// with, and one that is plain only without any: Compact makes the one of the other.
	Keys *seal.Keyring

	// compacting opens a file only to copy it: also a plain one although there are keys, and without adding a key.
	compacting bool
	// moving opens a file into which another store is moved: an empty one, or half of one.
	moving bool

	reserve int64 // bytes of address space to reserve for the file; 0: what file_map.go says. Tests make it small.
}

// Store keeps the records in one file. It is safe for concurrent use.
type Store struct {
	cfg       Config
	path      string
	file      *os.File    // also db's
	opened    os.FileInfo // the file when it was opened: which one it is
	db        *bolt.DB
	commit    *committer
	hole      filler // used by one commit at a time
	acks      *acks
	crypt     *encryption // nil: the file is plain
	clock     *clock
	announced announcements
	wake      chan struct{} // 1 deep: jobs were enqueued

	mu          sync.Mutex
	closed      bool
	failed      error // why nothing can be trusted any more
	stuck       bool  // bbolt panicked and may hold its locks for ever
	dispatching bool
	active      sync.WaitGroup // transactions under way
}

var (
	_ approvals.Store     = (*Store)(nil)
	_ approvals.Exclusive = (*Store)(nil)
	_ approvals.Clock     = (*Store)(nil)
	_ approvals.Deferrer  = (*Store)(nil)
	_ approvals.Timed     = (*Store)(nil)
)

var (
	// ErrDamaged is returned when the file holds what it cannot hold: it was cut short or overwritten, or the disk is
	// bad. What to do is to restore a backup.
	ErrDamaged = errors.New("store file is damaged")
	// ErrFailed is returned by every call after the operating system reported that it could not keep what it was
	// given. Whether the last commit is on disk is then unknown until the store is opened again.
	ErrFailed = errors.New("store has failed and must be opened again")
	// ErrReadOnly is returned by Update and Dispatch of a store opened for reading only.
	ErrReadOnly = errors.New("store is open for reading only")
)

// Path returns the file's path.
func (s *Store) Path() string { return s.path }

// Exclusive returns true: while the store is open for writing, no other process has the file open.
func (s *Store) Exclusive() bool { return !s.cfg.ReadOnly }

// UncertainSince returns when the clock was last found to be wrong; see approvals.Clock.
func (s *Store) UncertainSince() time.Time { return s.clock.uncertainSince() }

// Now returns the store's time; see approvals.Timed.
func (s *Store) Now() time.Time { return s.clock.now() }

// View runs fn in a snapshot. A long one keeps the space of what it sees from being used again, and nothing else.
func (s *Store) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.view(ctx, func(t *tx) error { return fn(t) })
}

func (s *Store) view(ctx context.Context, fn func(*tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	btx, err := s.begin(false)
	if err != nil {
		return fmt.Errorf("read store %s: %w", s.path, err)
	}
	t := s.tx(btx, false)
	t.ctx = ctx
	defer s.rollback(btx)
	defer t.ended.Store(true)
	return fn(t)
}

// Update runs fn in a serializable transaction, which is on disk when Update returns nil. Callers that wait at the same
// time share one write to the disk. fn runs once, perhaps on another goroutine.
func (s *Store) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.update(ctx, func(t *tx) error { return fn(t) })
}

// UpdateSoon is Update that shares the write of the next Update, or begins a few milliseconds later.
func (s *Store) UpdateSoon(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.updateBy(ctx, s.commit.updateSoon, func(t *tx) error { return fn(t) })
}

func (s *Store) update(ctx context.Context, fn func(*tx) error) error {
	return s.updateBy(ctx, s.commit.update, fn)
}

func (s *Store) updateBy(
	ctx context.Context, run func(context.Context, func(*tx) error) error, fn func(*tx) error,
) error {
	if s.cfg.ReadOnly {
		return fmt.Errorf("write store %s: %w", s.path, ErrReadOnly)
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	return run(ctx, fn)
}

// Close waits for the transactions under way and releases the file. Closing again does nothing. It returns ErrGone
// where the file was taken away since the last commit: one that was deleted has a copy then, as if a commit had missed
// it.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.wakeUp() // ends Dispatch
	s.active.Wait()
	s.commit.aside.end()
	if s.stuck {
		return s.file.Close() // releases the lock; db.Close would wait for ever
	}
	return errors.Join(s.missed(), s.db.Close())
}

// missed is stillThere for the end of a store whose file no commit has missed.
func (s *Store) missed() error {
	if s.cfg.ReadOnly || s.cfg.compacting || s.usable() != nil { // Compact itself replaces the file
		return nil
	}
	err := s.stillThere(context.Background())
	if !errors.Is(err, ErrGone) {
		return nil
	}
	s.fail(err)
	return err
}

// enter admits one more transaction; the caller calls s.active.Done when it is over.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return approvals.ErrClosed
	case s.failed != nil:
		return s.failed
	}
	s.active.Add(1)
	return nil
}

// fail makes every later call return err.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
		s.cfg.Logger.Error("store has failed", "path", s.path, "error", err)
		s.wakeUp() // ends Dispatch
	}
}

func (s *Store) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *Store) begin(write bool) (btx *bolt.Tx, err error) {
	defer s.guard(&err)()
	return s.db.Begin(write)
}

func (s *Store) rollback(btx *bolt.Tx) {
	var err error
	defer s.guard(&err)()
	err = btx.Rollback()
}

// guard makes bbolt's panics and faults within the map errors of the function that defers guard's result. They leave
// bbolt's locks in an unknown state, so the store has failed then.
func (s *Store) guard(err *error) func() {
	onFault := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(onFault)
		if r := recover(); r != nil {
			*err = s.damaged(r)
			s.fail(*err)
			s.mu.Lock()
			s.stuck = true
			s.mu.Unlock()
		}
	}
}

func (s *Store) tx(btx *bolt.Tx, write bool) *tx {
	t := &tx{btx: btx, write: write, path: s.path, crypt: s.crypt}
	if !write {
		t.now = s.clock.now()
	} else {
		t.now, t.room = s.clock.next(), room{recent: new(recent)}
	}
	return t
}

// txIn returns a view that writes, in the room that the one before it has left.
func (s *Store) txIn(btx *bolt.Tx, r room) *tx {
	return &tx{btx: btx, write: true, path: s.path, crypt: s.crypt, now: s.clock.next(), room: r}
}

func (s *Store) damaged(detail any) error { return damaged(s.path, detail) }

func damaged(path string, detail any) error {
	return fmt.Errorf("%w: %s: %v%s", ErrDamaged, path, detail, MendDamaged)
}

// MendDamaged is how errors that wrap ErrDamaged end: what to do about a damaged file that is the store.
const MendDamaged = "; keep the file aside and put the newest backup in its place"

// commitFailed returns the error of a commit that ended with err. When only space was lacking, the store goes on;
// after anything else, above all after a failed sync, the kernel may have dropped what it was given while later syncs
// succeed.
func (s *Store) commitFailed(err error) error {
	if errors.Is(err, ErrDamaged) {
		return err
	}
	if outOfSpace(err) {
		return fmt.Errorf("write store %s: nothing was changed: %w", s.path, err)
	}
	s.fail(fmt.Errorf("%w: %s: %w", ErrFailed, s.path, err))
	return s.usable()
}

// outOfSpace reports whether bbolt gave up before it changed the head of the file, for want of space.
func outOfSpace(err error) bool {
	if errors.Is(err, bolterrors.ErrMaxSizeReached) || strings.HasPrefix(err.Error(), "file resize error") {
		return true
	}
	write, ok := errors.AsType[*fs.PathError](err)
	return ok && write.Op == "write" && full(err)
}

// full reports that the disk, or what this user or process may have of it, has no room left.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func (s *Store) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
