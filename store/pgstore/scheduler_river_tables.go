package pgstore

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/jackc/pgx/v5"
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
	m, err := s.riverMigrator(ctx)
	if err == nil {
		err = s.migrateRiverBy(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("prepare River's tables: %w", err)
	}
	return nil
}

func (s *Store) riverMigrator(ctx context.Context) (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(s.work),
		&rivermigrate.Config{Schema: s.schema, Logger: quiet(ctx, s.cfg.Logger)})
}

func (s *Store) migrateRiverBy(ctx context.Context, m *rivermigrate.Migrator[pgx.Tx]) error {
	if now, err := m.Validate(ctx, nil); err != nil || now.OK {
		return err
	}
	lock := fnv.New64a()
	lock.Write([]byte("countersign River " + s.schema))
	tx, err := s.clicks.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	_, err = tx.Exec(ctx, "set local lock_timeout = 0; set local idle_in_transaction_session_timeout = 0",
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(lock.Sum64())); err != nil {
		return err
	}
	if now, err := m.Validate(ctx, nil); err != nil || now.OK {
		return err // somebody else has done it
	}
	var there bool
	if err := s.work.QueryRow(ctx, "select to_regclass('river_job') is not null").Scan(&there); err != nil {
		return err
	}
	for _, i := range searchIndexes {
		if !there {
			break
		}
		_, err := s.work.Exec(ctx, "create index if not exists "+i.name+" on river_job using gin ("+i.column+")")
		if err != nil {
			return err
		}
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	for _, i := range searchIndexes {
		if _, err := s.work.Exec(ctx, "drop index if exists "+i.name); err != nil {
			return err
		}
	}
	return nil
}
