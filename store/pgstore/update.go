package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
)

// View runs fn in a read-only transaction. Where the server refuses it because of others, fn runs again.
func (s *Store) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.run(ctx, false, func(t *tx) error { return fn(t) })
}

// Update runs fn in a serializable transaction, which is committed when Update returns nil. Where the server refuses it
// because of others, or the connection is lost before the commit, fn runs again.
func (s *Store) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.update(ctx, func(t *tx) error { return fn(t) })
}

func (s *Store) update(ctx context.Context, fn func(*tx) error) error {
	if s.cfg.ReadOnly {
		return fmt.Errorf("write to PostgreSQL: %w", ErrReadOnly)
	}
	return s.run(ctx, true, fn)
}

func (s *Store) run(ctx context.Context, write bool, fn func(*tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	var tries attempts
	how, overlaps := shared, 0
	own := approvals.OwnTransaction(ctx)
	if own {
		how = apart
	}
	var before error
	for {
		keys := s.crypt.Load()
		t, err := s.attempt(ctx, write, fn, how)
		if err == nil {
			for _, f := range t.committed {
				f()
			}
			return nil
		}
		if own, ok := errors.AsType[*ownError](err); ok {
			return own.error
		}
		switch {
		case errors.Is(err, errAgain):
			ctx = approvals.WithOneRead(ctx, false)
			continue
		case errors.Is(err, errApart):
			if how = apart; s.cfg.leaves != nil {
				s.cfg.leaves(ctx)
			}
			continue
		case errors.Is(err, errRefused):
			how = alone
			continue
		case errors.Is(err, errOverlap):
			if overlaps++; overlaps >= sharedTries {
				how = alone
			}
			continue
		case tries.n >= sharedTries && !own:
			how = alone
		}
		if errors.Is(err, errKeysChanged) {
			if err = s.reloadKeys(ctx, keys); err == nil {
				continue
			}
		}
		if ctx.Err() != nil && before != nil && classify(err) == never {
			err = errors.Join(err, before) // what kept the caller until then
		}
		if isCode(err, codeReadOnly) {
			// New connections are asked why. Old ones would go on answering who only reads, as if all were in order.
			s.clicks.Reset()
			s.work.Reset()
		}
		before = err
		if errors.Is(err, approvals.ErrCommitUnknown) || !tries.wait(ctx, classify(err)) {
			s.counts.gaveUp(err)
			return s.told(ctx, err)
		}
		s.counts.retried(err)
	}
}

// told is what the caller hears of an error that ends the attempts.
func (s *Store) told(ctx context.Context, err error) error {
	if gone := ctx.Err(); gone != nil && !errors.Is(err, approvals.ErrCommitUnknown) {
		return fmt.Errorf("PostgreSQL transaction: %w", errors.Join(gone, explain(err)))
	}
	return explain(err)
}

// ownError is an error of the closure, which the caller gets unchanged.
type ownError struct{ error }

// turns says how a closure waits for others.
type turns int

const (
	shared turns = iota // it shares a transaction with those who wait at the same time
	alone               // it has one of its own, when it is its turn
	apart               // it has one of its own, and does not wait
)

// attempt runs fn once, in a transaction of its own or in one that it shares. An error of fn itself comes as an
// *ownError: what fn says after the server has refused something does not count.
func (s *Store) attempt(ctx context.Context, write bool, fn func(*tx) error, how turns) (*tx, error) {
	if s.cfg.apart || how == apart || how == alone && !write {
		return s.attemptApart(ctx, write, fn)
	}
	q := s.queue(ctx, write)
	own, m, err := q.enter(ctx, how == alone)
	switch {
	case err != nil:
		return nil, err
	case m != nil:
		return m.attempt(fn)
	}
	defer q.leave(own)
	t, err := s.attemptApart(ctx, write, fn)
	q.noteConflict(err)
	return t, err
}

// attemptApart runs fn once, in a transaction that ends with it, whichever way fn ends.
func (s *Store) attemptApart(ctx context.Context, write bool, fn func(*tx) error) (*tx, error) {
	conn, err := s.pool(ctx).Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", s.lostOr(ctx, err, nil))
	}
	defer conn.Release() // closes a connection that is not idle
	t := s.begin(ctx, conn, write)
	defer t.end()
	err = fn(t)
	t.ended.Store(true)
	switch {
	case errors.Is(t.failed, errAgain):
		return nil, errAgain
	case t.failed != nil && (err == nil || classify(s.lostOr(ctx, t.failed, conn)) != never):
		return nil, s.lostOr(ctx, t.failed, conn)
	case err != nil:
		return nil, &ownError{err}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return t, t.commit()
}

// lostOr marks err when the connection went with it.
func (s *Store) lostOr(ctx context.Context, err error, conn *pgxpool.Conn) error {
	if ctx.Err() == nil && conn != nil && conn.Conn().IsClosed() {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return err
}

// rollbackTime is how long a rollback may take before the connection is closed instead.
const rollbackTime = 2 * time.Second

// end rolls the transaction back unless it has ended.
func (t *tx) end() {
	t.ended.Store(true)
	pg := t.conn.Conn().PgConn()
	if pg.IsClosed() || pg.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), rollbackTime)
	defer cancel()
	pg.Exec(ctx, "rollback").Close()
}
