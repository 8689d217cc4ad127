// Package store opens the records of package approvals, wherever they are kept.
package store

import (
	"context"
	"errors"
	"log/slog"

	"countersign/approvals"
	"countersign/store/boltstore"
	"countersign/store/seal"
)

// Config configures a store of any kind. The zero value is usable.
type Config struct {
	// Logger receives what an operator should know; nil discards it.
	Logger *slog.Logger
	// Workers bounds how many jobs of a kind and group Dispatch handles at once; the store's default when zero.
	Workers int
	// ReadOnly opens the store for reading only.
	ReadOnly bool
	// Keys encrypt what the store holds; nil: it is plain. A store that was written with keys opens with the same ones.
	Keys *seal.Keyring
}

// Errors of Open about the keys.
var (
	ErrKeys  = seal.ErrKeys  // the store needs keys that are not given
	ErrPlain = seal.ErrPlain // keys are given for a store that is not encrypted yet; Compact encrypts it
)

// Errors of Open about a file that cannot be the store, until a person mends that.
var (
	ErrPlace    = boltstore.ErrPlace    // its folder is not there, or it may not be written
	ErrEmpty    = boltstore.ErrEmpty    // ErrNotStore, of a file in which a start makes a store
	ErrNotStore = boltstore.ErrNotStore // the path holds something else
)

// ErrDamaged says of a file that it holds what it cannot hold, and ends with MendDamaged.
var ErrDamaged = boltstore.ErrDamaged

// MendDamaged is what to do about a damaged file that is the store.
const MendDamaged = boltstore.MendDamaged

// CheckPlace returns the error that Open would return for the place of a store that is a file, ErrPlace or ErrNotStore,
// as far as it shows without opening the store; nil for a database. It writes nothing.
func CheckPlace(at Place) error {
	if at.File == "" {
		return nil
	}
	return boltstore.CheckPlace(at.File)
}

// Errors of Open that say that the URL itself is unusable.
var (
	// ErrURL is returned for a URL that names no store.
	ErrURL = errors.New("unusable store URL")
	// ErrUnsupported is returned for what a kind of store does not do.
	ErrUnsupported = errors.New("unsupported store")
)

const forms = "use bolt:PATH for a file, for instance bolt:countersign.db, or postgres://USER:PASSWORD@HOST/DATABASE"

// Open opens the store that url names: "bolt:PATH" is a file in the local file system, which is created when it is not
// there; "postgres://…" a PostgreSQL database, in which a schema is made, and which several processes can use at once:
// see package pgstore. Its errors never repeat the URL, which may hold a password; of a bolt URL they name the path.
func Open(ctx context.Context, url string, cfg Config) (approvals.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at, err := PlaceOf(url)
	switch {
	case err != nil:
		return nil, err
	case at.Shared():
		return openPostgres(ctx, url, cfg)
	}
	return openBolt(at.File, cfg)
}

func openBolt(path string, cfg Config) (approvals.Store, error) {
	s, err := boltstore.Open(path, boltstore.Config{
		Logger: cfg.Logger, Workers: cfg.Workers, ReadOnly: cfg.ReadOnly, Keys: cfg.Keys,
	})
	if err != nil {
		return nil, err // never a typed nil
	}
	return s, nil
}
