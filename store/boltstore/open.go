package boltstore

import (
	"fmt"
	"log/slog"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Open opens the store at path and creates it when it is not there.
func Open(path string, cfg Config) (*Store, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Workers == 0 {
		cfg.Workers = 16
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      time.Second,
		ReadOnly:     cfg.ReadOnly,
		FreelistType: bolt.FreelistMapType,
	})
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	if !cfg.ReadOnly {
		err := db.Update(func(btx *bolt.Tx) error {
			for _, b := range buckets {
				if _, err := btx.CreateBucketIfNotExists(b.name); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			db.Close()
			return nil, fmt.Errorf("open store %s: %w", path, err)
		}
	}
	return &Store{cfg: cfg, path: path, db: db, wake: make(chan struct{}, 1)}, nil
}
