package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// While replicas are replaced one by one, programs of two versions work on one schema. So a program writes what only
// its own version can read once every process that has the store open has announced that it can; until then it writes
// as the version before did. ADR 0034 has the reasons.

const (
	// announcedFor is how long an announcement counts without being renewed.
	announcedFor  = time.Minute
	announceEvery = 20 * time.Second
	// announcePatience is how long one may take.
	announcePatience = 5 * time.Second
)

// formatSettings differ from their zero value in tests alone.
type formatSettings struct {
	number int // in place of formatNow
	later  []laterField
}

// Format is the number of the form in which records are written. It only grows.
func (s *Store) Format() int { return int(s.format.Load()) }

// prepareFormat announces this process, unless it only reads, and refuses a store whose records it cannot read.
func (s *Store) prepareFormat(ctx context.Context) error {
	s.reads, s.later = formatNow, laterFields()
	if set := s.cfg.format; set.number != 0 {
		s.reads, s.later = set.number, set.later
	}
	if !s.cfg.ReadOnly {
		return s.announce(ctx)
	}
	var number int
	if err := s.clicks.QueryRow(ctx, "select number from format").Scan(&number); err != nil {
		return fmt.Errorf("read the format of the records: %w", err)
	}
	return s.inForce(ctx, number)
}

// announce says that this process is there and what it can read, raises the format when nobody is left who could not
// read it, and learns which one is in force and how many others are there. All of it is sent at once: a process that
// is frozen in the middle holds nobody up. An announcement and a raise wait for each other, so that neither misses the
// other.
func (s *Store) announce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, announcePatience)
	defer cancel()
	conn, err := s.work.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // closes a connection that is not idle
	var number int
	var others int64
	b := &pgx.Batch{}
	b.Queue("begin isolation level read committed")
	b.Queue("select from format for update")
	b.Queue(`insert into replicas (id, reads, program, until)
		select $1::bytea, $2::integer, $3::text, clock_timestamp() + $4::interval from format where number <= $2
		on conflict (id) do update set until = excluded.until`, s.id, s.reads, program(), announcedFor)
	b.Queue(`update format set number = $1 where number < $1 and not exists (
		select from replicas where reads < $1 and until > clock_timestamp())`, s.reads)
	b.Queue("delete from replicas where until < clock_timestamp() - interval '1 hour'")
	b.Queue(`select number, (select count(*) from replicas where until > clock_timestamp() and id <> $1) from format`,
		s.id).QueryRow(func(row pgx.Row) error { return row.Scan(&number, &others) })
	b.Queue("commit")
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("announce this process to the others that use the store: %w", err)
	}
	s.others.Store(others)
	return s.inForce(ctx, number)
}

// Replicas is how many processes had announced themselves when this one last did; see approvals.Replicated.
func (s *Store) Replicas() int { return 1 + int(s.others.Load()) }

// inForce takes over the format that is in force. One that this program cannot read ends its use of the store.
func (s *Store) inForce(ctx context.Context, number int) error {
	if number <= s.reads {
		s.raise(number)
		return nil
	}
	program := "a later version"
	// The words are better with the name, and true without it.
	_ = s.clicks.QueryRow(ctx, "select program from replicas where reads >= $1 order by until desc limit 1", number).
		Scan(&program)
	return fmt.Errorf("%w: the records of schema %s are written in format %d, and this program reads %d; nothing is "+
		"lost: run %s", ErrNewer, s.schema, number, s.reads, program)
}

// raise notes a format that is in force.
func (s *Store) raise(number int) {
	for {
		before := s.format.Load()
		if int64(number) <= before {
			return
		}
		if s.format.CompareAndSwap(before, int64(number)) {
			if before > 0 {
				s.cfg.Logger.Info("every process that uses the store can read a new format: it is written from now on",
					"schema", s.schema, "format", number)
			}
			return
		}
	}
}

// keepAnnounced renews the announcement until the store is closed, or the others have gone on without this process,
// because it was away for so long: then its transactions fail, and Dispatch returns.
func (s *Store) keepAnnounced(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // of Open
	s.active.Go(func() {
		timer := time.NewTicker(announceEvery)
		defer timer.Stop()
		for s.outdatedBy() == nil {
			select {
			case <-timer.C:
				s.renew(ctx)
			case <-s.closing:
				s.withdraw(ctx)
				return
			}
		}
	})
}

func (s *Store) renew(ctx context.Context) {
	err := s.announce(ctx)
	switch {
	case errors.Is(err, ErrNewer):
		s.cfg.Logger.Error("ALERT: a newer version of the program has taken over the store, and this one ends its use "+
			"of it", "error", err)
		s.outdate(err)
	case err != nil:
		s.cfg.Logger.Debug("not announced to the others that use the store; it is tried again", "error", err)
	}
}

// withdraw takes the announcement back. Where that fails it lapses.
func (s *Store) withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rollbackTime)
	defer cancel()
	_, _ = s.work.Exec(ctx, "delete from replicas where id = $1", s.id)
}

// outdate ends the use of the store.
func (s *Store) outdate(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outdated == nil {
		s.outdated = why
		close(s.over)
	}
}

// outdatedBy returns why the store is not to be used any more; nil while it is.
func (s *Store) outdatedBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outdated
}
