// Package store opens the records of package approvals, wherever they are kept.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

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

// Errors of Open about the keys; see package boltstore.
var (
	ErrKeys  = boltstore.ErrKeys  // the store needs keys that are not given
	ErrPlain = boltstore.ErrPlain // keys are given for a store that is not encrypted yet; Compact encrypts it
)

// Errors of Open that say that the URL itself is unusable.
var (
	// ErrURL is returned for a URL that names no store.
	ErrURL = errors.New("unusable store URL")
	// ErrUnsupported is returned for a kind of store that this program was built without.
	ErrUnsupported = errors.New("unsupported store")
)

const forms = "use bolt:PATH for a file, for instance bolt:countersign.db"

// Open opens the store that url names: "bolt:PATH" is a file in the local file system, which is created when it is not
// there. Its errors never repeat the URL, which may hold a password; of a bolt URL they name the path.
func Open(ctx context.Context, url string, cfg Config) (approvals.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case url == "":
		return nil, fmt.Errorf("%w: it is empty: %s", ErrURL, forms)
	case !ok:
		return nil, fmt.Errorf("%w: it has no scheme: %s", ErrURL, forms)
	}
	switch strings.ToLower(scheme) {
	case "bolt":
		return openBolt(rest, cfg)
	case "postgres", "postgresql":
		return nil, fmt.Errorf("%w: this program was built without support for PostgreSQL: %s", ErrUnsupported, forms)
	}
	return nil, fmt.Errorf("%w: unknown scheme: %s", ErrURL, forms)
}

// checkPath refuses what no file can be called.
func checkPath(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("%w: no path behind bolt: %s", ErrURL, forms)
	case strings.HasPrefix(path, "//"):
		return fmt.Errorf("%w: bolt takes a path, not //: %s", ErrURL, forms)
	}
	return nil
}

func openBolt(path string, cfg Config) (approvals.Store, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	s, err := boltstore.Open(path, boltstore.Config{
		Logger: cfg.Logger, Workers: cfg.Workers, ReadOnly: cfg.ReadOnly, Keys: cfg.Keys,
	})
	if err != nil {
		return nil, err // never a typed nil
	}
	return s, nil
}
