package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/store"
	"countersign/store/boltstore"
)

// desk opens what commands work on: the bot's socket while it runs, else the store's file for reading.
func (p *Program) desk(ctx context.Context, c *Config) (control.Desk, func(), error) {
	if err := c.Check(); err != nil {
		return nil, nil, err
	}
	client, err := control.Dial(ctx, c.StorePath())
	if err == nil {
		return client, func() { client.Close() }, nil
	}
	if !errors.Is(err, control.ErrNotRunning) {
		return nil, nil, err
	}
	st, err := p.openExisting(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return &control.Local{Store: st}, func() { st.Close() }, nil
}

// openExisting opens the store for reading; a store that is not there is not made.
func (p *Program) openExisting(ctx context.Context, c *Config) (approvals.Store, error) {
	if _, err := os.Stat(c.StorePath()); errors.Is(err, fs.ErrNotExist) {
		return nil, misconfigured(fmt.Errorf("there is no store at %s; COUNTERSIGN_STORE says where it is", c.StorePath()))
	}
	st, err := store.Open(ctx, c.Store.Reveal(), store.Config{Logger: newLogger(c, p.Stderr), ReadOnly: true})
	return st, explainStore(err)
}

// explainStore adds to an error of opening the store what to do about it.
func explainStore(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, boltstore.ErrInUse):
		return fmt.Errorf("%w; stop that process, or give this one another COUNTERSIGN_STORE", err)
	case errors.Is(err, store.ErrURL), errors.Is(err, store.ErrUnsupported):
		return misconfigured(fmt.Errorf("COUNTERSIGN_STORE: %w", err))
	}
	return err
}
