package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/store"
)

const (
	// storeWait is for how long a start waits for a database that cannot be reached: it may be starting too, or be
	// replaced by its standby. Past it the program ends, and whoever has started it does so again.
	storeWait = 30 * time.Second
	// storeAgain is how long it waits between two tries.
	storeAgain = time.Second
)

// openStore opens the store, and waits for a database that starts.
func (s *server) openStore(ctx context.Context) error {
	keys, err := s.cfg.Keys()
	if err != nil {
		return Misconfigured(err)
	}
	cfg := store.Config{Logger: s.log, Keys: keys}
	deadline, said := time.Now().Add(storeWait), false
	for {
		s.store, err = store.Open(ctx, s.cfg.Store.Reveal(), cfg)
		if !store.Waits(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return ExplainStore(err)
		}
		if !said {
			s.log.Warn("the database does not answer yet; waiting for it", "store", s.cfg.StorePlace().String(),
				"for", storeWait, "error", err)
			said = true
		}
		select {
		case <-time.After(storeAgain):
		case <-ctx.Done():
		}
	}
}

// unusableStore says what a person must mend before the store opens, where the bot does not start anyway. It changes
// nothing, and says nothing of a store that is in use, away, or not there yet.
func (s *server) unusableStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := s.lookAtStore(ctx)
	if err = ExplainStore(err); errors.Is(err, ErrConfig) {
		return err
	}
	return nil
}

func (s *server) lookAtStore(ctx context.Context) error {
	if s.shared() {
		_, err := store.Examine(ctx, s.cfg.Store.Reveal())
		return err
	}
	keys, err := s.cfg.Keys()
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, s.cfg.Store.Reveal(), store.Config{ReadOnly: true, Keys: keys})
	switch {
	case err == nil:
		return st.Close()
	case errors.Is(err, store.ErrPlace), errors.Is(err, store.ErrNotStore), errors.Is(err, store.ErrOlder):
		return nil // for writing it opens, for Check has looked at its place
	}
	return err
}

// shared reports whether other processes may work on the store.
func (s *server) shared() bool { return s.cfg.StorePlace().Shared() }

// replicas is how many processes work on a store.
func replicas(st approvals.Store) int {
	if r, ok := st.(approvals.Replicated); ok {
		return r.Replicas()
	}
	return 1
}

// listenControl opens the operator's socket.
func (s *server) listenControl() (err error) {
	if s.shared() {
		s.socket, err = control.ListenShared(s.cfg.Store.Reveal(), s.log)
		return err
	}
	s.socket, err = control.Listen(s.cfg.StorePath(), s.log)
	return err
}

// desk is what the socket offers.
func (s *server) desk() *control.Local {
	trials := &Trials{Functions: s.parts.Functions, Logger: s.log}
	d := &control.Local{Store: s.store, Decider: s.service, Judge: trials.Judge}
	if s.shared() {
		d.Via = control.ViaSocket
	}
	return d
}

// storeTimeout is how long the store may take to say that it is there.
const storeTimeout = 2 * time.Second

// errSlow says that it took longer.
var errSlow = errors.New("no answer in time")

// storeAnswers returns nil when the store does.
func (s *server) storeAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, storeTimeout, errSlow)
	defer cancel()
	err := s.store.View(ctx, func(tx approvals.Tx) error {
		_, err := tx.AuditWorkspaces() // a transaction that reads nothing asks nobody
		return err
	})
	if err != nil && context.Cause(ctx) == errSlow {
		return fmt.Errorf("%w: %s: %w", errSlow, storeTimeout, err) // a database has said why it was tried again
	}
	return err
}
