package boltstore

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/approvals"
	"countersign/store/transfer"
)

const (
	format          = 3 // of a plain file; raised when another version of the program could misread it
	formatEncrypted = 4 // of a file that is the same but for its values, which are encrypted
	oldestFormat    = 2 // that can be migrated
)

// The records of the bucket meta.
var (
	formatKey    = []byte("format")    // the format of the file, as text in every version
	migrationKey = []byte("migration") // while the file is being brought to this format: how far that has come
)

// checkFormat reads the format of the file, makes the buckets in a file that has none, and brings an older file to this
// format.
func (s *Store) checkFormat() error {
	has, err := s.readFormat()
	if err != nil {
		return err
	}
	if err := s.bringUp(has); err != nil {
		return err
	}
	return s.useFirstKey()
}

// readFormat finds out what the file is, and prepares to read its values.
func (s *Store) readFormat() (has found, err error) {
	btx, err := s.begin(false)
	if err != nil {
		return has, err
	}
	defer s.rollback(btx)
	t := s.tx(btx, false)
	if has, err = t.format(); err != nil {
		return has, err
	}
	if has.moving && !s.cfg.moving {
		return has, fmt.Errorf("open store %s: %w: run the same \"countersign migrate\" again, which goes on where it "+
			"was; until it is done, the store it comes from is the one to use", s.path, transfer.ErrHalf)
	}
	if s.cfg.moving && !has.moving {
		if err := t.unfilled(); err != nil {
			return has, err
		}
	}
	return has, s.unlock(t, has)
}

// unfilled refuses a file that holds records which no move has put there, of whatever format and under whatever keys,
// before anything in it is changed: whoever it belongs to goes on with it as it is.
func (t *tx) unfilled() (err error) {
	defer t.end(t.begin(), &err)
	return t.btx.ForEach(func(name []byte, b *bolt.Bucket) error {
		if k, _ := b.Cursor().First(); k == nil || string(name) == string(bucketMeta) {
			return nil
		}
		return fmt.Errorf("open store %s: %w", t.path, transfer.ErrNotEmpty)
	})
}

// bringUp makes what a new or older file lacks.
func (s *Store) bringUp(has found) error {
	switch {
	case has.version == format && !has.migrating && len(has.missing) == 0:
		return nil
	case s.cfg.ReadOnly && has.version == 0:
		return fmt.Errorf("open store %s: %w", s.path, ErrEmpty)
	case s.cfg.ReadOnly && (has.migrating || has.version < format):
		return fmt.Errorf(
			"open store %s: %w: start the bot once, which brings the file up to date; it cannot be read before",
			s.path, ErrOlder)
	case s.cfg.ReadOnly:
		return nil // what is missing reads as empty
	case has.version == 0:
		return s.prepare()
	case has.version == format && !has.migrating:
		return s.addBuckets(has.missing)
	}
	return s.migrate(has)
}

// found is what a file says of itself.
type found struct {
	version   int  // 0: the file is new; the format without encryption of an encrypted one
	encrypted bool // its values are
	migrating bool
	moving    bool     // another store is being moved into it
	missing   [][]byte // buckets that were added to the format since
}

// format finds out what the file is, and checks that this program can read the records, or migrate them.
func (t *tx) format() (has found, err error) {
	defer t.end(t.begin(), &err)
	if first, _ := t.btx.Cursor().First(); first == nil {
		return found{}, nil
	}
	stored := t.value(bucketMeta, formatKey)
	if stored == nil {
		return has, fmt.Errorf("open store %s: %w: it is a bbolt file of another program", t.path, ErrNotStore)
	}
	text, err := t.raw(bucketMeta, formatKey, stored)
	if err != nil {
		return has, err
	}
	has.version, err = strconv.Atoi(string(text))
	if has.version == formatEncrypted {
		has.version, has.encrypted = format, true
	}
	if has.version == formatMoving {
		has.version, has.moving, has.encrypted = format, true, t.has(bucketMeta, encryptionKey)
	}
	switch {
	case err != nil:
		return has, t.damaged(fmt.Errorf("the number of its format: %w", err))
	case has.version > format:
		return has, fmt.Errorf(
			"open store %s: %w: its format is %d, this one reads %d; nothing is lost: upgrade the program",
			t.path, ErrNewer, has.version, formatEncrypted)
	case has.version < oldestFormat:
		return has, fmt.Errorf("open store %s: %w: its format is %d, this one reads %d; "+
			"go on with the program that wrote it, or name a new file in COUNTERSIGN_STORE",
			t.path, ErrOlder, has.version, format)
	case has.version < format:
		return has, nil
	}
	has.migrating = t.has(bucketMeta, migrationKey)
	has.missing, err = t.missing(buckets)
	return has, err
}

// missing returns the buckets that the file lacks although this program knows them: those which were added to the
// format. That any other is missing is damage.
func (t *tx) missing(known []bucketInfo) (names [][]byte, err error) {
	for _, b := range known {
		if t.btx.Bucket(b.name) != nil {
			continue
		}
		if !b.added {
			return nil, t.damaged(fmt.Errorf("%s is missing", b.name))
		}
		names = append(names, b.name)
	}
	return names, nil
}

// prepare makes the buckets of a new file.
func (s *Store) prepare() error {
	var names [][]byte
	for _, b := range buckets {
		names = append(names, b.name)
	}
	return s.change(func(t *tx) error {
		if err := t.create(names); err != nil {
			return err
		}
		if s.cfg.Keys == nil {
			return t.putFormat(format)
		}
		return errors.Join(t.putFormat(formatEncrypted), s.encrypt(t))
	})
}

// addBuckets makes the buckets that were added to the format since the file was made.
func (s *Store) addBuckets(names [][]byte) error {
	return s.change(func(t *tx) error { return t.create(names) })
}

func (t *tx) create(names [][]byte) error {
	for _, name := range names {
		if _, err := t.btx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

// change runs fn in a transaction of its own, while the store is being opened.
func (s *Store) change(fn func(t *tx) error) (err error) {
	defer s.guard(&err)()
	err = s.db.Update(func(btx *bolt.Tx) error { return fn(s.tx(btx, true)) })
	if err != nil {
		return fmt.Errorf("prepare store %s: %w", s.path, err)
	}
	return nil
}

// putFormat writes the format of the file.
func (t *tx) putFormat(version int) error {
	return t.putRaw(bucketMeta, formatKey, strconv.AppendInt(nil, int64(version), 10))
}

// clockJitter is by how much the wall clock may be behind the newest record without an alert: clocks are put right by
// as much all the time.
const clockJitter = time.Second

// checkClock raises an alert when the newest entry of an audit trail is newer than the wall clock. What is planned for
// later is due then.
func (s *Store) checkClock() error {
	behind, err := s.clockBehind()
	if err != nil || !behind || s.cfg.ReadOnly || s.cfg.compacting || s.cfg.moving {
		return err
	}
	return s.dueNow()
}

func (s *Store) clockBehind() (bool, error) {
	btx, err := s.begin(false)
	if err != nil {
		return false, err
	}
	defer s.rollback(btx)
	t := s.tx(btx, false)
	all, err := t.AuditWorkspaces()
	if err != nil {
		return false, err
	}
	for _, ws := range all {
		head, err := t.AuditHead(ws)
		if errors.Is(err, approvals.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		if head.At.After(t.now.Add(clockJitter)) {
			s.clock.behind(head.At)
			return true, nil
		}
	}
	return false, nil
}
