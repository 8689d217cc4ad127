package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

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
		return s, explainPostgres(err)
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
		return s, explainPostgres(err)
	}
	path, err := boltPath(ctx, url)
	if err != nil {
		return nil, err
	}
	return boltstore.OpenTarget(path, boltstore.Config{Logger: cfg.Logger, Keys: cfg.Keys, ReadOnly: cfg.ReadOnly})
}

func isPostgres(url string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(url), ":")
	return scheme == "postgres" || scheme == "postgresql"
}

func explainPostgres(err error) error {
	if errors.Is(err, pgstore.ErrURL) {
		return fmt.Errorf("%w: %w", ErrURL, err)
	}
	return err
}

const transferForms = "use bolt:PATH for a file, or postgres://HOST/DATABASE"

// boltPath returns the path of a bolt URL.
func boltPath(ctx context.Context, url string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	scheme, path, ok := strings.Cut(url, ":")
	switch {
	case !ok || url == "":
		return "", fmt.Errorf("%w: it has no scheme: %s", ErrURL, transferForms)
	case !strings.EqualFold(scheme, "bolt"):
		return "", fmt.Errorf("%w: unknown scheme: %s", ErrURL, transferForms)
	}
	return path, checkPath(path)
}

// Describe names a store without what is secret in its URL, and so that one store has one name.
func Describe(text string) string {
	scheme, path, _ := strings.Cut(text, ":")
	if strings.EqualFold(scheme, "bolt") {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		return "bolt:" + path
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" && u.Path == "" {
		return "the store with the unreadable URL"
	}
	name := "postgres://" + u.Host + u.Path
	if schema := u.Query().Get("schema"); schema != "" {
		name += "?schema=" + schema
	}
	return name
}
