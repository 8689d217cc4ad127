package main

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// bareStatements is how many statements a transaction of a run has, of those that read or write records.
const bareStatements = 5

// bareTransactions measures what pgx alone takes for so many transactions a run, with nothing but statements: each
// begins, writes and reads single rows by their key in one round trip, and commits in another. It is what any store on
// this driver pays before it does anything of its own.
func bareTransactions(ctx context.Context, url string, each, total, width int) (Figures, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return Figures{}, err
	}
	cfg.MaxConns = int32(width)
	connections, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return Figures{}, err
	}
	defer connections.Close()
	_, err = connections.Exec(ctx,
		"create table bare (id bigint primary key, who text not null, record bytea not null, at timestamptz not null)")
	if err != nil {
		return Figures{}, err
	}
	defer connections.Exec(context.WithoutCancel(ctx), "drop table bare")
	var last atomic.Int64
	record := []byte(strings.Repeat("x", 700))
	transaction := func(ctx context.Context) error {
		conn, err := connections.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		var b pgx.Batch
		first := last.Add(bareStatements) - bareStatements
		b.Queue("begin isolation level serializable")
		for i := range bareStatements {
			if i%2 == 0 {
				id := spread(first + int64(i))
				b.Queue("insert into bare values ($1, $2, $3, $4)", id, "somebody", record, time.Now())
				continue
			}
			q := b.Queue("select who, record, at from bare where id = $1", spread(first+int64(i-1)))
			q.Query(func(rows pgx.Rows) error {
				var who string
				var record []byte
				var at time.Time
				_, err := pgx.ForEachRow(rows, []any{&who, &record, &at}, func() error { return nil })
				return err
			})
		}
		if err := conn.SendBatch(ctx, &b).Close(); err != nil {
			_, undone := conn.Exec(ctx, "rollback")
			return errors.Join(err, undone)
		}
		_, err = conn.Exec(ctx, "commit")
		return err
	}
	return measure(ctx, "pgx alone", total, width, func(ctx context.Context, _ int) error {
		for range each {
			err := transaction(ctx)
			for isSerialization(err) {
				err = transaction(ctx)
			}
			if err != nil {
				return fmt.Errorf("bare transaction: %w", err)
			}
		}
		return nil
	})
}

// spread turns numbers that follow each other into keys that lie far from each other: transactions that read and write
// one page would get in each other's way.
func spread(n int64) int64 { return int64(bits.Reverse64(uint64(n)) >> 1) }

// isSerialization reports whether the server found that a transaction has to be tried again.
func isSerialization(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == "40001"
}
