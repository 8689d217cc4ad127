package pgstore

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
)

// Stats are numbers of a store since it was opened, and how its connections stand now.
type Stats struct {
	// Pools are those for people who click, for work, and for what is known of jobs, under these names.
	Pools map[string]PoolStats
	// Retries counts the transactions that ran again, by why: the words of RetryReasons.
	Retries map[string]uint64
	// CommitsUnknown counts those of which the caller was told that nobody knows whether they are committed.
	CommitsUnknown uint64
	// Sweeps counts the looks at the whole table of jobs; JobsLeft the jobs that were left to a newer version of the
	// program, and ClaimsLost those that another replica may have taken over.
	Sweeps, JobsLeft, ClaimsLost uint64
	// Format is the number of the form in which records are written.
	Format int
}

// PoolStats are those of a pool of connections.
type PoolStats struct {
	InUse, Idle, Max int
	// Waits counts how often somebody had to wait for a connection, or for one to be made, and Waited for how long.
	Waits  uint64
	Waited time.Duration
}

// RetryReasons are the words for why a transaction ran again: others wrote what it read, it waited in a circle with
// others, somebody made the key first, or the server was away.
func RetryReasons() []string { return []string{"conflict", "deadlock", "key", "server"} }

// counts are what Stats reads.
type counts struct {
	conflict, deadlock, key, server       atomic.Uint64
	unknown, sweeps, jobsLeft, claimsLost atomic.Uint64
	dispatch                              atomic.Pointer[pgxpool.Pool] // of the newest Dispatch; nil: there was none
}

// retried counts a transaction that runs again after err.
func (c *counts) retried(err error) {
	switch {
	case isCode(err, codeSerialization):
		c.conflict.Add(1)
	case isCode(err, codeDeadlock):
		c.deadlock.Add(1)
	case isCode(err, codeUnique):
		c.key.Add(1)
	default:
		c.server.Add(1)
	}
}

// gaveUp counts what ended without success.
func (c *counts) gaveUp(err error) {
	if errors.Is(err, approvals.ErrCommitUnknown) {
		c.unknown.Add(1)
	}
}

// Stats returns them.
func (s *Store) Stats() Stats {
	c := &s.counts
	pools := map[string]PoolStats{"clicks": poolStats(s.clicks), "work": poolStats(s.work)}
	if jobs := c.dispatch.Load(); jobs != nil {
		pools["jobs"] = poolStats(jobs)
	}
	return Stats{
		Pools: pools,
		Retries: map[string]uint64{"conflict": c.conflict.Load(), "deadlock": c.deadlock.Load(), "key": c.key.Load(),
			"server": c.server.Load()},
		CommitsUnknown: c.unknown.Load(), Sweeps: c.sweeps.Load(), JobsLeft: c.jobsLeft.Load(),
		ClaimsLost: c.claimsLost.Load(), Format: s.Format(),
	}
}

func poolStats(p *pgxpool.Pool) PoolStats {
	st := p.Stat()
	return PoolStats{
		InUse: int(st.AcquiredConns()), Idle: int(st.IdleConns()), Max: int(st.MaxConns()),
		Waits: uint64(st.EmptyAcquireCount()), Waited: st.EmptyAcquireWaitTime(),
	}
}
