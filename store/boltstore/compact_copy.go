package boltstore

import (
	bolt "go.etcd.io/bbolt"
)

// How much one transaction of the copy holds.
const (
	compactRecords = 10_000
	compactBytes   = 8 << 20
)

// copy copies all buckets. Only its end is synced: until then nothing depends on the new file.
func (c *compaction) copy() error {
	c.to.db.NoSync, c.to.db.NoGrowSync = true, true
	defer func() { c.to.db.NoSync, c.to.db.NoGrowSync = false, false }()
	return c.from.view(c.ctx, func(old *tx) (err error) {
		defer old.end(old.begin(), &err)
		for _, b := range buckets {
			if err := c.copyBucket(old, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// copyBucket copies the records of a bucket in their order, in transactions of a bounded size.
func (c *compaction) copyBucket(old *tx, info bucketInfo) error {
	source := old.btx.Bucket(info.name)
	cursor := source.Cursor()
	k, v := cursor.First()
	for first := true; first || k != nil; first = false {
		err := c.to.change(func(t *tx) error {
			target := t.btx.Bucket(info.name)
			target.FillPercent = fillPercent
			for n, size := 0, 0; k != nil && n < compactRecords && size < compactBytes; k, v = cursor.Next() {
				if err := c.copyRecord(old, t, target, info, k, v); err != nil {
					return err
				}
				n, size = n+1, size+len(k)+len(v)
			}
			return target.SetSequence(source.Sequence())
		})
		if err != nil {
			return err
		}
		if c.Progress != nil {
			c.Progress(c.copied, c.total)
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// copyRecord copies one entry, as the new file stores it. What the new file says of itself stays.
func (c *compaction) copyRecord(old, t *tx, target *bolt.Bucket, info bucketInfo, k, v []byte) error {
	c.copied++
	switch {
	case string(info.name) == string(bucketMeta) && (string(k) == string(formatKey) ||
		string(k) == string(encryptionKey)):
		return nil
	case !info.sealed:
		return target.Put(k, []byte{})
	}
	payload, err := old.raw(info.name, k, v)
	if err != nil {
		return err
	}
	return target.Put(k, t.seal(info.name, k, payload))
}
