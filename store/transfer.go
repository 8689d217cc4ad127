package store

import (
	"context"
	"path/filepath"

	"countersign/store/boltstore"
	"countersign/store/pgstore"
	"countersign/store/transfer"
)

// Errors of Open about who else works on the store.
var (
	ErrHalf  = transfer.ErrHalf   // it holds only a part of what is being moved into it
	ErrInUse = boltstore.ErrInUse // another process has it open
)

// OpenSource opens the store that url names to be moved elsewhere: for reading only, while nobody works on it. Errors:
// those of Open, and transfer.ErrInUse.
func OpenSource(ctx context.Context, url string, cfg Config) (transfer.Source, error) {
	if isPostgres(url) {
		s, err := pgstore.OpenSource(ctx, url, pgstore.Config{Logger: cfg.Logger, Keys: cfg.Keys})
		return s, postgresError(err)
	}
	path, err := boltPath(ctx, url)
	if err != nil {
		return nil, err
	}
	return boltstore.OpenSource(path, boltstore.Config{Logger: cfg.Logger, Keys: cfg.Keys})
}

// OpenTarget opens the store that url names for moving another one into it, and makes it where there is none, unless
// cfg.ReadOnly says that it is only to be looked at: fs.ErrNotExist then. Other errors: those of OpenSource.
func OpenTarget(ctx context.Context, url string, cfg Config) (transfer.Target, error) {
	if isPostgres(url) {
		s, err := pgstore.OpenTarget(ctx, url,
			pgstore.Config{Logger: cfg.Logger, Keys: cfg.Keys, ReadOnly: cfg.ReadOnly})
		return s, postgresError(err)
	}
	path, err := boltPath(ctx, url)
	if err != nil {
		return nil, err
	}
	return boltstore.OpenTarget(path, boltstore.Config{Logger: cfg.Logger, Keys: cfg.Keys, ReadOnly: cfg.ReadOnly})
}

// boltPath returns the path of a bolt URL.
func boltPath(ctx context.Context, url string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	at, err := PlaceOf(url)
	return at.File, err
}

// Describe names a store without what is secret in its URL, and so that one store has one name.
func Describe(url string) string {
	at, err := PlaceOf(url)
	switch {
	case err != nil:
		return "a store whose URL is unusable"
	case at.Shared():
		return at.String()
	}
	path, err := filepath.Abs(at.File)
	if err != nil {
		path = at.File
	}
	return "bolt:" + path
}
