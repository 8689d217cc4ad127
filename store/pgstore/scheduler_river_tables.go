package pgstore

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

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

// migrateRiver brings River's tables, which lie beside ours, up to date. One process at a time does it.
func (s *Store) migrateRiver(ctx context.Context) error {
	err := func() error {
		db, err := s.patientPool(ctx)
		if err != nil {
			return err
		}
		defer db.Close()
		return s.migrateRiverOn(ctx, db)
	}()
	if err != nil {
		return fmt.Errorf("prepare River's tables: %w", err)
	}
	return nil
}

// patientPool returns connections for statements that may take longer than any other: they change large tables, or wait
// for another process that does. One is for a lock.
func (s *Store) patientPool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg := s.work.Config()
	cfg.MaxConns, cfg.MinConns = 2, 0
	params := cfg.ConnConfig.RuntimeParams
	params["statement_timeout"], params["lock_timeout"], params[idleTimeout] = "0", "0", "0"
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
	if now, err := m.Validate(ctx, nil); err != nil || now.OK {
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
	if now, err := m.Validate(ctx, nil); err != nil || now.OK {
		return err // somebody else has done it
	}
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
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	for _, i := range searchIndexes {
		if _, err := db.Exec(ctx, "drop index if exists "+i.name); err != nil {
			return err
		}
	}
	return nil
}
