package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
)

// Dispatch hands due jobs to handle, here and wherever else the store is open; every group of every kind of jobs has
// Config.Workers slots in each process. A job is claimed for 15 seconds, which are prolonged while its handler is at
// work. When they cannot be, the handler's context ends, and what it returns counts only if nobody has claimed the job
// since. A handler that panics or ends its goroutine counts as failed. When ctx has ended, jobs whose handlers return
// an error are given back at once, for others to begin with. So is a job that only a newer version of the program can
// do.
func (s *Store) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	if s.cfg.ReadOnly {
		return fmt.Errorf("dispatch jobs: %w", ErrReadOnly)
	}
	select {
	case <-s.closing:
		return fmt.Errorf("dispatch jobs: %w", approvals.ErrClosed)
	default:
	}
	db, err := s.dispatchPool(ctx)
	if err != nil {
		return fmt.Errorf("dispatch jobs: %w", err)
	}
	defer db.Close()
	s.counts.dispatch.Store(db)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := newScheduler(s, db, handle)
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	others.Go(func() { // the end of the store is the end of its handlers
		select {
		case <-s.closing:
			cancel()
		case <-s.over:
			cancel()
		case <-ctx.Done():
		}
	})
	if !d.set.noRiver {
		others.Go(func() { runRiver(ctx, db, s, d.reminders) })
	}
	s.jobs.listen(d.told)
	defer s.jobs.leave(d.told)
	d.run(ctx)
	select {
	case <-s.closing:
		return fmt.Errorf("dispatch jobs: %w", approvals.ErrClosed)
	case <-s.over:
		return fmt.Errorf("dispatch jobs: %w", s.outdatedBy())
	default:
		return nil
	}
}

// dispatchConns are the connections of one Dispatch: for its own conversations, for River's, and to listen.
const dispatchConns = 8

// dispatchPool makes connections on which what is known of jobs is read and written. It need not be serializable, nor
// survive a crash of the server: what is lost is done again.
func (s *Store) dispatchPool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg := s.work.Config()
	cfg.MaxConns, cfg.MinConns = dispatchConns, 0
	params := cfg.ConnConfig.RuntimeParams
	params["application_name"] = "countersign jobs"
	params["default_transaction_isolation"] = "read committed"
	params["synchronous_commit"] = "off"
	cfg.ConnConfig.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) error {
		if err := checkServer(ctx, c, params, forJobs); err != nil {
			return err
		}
		return s.present(ctx, c, s.schema)
	}
	return pgxpool.NewWithConfig(ctx, cfg)
}

// prepareJobs readies the store to tell of its jobs.
func (s *Store) prepareJobs() {
	s.jobs.log, s.jobs.workers = s.cfg.Logger, cmp.Or(max(s.cfg.Workers, 0), defaultWorkers)
	if s.jobs.set = s.cfg.jobs; s.jobs.set == (jobSettings{}) {
		s.jobs.set = finders
	}
	s.jobs.notify = func(ctx context.Context) error { return tellOthers(ctx, s.work, s.schema) }
}

// defaultWorkers is how many handlers work at once for a group of a kind of jobs.
const defaultWorkers = 16
