package boltstore

import (
	"bytes"
	"fmt"
	"strings"

	"countersign/internal/fault"
)

// A migration reads every record of an older format once and writes it in the new one, in transactions of a bounded
// size. Each of them also writes how far the migration has come, so that it goes on from there when the process was
// killed. From the first of them on the file says that it has the new format: older programs refuse it.
const (
	migrateRecords = 1000
	migrateBytes   = 4 << 20
	migrateReport  = 100_000 // records between two lines in the log
)

// migration is one step: how the records of one old bucket are brought into the new format. convert gets copies; it
// writes what becomes of the record and removes the old one.
type migration struct {
	bucket  []byte
	convert func(t *tx, k, v []byte) error
}

// progress is where a migration stands: the step, and the key of the last record that was done.
type progress struct {
	step int
	done []byte
}

func (p progress) String() string { return fmt.Sprintf("%d/%s", p.step, p.done) }

func parseProgress(text string) (p progress, err error) {
	step, done, ok := strings.Cut(text, "/")
	if !ok {
		return p, fmt.Errorf("progress of a migration: %q", text)
	}
	_, err = fmt.Sscan(step, &p.step)
	if done != "" {
		p.done = []byte(done)
	}
	return p, err
}

// migrate brings a file of format 2 to this format.
func (s *Store) migrate(has found) error {
	log := s.cfg.Logger.With("path", s.path, "from", oldestFormat, "to", format)
	if !has.migrating {
		log.Info("the store file is being brought to a new format; " +
			"older versions of the program cannot open it any more")
		if err := s.change((*tx).startMigration); err != nil {
			return err
		}
	} else {
		log.Info("bringing the store file to a new format goes on where it was interrupted")
	}
	total, more := 0, true
	for reported := 0; more; {
		n := 0
		err := s.change(func(t *tx) (err error) {
			n, more, err = t.migrateSome(migrationFrom2)
			return err
		})
		if err != nil {
			return err
		}
		log.Debug("bringing the store file to a new format", "records", total+n)
		if total += n; total-reported >= migrateReport {
			reported = total
			log.Info("bringing the store file to a new format", "records", total)
		}
	}
	log.Info("the store file has the new format", "records", total)
	return nil
}

// startMigration makes what the new format has more, and says that the file is on its way there.
func (t *tx) startMigration() error {
	for _, name := range bucketsOf2 {
		if t.btx.Bucket(name) == nil {
			return t.damaged(fmt.Errorf("%s is missing", name))
		}
	}
	var names [][]byte
	for _, b := range buckets {
		names = append(names, b.name)
	}
	if err := t.create(names); err != nil {
		return err
	}
	if err := t.putFormat(format); err != nil {
		return err
	}
	return t.putRaw(bucketMeta, migrationKey, []byte(progress{}.String()))
}

// migrateSome does the next part of the work and reports how many records that were, and whether there are more.
func (t *tx) migrateSome(steps []migration) (n int, more bool, err error) {
	defer t.end(t.begin(), &err)
	stored, err := t.raw(bucketMeta, migrationKey, t.value(bucketMeta, migrationKey))
	if err != nil {
		return 0, false, err
	}
	at, err := parseProgress(string(stored))
	if err != nil {
		return 0, false, t.damaged(err)
	}
	if at.step >= len(steps) {
		return 0, false, t.endMigration()
	}
	if err := fault.Error("migrate.step"); err != nil {
		return 0, false, err
	}
	step := steps[at.step]
	list := t.nextRecords(step.bucket, at.done)
	for _, e := range list {
		if err := step.convert(t, e.k, e.v); err != nil {
			return 0, false, fmt.Errorf("%s %q: %w", step.bucket, e.k, err)
		}
		at.done = e.k
	}
	if len(list) == 0 {
		at = progress{step: at.step + 1}
	}
	return len(list), true, t.putRaw(bucketMeta, migrationKey, []byte(at.String()))
}

type entry struct{ k, v []byte }

// nextRecords returns copies of the entries behind a key, as many as one transaction takes.
func (t *tx) nextRecords(bucket, behind []byte) (list []entry) {
	c := t.btx.Bucket(bucket).Cursor()
	k, v := c.Seek(behind)
	if behind != nil && bytes.Equal(k, behind) {
		k, v = c.Next()
	}
	for size := 0; k != nil && len(list) < migrateRecords && size < migrateBytes; k, v = c.Next() {
		list = append(list, entry{bytes.Clone(k), bytes.Clone(v)})
		size += len(k) + len(v)
	}
	return list
}

// endMigration removes what only the old format had.
func (t *tx) endMigration() error {
	for _, name := range bucketsOnlyOf2 {
		b := t.btx.Bucket(name)
		if k, _ := b.Cursor().First(); k != nil {
			return t.damaged(fmt.Errorf("%s %q was not brought to the new format", name, k))
		}
		if err := t.btx.DeleteBucket(name); err != nil {
			return err
		}
	}
	return t.btx.Bucket(bucketMeta).Delete(migrationKey)
}
