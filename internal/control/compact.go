package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"countersign/internal/lineage"
	"countersign/store"
)

// ErrRunning is returned by Compact while the bot runs.
var ErrRunning = errors.New("the bot runs and holds the store's file")

// Compact rewrites the store's file; progress is called now and then with how many of the records are copied. It needs
// the file for itself, so no bot may run: ErrRunning. Other errors: ErrNoStore, ErrNoOperator and those of
// store.Compact.
func Compact(ctx context.Context, cfg Config, progress func(done, total int)) (store.Compacted, error) {
	if cfg.Path == "" {
		return store.Compacted{}, fmt.Errorf("compact: %w, which gives the space of deleted records back by itself "+
			"(autovacuum); VACUUM FULL in psql returns it to the system", ErrFileOnly)
	}
	client, err := Dial(ctx, cfg.Path)
	if err == nil {
		client.Close()
		return store.Compacted{}, fmt.Errorf("%w: stop it, compact, and start it again; "+
			"nothing waits longer than it is stopped", ErrRunning)
	}
	if !errors.Is(err, ErrNotRunning) {
		return store.Compacted{}, err
	}
	if _, err := os.Stat(cfg.Path); errors.Is(err, fs.ErrNotExist) {
		return store.Compacted{}, fmt.Errorf("%w at %s", ErrNoStore, cfg.Path)
	}
	if err := lineage.CheckSelf(); err != nil {
		return store.Compacted{}, fmt.Errorf("%w: %w", ErrNoOperator, err)
	}
	return store.Compact(ctx, cfg.URL, store.CompactConfig{Logger: cfg.Logger, Keys: cfg.Keys, Progress: progress})
}
