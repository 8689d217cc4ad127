package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"countersign/store/seal"
)

// ErrNoRoom is returned by Compact when the file system has too little room for the new file.
var ErrNoRoom = errors.New("too little room for a second file")

// CompactConfig configures Compact. The zero value keeps a plain file plain.
type CompactConfig struct {
	// Logger receives what an operator should know; nil discards it.
	Logger *slog.Logger
	// Keys encrypt the new file, under the first of them; nil: it is plain. An encrypted file needs all its keys.
	Keys *seal.Keyring
	// Progress, if set, is called now and then with how many of the records are copied.
	Progress func(done, total int)

	step func(name string) error                  // called after each step, by tests; an error ends the work there
	free func(*os.File) (bytes int64, known bool) // freeBytes, unless a test says otherwise
}

// Compacted is what Compact has done.
type Compacted struct {
	Before, After int64 // bytes of the file
	Records       int
	WasPlain      bool // the file was plain before
}

// CompactSuffix is what the name of the new file has more than the store's until it takes its place. A file of that
// name was left behind by a process that was killed; Compact removes it first.
const CompactSuffix = ".compact"

// Compact writes all records of the store into a new file and puts it in the place of the old one: without the space
// that deleted records have left, and encrypted under the first key, whatever the records were encrypted under, if they
// were. Nobody may have the store open meanwhile. The store is whole at every moment: until the new file is complete,
// on disk and checked, the old one stays as it is. What is damaged is not copied. A file of an older format is brought
// to this one first. Errors: those of Open and Check, fs.ErrNotExist when there is no file, ErrNoRoom, ErrGone when the
// file was moved away meanwhile, and ErrNewer for a file with parts that only a newer version knows.
func Compact(ctx context.Context, path string, cfg CompactConfig) (Compacted, error) {
	done, err := compact(ctx, path, cfg)
	if err != nil {
		return done, fmt.Errorf("compact store: %w", err)
	}
	return done, nil
}

func compact(ctx context.Context, path string, cfg CompactConfig) (done Compacted, err error) {
	path, err = filepath.EvalSymlinks(path) // a rename would replace the link
	if err != nil {
		return done, err
	}
	from, err := Open(path, Config{Logger: cfg.Logger, Keys: cfg.Keys, compacting: true})
	if err != nil {
		return done, err
	}
	defer from.Close() // the lock of the old file is held until the new one is in its place
	if cfg.free == nil {
		cfg.free = freeBytes
	}
	c := &compaction{CompactConfig: cfg, ctx: ctx, from: from, path: path + CompactSuffix}
	done.WasPlain = from.crypt == nil
	if err := c.prepare(&done); err != nil {
		return done, err
	}
	defer os.Remove(c.path) // nothing is there any more when all went well
	if err := c.write(); err != nil {
		return done, err
	}
	done.Records = c.copied
	return done, c.replace(path, &done)
}

// compaction is one Compact under way.
type compaction struct {
	CompactConfig
	ctx           context.Context // of the call of Compact
	from, to      *Store
	path          string // of the new file
	copied, total int    // records
}

// reached says that a step is done.
func (c *compaction) reached(step string) error {
	if c.step == nil {
		return nil
	}
	return c.step(step)
}

// prepare checks that the old file can be copied, and that there is room, before anything is made.
func (c *compaction) prepare(done *Compacted) error {
	info, err := c.from.file.Stat()
	if err != nil {
		return err
	}
	done.Before = info.Size()
	var live int64
	err = c.from.snapshot(c.ctx, func(btx *bolt.Tx, h head) error {
		if err := c.from.check(c.ctx, btx, h); err != nil {
			return err
		}
		if live, err = liveBytes(c.from.file, h); err != nil {
			return err
		}
		return c.survey(btx)
	})
	if err != nil {
		return err
	}
	need := live + int64(c.total)*(cipherOverhead-sumSize)
	if free, known := c.free(c.from.file); known && free < need {
		return fmt.Errorf("%w: %s needs about %d bytes more, and %d are free",
			ErrNoRoom, Folder(c.path), need, free)
	}
	return c.reached("checked")
}

// liveBytes returns how much of a file is in use.
func liveBytes(f *os.File, h head) (int64, error) {
	w := &walker{r: f, head: h, free: newBitset(h.high), seen: newBitset(h.high)}
	if err := w.freelist(); err != nil {
		return 0, err
	}
	return int64((h.high - w.free.count()) * h.pageSize), nil
}

// survey counts the records, and refuses what this program does not know: it could not tell how to copy it.
func (c *compaction) survey(btx *bolt.Tx) (err error) {
	defer c.from.guard(&err)()
	known := make(map[string]bool)
	for _, b := range buckets {
		known[string(b.name)] = true
	}
	return btx.ForEach(func(name []byte, b *bolt.Bucket) error {
		if !known[string(name)] {
			return fmt.Errorf("%w: it has %q, which only that version can copy", ErrNewer, name)
		}
		c.total += b.Stats().KeyN
		return c.ctx.Err()
	})
}

// write makes the new file, whole and on disk.
func (c *compaction) write() (err error) {
	if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c.to, err = Open(c.path, Config{Logger: c.Logger, Keys: c.Keys}); err != nil {
		return err
	}
	defer func() {
		if cerr := c.to.Close(); err == nil {
			err = cerr
		}
	}()
	if err := keepAccess(c.from.file, c.to.file); err != nil {
		return err
	}
	if err := c.copy(); err != nil {
		return err
	}
	if err := c.reached("copied"); err != nil {
		return err
	}
	if err := c.to.file.Sync(); err != nil {
		return err
	}
	if err := c.reached("synced"); err != nil {
		return err
	}
	return c.to.Check(c.ctx)
}

// replace puts the new file in the place of the old one.
func (c *compaction) replace(path string, done *Compacted) error {
	info, err := os.Stat(c.path)
	if err != nil {
		return err
	}
	done.After = info.Size()
	if err := c.reached("verified"); err != nil {
		return err
	}
	if current, err := inPlace(c.from.file, path); err != nil {
		return err
	} else if !current { // what is there now was not copied, and somebody may have it open
		return fmt.Errorf("%w: %s; nothing was changed there: see what is in its place, and run the command again",
			ErrGone, path)
	}
	if err := os.Rename(c.path, path); err != nil {
		return err
	}
	if err := c.reached("renamed"); err != nil {
		return err
	}
	return syncFolder(path)
}
