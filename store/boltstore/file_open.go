package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	defaultWorkers = 16
	lockPatience   = time.Second
	// checkBudget bounds how long Open looks at the structure of the file.
	checkBudget = 100 * time.Millisecond
	// A file grows at once by a growthShare-th of what it holds, and by leastGrowth at least: little, because the
	// unused end of a file can be cut off without being missed. A file cut in half is always noticed.
	leastGrowth = 8 << 10
	growthShare = 16
)

var (
	// ErrInUse is returned by Open when another process has the file open.
	ErrInUse = errors.New("store file is in use by another process")
	// ErrNotStore is returned by Open when the path holds something else.
	ErrNotStore = errors.New("not a store file")
	// ErrNewer is returned by Open when a newer version of the program has written the file, and by everything that
	// reads a record which a newer version has written. Nothing is damaged: the newer version can read it.
	ErrNewer = errors.New("store file was written by a newer version of this program")
	// ErrOlder is returned by Open when an older version of the program has written the file and this one cannot read
	// it any more.
	ErrOlder = errors.New("store file was written by an older version of this program")

	// ErrEmpty is ErrNotStore for a file in which the next start makes a store.
	ErrEmpty = fmt.Errorf("%w: it is empty", ErrNotStore)
)

// Open opens the store at path and creates it, readable by its owner alone, when it is not there; the folder must be
// there. Before anything is trusted the file's structure is checked as far as is possible in a fixed time; Check does
// the rest. It returns ErrInUse, ErrPlace, ErrNotStore, ErrNewer, ErrOlder or ErrDamaged when that is what is wrong
// with the file; all errors name the path.
func Open(path string, cfg Config) (*Store, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Workers <= 0 {
		cfg.Workers = defaultWorkers
	}
	f, err := openFile(path, cfg)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store: %w", err), f.Close())
	}
	s := &Store{
		cfg: cfg, path: path, file: f, opened: opened, clock: newClock(cfg.Logger),
		wake: make(chan struct{}, 1), acks: newAcks(),
	}
	s.commit = &committer{store: s}
	s.hole = filler{file: f, size: func() (int64, error) { return sizeOf(f) }}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

func sizeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// release closes the file after a failed start.
func (s *Store) release() error {
	if s.db != nil && !s.stuck {
		return s.db.Close()
	}
	if err := s.file.Close(); !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}

// openFile opens and locks the file. While it waits for the lock, Compact may put another file in the place of the one
// that it has opened: then it begins again, for nobody would find what is written to the old one.
func openFile(path string, cfg Config) (*os.File, error) {
	for {
		f, err := openLocked(path, cfg)
		if err != nil {
			return nil, err
		}
		current, err := inPlace(f, path)
		if current {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
}

// inPlace reports whether the path still names the file.
func inPlace(f *os.File, path string) (bool, error) {
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) { // deleted: it is made anew
		return false, nil
	}
	return err == nil && os.SameFile(opened, named), err
}

func openLocked(path string, cfg Config) (*os.File, error) {
	flag := os.O_RDWR | os.O_CREATE
	if cfg.ReadOnly {
		flag = os.O_RDONLY
	}
	info, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return nil, openError(path, cfg.ReadOnly, err)
	case err == nil && !info.Mode().IsRegular():
		return nil, irregular(path, info)
	case err == nil && info.Mode().Perm()&0o077 != 0:
		cfg.Logger.Warn("store file is open to others; chmod 600 is advised", "path", path, "mode", info.Mode().Perm())
	}
	if missing && !cfg.ReadOnly {
		if err := leftBehind(path); err != nil {
			return nil, err
		}
		if err := checkFolder(path); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, openError(path, cfg.ReadOnly, err)
	}
	if missing && !cfg.ReadOnly {
		if err := giveToFolder(Folder(target(path)), f); err != nil {
			cfg.Logger.Warn("the new store file belongs to the superuser, its folder to somebody else", "path", path,
				"error", err)
		}
	}
	ok, err := lock(f, !cfg.ReadOnly, lockPatience)
	switch {
	case err != nil:
		err = fmt.Errorf("lock store %s: %w", path, err)
	case !ok:
		err = inUse(path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func inUse(path string) error {
	return fmt.Errorf("open store %s: %w: the bot holds it while it runs, and commands started with the same "+
		"COUNTERSIGN_STORE talk to that bot; a second bot needs a file of its own", path, ErrInUse)
}

// syncFolder makes the new file's name durable: a synced file without a name would be lost in a power cut. A file
// that is still empty was perhaps made by a process that was killed before it came to this.
func syncFolder(path string) error {
	d, err := os.Open(Folder(target(path)))
	if err != nil {
		return fmt.Errorf("sync folder of store: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder of store: %w", err)
	}
	return nil
}

// start checks the file, hands it to bbolt and prepares the buckets.
func (s *Store) start() error {
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	size := info.Size()
	if size > 0 {
		fresh, err := unborn(s.file, size)
		if err == nil && fresh && !s.cfg.ReadOnly { // made again from the beginning
			err = s.file.Truncate(0)
		}
		if err != nil {
			return fmt.Errorf("open store %s: %w", s.path, err)
		}
		if fresh {
			size = 0
		}
	}
	if size > 0 {
		if err := s.inspect(size); err != nil {
			return err
		}
	} else if s.cfg.ReadOnly {
		return fmt.Errorf("open store %s: %w", s.path, ErrEmpty)
	} else if err := syncFolder(s.path); err != nil {
		return err
	}
	if err := s.openBolt(size); err != nil {
		return err
	}
	if err := s.checkFormat(); err != nil {
		return err
	}
	if !s.cfg.ReadOnly && !s.cfg.compacting {
		s.sweepBeside()
	}
	return s.checkClock()
}

// inspect looks at a file before it is mapped: a map that reaches beyond the file's end kills the process.
func (s *Store) inspect(size int64) error {
	both := readHeads(s.file)
	if both.foreign() {
		return foreignFile(s.path)
	}
	h, whole, err := both.newest()
	switch {
	case err != nil:
		return s.damaged(err)
	case whole != nil && !s.cfg.AcceptOlder:
		return s.damaged(fmt.Errorf("one of the two copies of its head is unreadable (%w), "+
			"the newest commit may be missing", whole))
	case whole != nil:
		s.cfg.Logger.Error("store opened although a copy of its head is damaged: the newest commit may be missing",
			"path", s.path)
	}
	if need := h.high * h.pageSize; uint64(size) < need {
		return s.damaged(fmt.Errorf("it has been cut short: %d bytes of %d", size, need))
	}
	w := &walker{r: s.file, head: h, deadline: time.Now().Add(checkBudget)}
	if err := w.walk(); err != nil {
		return s.damaged(err)
	}
	return nil
}

// openBolt gives bbolt the file that is open and locked already.
func (s *Store) openBolt(size int64) (err error) {
	defer s.guard(&err)()
	reserve := s.cfg.reserve
	if reserve == 0 {
		reserve = reservation(size, systemSize(s.file), func(n int64) bool { return mappable(s.file, n) })
	}
	s.db, err = bolt.Open(s.path, 0o600, &bolt.Options{
		Timeout:         lockPatience,
		ReadOnly:        s.cfg.ReadOnly,
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: int(reserve),
		NoStatistics:    true,
		OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return s.file, nil },
	})
	if err != nil {
		return fmt.Errorf("open store %s: %w", s.path, err)
	}
	s.db.AllocSize = leastGrowth
	return nil
}
