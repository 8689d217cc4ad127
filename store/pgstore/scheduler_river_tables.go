package pgstore

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// searchIndexes are those of River's indexes that nothing of it uses but searches in the arguments of jobs. To keep
// them up costs more than everything else about a reminder together (BenchmarkEnqueue), so they are dropped; they are
// there while River changes its tables.
var searchIndexes = []struct{ name, column string }{
	{"river_job_args_index", "args"}, {"river_job_metadata_index", "metadata"},
}

func isSearchIndex(name string) bool {
	return slices.ContainsFunc(searchIndexes, func(i struct{ name, column string }) bool { return i.name == name })
}

// sqlLeftIndexes finds those of River's indexes that are to be dropped, where the role may do that: those for searches,
// which a process has left that was killed between making and dropping them, and half made ones, which River left when
// it still rebuilt indexes.
const sqlLeftIndexes = `select c.relname::text from pg_index i join pg_class c on c.oid = i.indexrelid
	where i.indrelid = to_regclass('river_job') and pg_has_role(c.relowner, 'usage')
		and (c.relname = any($1) or not i.indisvalid)`

// leftIndexes returns the names of indexes that are to be dropped.
func leftIndexes(ctx context.Context, db *pgxpool.Pool) ([]string, error) {
	names := make([]string, len(searchIndexes))
	for i := range searchIndexes {
		names[i] = searchIndexes[i].name
	}
	rows, err := db.Query(ctx, sqlLeftIndexes, names)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// migrateRiver brings River's tables, which lie beside ours, up to date. One process at a time does it.
func (s *Store) migrateRiver(ctx context.Context) error {
	err := func() error {
		db, err := s.patientPool(ctx)
		if err != nil {
			return err
		}
		defer db.Close()
		return s.whenFree(ctx, func() error { return s.migrateRiverOn(ctx, db) })
	}()
	if err != nil {
		return fmt.Errorf("prepare River's tables: %w", err)
	}
	return nil
}

// patientPool returns connections for statements that may take longer than any other, because they change large tables.
// One is for a lock.
func (s *Store) patientPool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg := s.work.Config()
	cfg.MaxConns, cfg.MinConns = 2, 0
	params := cfg.ConnConfig.RuntimeParams
	params["statement_timeout"], params[idleTimeout] = "0", "0"
	params["lock_timeout"] = strconv.FormatInt(tableWait.Milliseconds(), 10)
	return pgxpool.NewWithConfig(ctx, cfg)
}

func (s *Store) riverMigrator(ctx context.Context, db *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(db),
		&rivermigrate.Config{Schema: s.schema, Logger: quiet(ctx, s.cfg.Logger)})
}

func (s *Store) migrateRiverOn(ctx context.Context, db *pgxpool.Pool) error {
	m, err := s.riverMigrator(ctx, db)
	if err != nil {
		return err
	}
	lock := fnv.New64a()
	lock.Write([]byte("countersign River " + s.schema))
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(lock.Sum64())); err != nil {
		return err
	}
	now, err := m.Validate(ctx, nil)
	if err == nil && !now.OK {
		err = changeRiver(ctx, db, m)
	}
	if err != nil {
		return err
	}
	left, err := leftIndexes(ctx, db)
	if err != nil {
		return err
	}
	for _, name := range left {
		if _, err := db.Exec(ctx, "drop index if exists "+pgx.Identifier{name}.Sanitize()); err != nil {
			return err
		}
	}
	return nil
}

// changeRiver has River change its tables. It finds all the indexes there that it once made.
func changeRiver(ctx context.Context, db *pgxpool.Pool, m *rivermigrate.Migrator[pgx.Tx]) error {
	var there bool
	if err := db.QueryRow(ctx, "select to_regclass('river_job') is not null").Scan(&there); err != nil {
		return err
	}
	for _, i := range searchIndexes {
		if !there {
			break
		}
		_, err := db.Exec(ctx, "create index if not exists "+i.name+" on river_job using gin ("+i.column+")")
		if err != nil {
			return err
		}
	}
	_, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}
