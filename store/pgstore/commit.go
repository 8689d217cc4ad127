package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"countersign/approvals"
)

// grace is how much longer than its caller's context a commit may take that is under way: mostly it is there at once,
// and the caller is told the truth.
const grace = 500 * time.Millisecond

// commit sends what waits and the commit. When it is left open what became of that, the server is asked.
func (t *tx) commit() error {
	switch {
	case t.trips == 0 && len(t.waiting) == beginning: // the closure has read and written nothing
		return nil
	case t.over:
		return nil
	case t.write && t.id == "": // without the number nobody can be asked what became of it
		if err := t.beginFirst(); err != nil {
			return t.store.lostOr(t.ctx, err, t.conn)
		}
	}
	ctx, cancel := lasting(t.ctx, grace)
	defer cancel()
	err := t.sendCommit(ctx)
	if err == nil || answered(err) || !t.conn.Conn().IsClosed() {
		return err
	}
	if !t.write || t.id == "" || pgconn.SafeToRetry(err) {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	if t.store.cfg.blind {
		return fmt.Errorf("%w: %w", approvals.ErrCommitUnknown, err)
	}
	switch outcome, asking := t.store.outcome(t.ctx, t.id, historyOf(t.conn.Conn())); {
	case asking != nil:
		return fmt.Errorf("%w: %w; nor can PostgreSQL be asked: %w", approvals.ErrCommitUnknown, err, asking)
	case outcome == "committed":
		return nil
	case outcome == "aborted":
		return fmt.Errorf("%w: %w", errBroken, err)
	default:
		return fmt.Errorf("%w: %w; PostgreSQL says %q", approvals.ErrCommitUnknown, err, outcome)
	}
}

// beginFirst begins the transaction on the server, and leaves what it writes to the round trip of the commit: between
// two of them nobody's rows are locked, however long this process stands still.
func (t *tx) beginFirst() error {
	writes := t.waiting[beginning:]
	t.waiting = t.waiting[:beginning:beginning]
	err := t.exchange(t.ctx, nil)
	t.waiting = writes
	return err
}

// answered reports whether err is the server's own word that it has not committed. What it says when it stops is not,
// nor what it dies of, such as a sync of its log that failed: the commit may have come before.
func answered(err error) bool {
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	ok = ok && refusal.SeverityUnlocalized == "ERROR"
	return errors.Is(err, errNotCommitted) || ok && refusal.Code[:2] != "57" && refusal.Code[:2] != "08"
}

// lasting returns a context that ends so much later than ctx does.
func lasting(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(more)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

// outcome asks the server what became of a transaction until it knows, or ctx ends. The server must have the same
// history: behind a crash or a failover the number may be that of another transaction.
func (s *Store) outcome(ctx context.Context, id, history string) (outcome string, err error) {
	var tries attempts
	for {
		outcome, err = s.ask(ctx, id, history)
		if err == nil && outcome != "in progress" || errors.Is(err, errOtherHistory) {
			return outcome, err
		}
		if !tries.wait(ctx, patiently) {
			return "", errors.Join(err, ctx.Err())
		}
	}
}

var errOtherHistory = errors.New("it has crashed, or another server has taken its place")

// ask asks the server once. A server that still waits for the lost connection to go on is told that it never will. The
// connection is none of a pool: those who ask keep the ones that they have lost, which may be all that a pool has.
func (s *Store) ask(ctx context.Context, id, history string) (outcome string, err error) {
	conn, err := pgx.ConnectConfig(ctx, s.pool(ctx).Config().ConnConfig)
	if err != nil {
		return "", err
	}
	defer closeOwn(ctx, conn)
	if historyOf(conn) != history {
		return "", errOtherHistory
	}
	b := &pgx.Batch{}
	b.Queue("select coalesce(pg_xact_status($1::text::xid8), 'forgotten')", id).QueryRow(
		func(row pgx.Row) error { return row.Scan(&outcome) })
	b.Queue(`select pg_terminate_backend(pid) from pg_stat_activity
		where usename = current_user and datname = current_database() and pid <> pg_backend_pid()
		and backend_xid = ($1::text::xid8)::xid and state like 'idle in transaction%'`, id)
	err = conn.SendBatch(ctx, b).Close() // sets outcome
	return outcome, err
}
