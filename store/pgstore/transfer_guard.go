package pgstore

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"countersign/store/transfer"
)

// Every connection of a store holds a shared advisory lock of its schema for as long as it is open, and a move holds it
// alone: so a move finds out whether anybody is there, and nobody comes while it goes on. Nothing waits for the lock.

// presence is the lock of a schema.
func presence(schema string) int64 {
	h := fnv.New64a()
	h.Write([]byte("countersign presence " + schema))
	return int64(h.Sum64())
}

// present takes the shared lock on a new connection.
func (s *Store) present(ctx context.Context, c *pgconn.PgConn, schema string) error {
	if s.cfg.moving {
		return nil
	}
	free, err := soon(ctx, c, fmt.Sprintf("select pg_try_advisory_lock_shared(%d)", presence(schema)))
	if err == nil && !free {
		err = fmt.Errorf("schema %s: %w: \"countersign migrate\" is at work on it; wait until it has ended", schema,
			transfer.ErrInUse)
	}
	return err
}

// alone takes the lock on a connection of its own, which lasts until the store is closed.
func (s *Store) alone(ctx context.Context) error {
	if !s.cfg.moving {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, s.work.Config().ConnConfig)
	if err != nil {
		return err
	}
	lock := fmt.Sprintf("select pg_try_advisory_lock(%d)", presence(s.schema))
	free, err := soon(ctx, conn.PgConn(), lock)
	if err == nil && !free {
		err = fmt.Errorf("schema %s: %w: a bot or a command has it open", s.schema, transfer.ErrInUse)
	}
	if err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return err
	}
	lasting := context.WithoutCancel(ctx)
	s.leave = func() {
		conn.Exec(lasting, "select pg_advisory_unlock_all()") // the end of a session is noticed a little later
		conn.Close(lasting)
	}
	return nil
}

// notHalf refuses a schema that holds only a part of what is being moved into it.
func (s *Store) notHalf(ctx context.Context) error {
	if s.cfg.half {
		return nil
	}
	var half bool
	err := s.clicks.QueryRow(ctx, "select to_regclass($1) is not null", s.schema+".transfer").Scan(&half)
	if err == nil && half {
		err = halfError(s.schema)
	}
	return err
}

func halfError(schema string) error {
	return fmt.Errorf("schema %s: %w: run the same \"countersign migrate\" again, which goes on where it was; "+
		"until it is done, the store it comes from is the one to use", schema, transfer.ErrHalf)
}

// unfilled refuses, before anything in it is changed, a schema to move into that holds records which no move has put
// there: whoever it belongs to goes on with it as it is, also with an older program and with other keys.
func (s *Store) unfilled(ctx context.Context) error {
	if !s.cfg.half {
		return nil
	}
	rows, err := s.clicks.Query(ctx, "select tablename::text from pg_tables where schemaname = $1", s.schema)
	if err != nil {
		return err
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || slices.Contains(there, "transfer") {
		return err
	}
	for _, table := range recordTables { // an older schema lacks some
		if !slices.Contains(there, table) {
			continue
		}
		var has bool
		if err := s.clicks.QueryRow(ctx, "select exists (select from "+table+")").Scan(&has); err != nil {
			return err
		}
		if has {
			return fmt.Errorf("schema %s: %w", s.schema, transfer.ErrNotEmpty)
		}
	}
	return nil
}

const (
	presencePatience = time.Second // for sessions whose process has just ended
	presencePause    = 50 * time.Millisecond
)

// soon asks the server until it says yes, for a little while.
func soon(ctx context.Context, c *pgconn.PgConn, sql string) (bool, error) {
	for left := presencePatience; ; left -= presencePause {
		yes, err := asksTrue(ctx, c, sql)
		if yes || err != nil || left <= 0 {
			return yes, err
		}
		select {
		case <-time.After(presencePause):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func asksTrue(ctx context.Context, c *pgconn.PgConn, sql string) (bool, error) {
	results, err := c.Exec(ctx, sql).ReadAll()
	if err != nil {
		return false, err
	}
	return string(results[0].Rows[0][0]) == "t", nil
}
