package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
)

// isWork reports whether nobody waits at a button for what is done under the context, as for what handlers of jobs do.
func isWork(ctx context.Context) bool { return approvals.Unhurried(ctx) }

// pool returns the connections for what is done under the context. Work has its own, so that no amount of it keeps
// somebody waiting who has pressed a button.
func (s *Store) pool(ctx context.Context) *pgxpool.Pool {
	if isWork(ctx) {
		return s.work
	}
	return s.clicks
}

// connect makes the pools and the first connection.
func (s *Store) connect(ctx context.Context, cfg *pgxpool.Config) (err error) {
	cfg.ConnConfig.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) error {
		use := forRecords
		if s.cfg.ReadOnly {
			use = forReading
		}
		if err := checkServer(ctx, c, cfg.ConnConfig.RuntimeParams, use); err != nil {
			return err
		}
		return s.present(ctx, c, s.schema)
	}
	if s.clicks, err = pgxpool.NewWithConfig(ctx, cfg.Copy()); err != nil {
		return fmt.Errorf("%w: %s", ErrURL, urlForm)
	}
	if s.work, err = pgxpool.NewWithConfig(ctx, cfg.Copy()); err != nil {
		return fmt.Errorf("%w: %s", ErrURL, urlForm)
	}
	return s.clicks.Ping(ctx)
}

func (s *Store) closePools() {
	if s.leave != nil {
		s.leave()
	}
	for _, p := range []*pgxpool.Pool{s.clicks, s.work} {
		if p != nil {
			p.Close()
		}
	}
}

// closeOwn closes a connection that is none of a pool. It waits for the server's end of it, but not for long: nothing
// may be heard of that any more.
func closeOwn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	_ = conn.Close(ctx)
}
