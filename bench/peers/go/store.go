package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cloudwego/eino/adk"
	"go.etcd.io/bbolt"
)

// closingStore keeps eino's checkpoints until it is closed.
type closingStore interface {
	adk.CheckPointStore
	Close() error
}

func openStore(kind, dir string, width int) (closingStore, error) {
	switch kind {
	case "file":
		return files(dir), nil
	case "bbolt":
		return openBatches(filepath.Join(dir, "checkpoints.db"), width)
	}
	return nil, fmt.Errorf("unknown store %q: bbolt or file", kind)
}

// files keeps each checkpoint in a file that is synced before Set returns, as the @openai/agents peer does.
type files string

func (f files) path(id string) string { return filepath.Join(string(f), id+".gob") }

// Get implements [adk.CheckPointStore].
func (f files) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, err := os.ReadFile(f.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// Set implements [adk.CheckPointStore].
func (f files) Set(_ context.Context, id string, data []byte) error {
	file, err := os.Create(f.path(id))
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func (files) Close() error { return nil }

// batches keeps checkpoints in bbolt. A batch is as large as the load, which is the best that Batch can do: with its
// default settings a lone writer waits for 10 ms.
type batches struct{ db *bbolt.DB }

var checkpoints = []byte("checkpoints")

func openBatches(path string, width int) (*batches, error) {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, err
	}
	db.MaxBatchSize, db.MaxBatchDelay = width, time.Millisecond
	err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists(checkpoints); return err })
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &batches{db}, nil
}

// Get implements [adk.CheckPointStore].
func (b *batches) Get(_ context.Context, id string) (data []byte, found bool, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		data = bytes.Clone(tx.Bucket(checkpoints).Get([]byte(id)))
		return nil
	})
	return data, data != nil, err
}

// Set implements [adk.CheckPointStore].
func (b *batches) Set(_ context.Context, id string, data []byte) error {
	return b.db.Batch(func(tx *bbolt.Tx) error { return tx.Bucket(checkpoints).Put([]byte(id), data) })
}

func (b *batches) Close() error { return b.db.Close() }
