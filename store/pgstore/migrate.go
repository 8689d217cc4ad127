package pgstore

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The files of migrations bring a schema from one version to the next. One that was released is never changed: what it
// did stands in databases.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one of them. Its version is the number that its name begins with.
type migration struct {
	version int
	name    string
	sql     string
	sum     string
}

// migrations returns all, from version 1 on.
func migrations() ([]migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]migration, len(names))
	for i, path := range names {
		sql, err := migrationFiles.ReadFile(path)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(sql)
		name := path[len("migrations/"):]
		version, err := strconv.Atoi(name[:4])
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: its number is not %d", name, i+1)
		}
		list[i] = migration{version, name, string(sql), hex.EncodeToString(sum[:])}
	}
	return list, nil
}

// upToDate reports whether our tables and River's are all as this program works with them, which is so at every start
// but the first one of a version. What it cannot tell is left to those who bring them up to date.
func (s *Store) upToDate(ctx context.Context) (bool, error) {
	ours, err := migrations()
	if err != nil {
		return false, err
	}
	river, err := s.riverMigrator(ctx, s.work)
	if err != nil {
		return false, err
	}
	var there bool
	err = s.clicks.QueryRow(ctx, "select to_regclass($1) is not null and to_regclass($2) is not null",
		s.schema+".migrations", s.schema+".river_migration").Scan(&there)
	if err != nil || !there {
		return false, err
	}
	var version int
	var done []int
	err = s.clicks.QueryRow(ctx, `select coalesce((select max(version) from migrations), 0),
		array(select version from river_migration where line = 'main')`).Scan(&version, &done)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) { // River's table had no lines once
		return false, nil
	}
	for _, m := range river.AllVersions() {
		if !slices.Contains(done, m.Version) {
			return false, err
		}
	}
	if err != nil || version != len(ours) {
		return false, err
	}
	left, err := leftIndexes(ctx, s.clicks)
	return err == nil && len(left) == 0, err
}

// migrate brings the schema up to date, or refuses one that this program must not work with. Each step is a transaction
// of its own, so that it goes on where it was interrupted. The caller sees to it that one process at a time does it.
func (s *Store) migrate(ctx context.Context) error {
	list, err := migrations()
	if err != nil {
		return err
	}
	conn, err := s.work.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	for {
		var done bool
		err := s.whenFree(ctx, func() error {
			return pgx.BeginTxFunc(ctx, conn.Conn(), pgx.TxOptions{IsoLevel: pgx.ReadCommitted},
				func(tx pgx.Tx) (err error) {
					done, err = s.migrateOnce(ctx, tx, list)
					return err
				})
		})
		if err != nil || done {
			return err
		}
	}
}

const (
	// tableWait is how long a change of a table waits for those who use it. Whoever wants it next waits behind it.
	tableWait = time.Second
	// tablePause is how long it lets others go first after that.
	tablePause = 2 * time.Second
	// saidEvery is how many tries, of three seconds each, go by until the log says once more what is waited for.
	saidEvery = 20
)

// whenFree carries out what changes tables, again and again while others use them for long, as a backup and a report
// do: replicas that are at work meanwhile go on.
func (s *Store) whenFree(ctx context.Context, change func() error) error {
	for tries := 0; ; tries++ {
		err := change()
		if !isCode(err, codeLocked) && !isCode(err, codeDeadlock) {
			return err
		}
		if tries%saidEvery == 0 {
			s.cfg.Logger.Warn("tables of the store are to be changed, and somebody uses them, such as a backup or a "+
				"report; waiting for that to end", "schema", s.schema, "error", err)
		}
		select {
		case <-time.After(tablePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// migrateOnce takes one step, and reports whether there was none left to take.
func (s *Store) migrateOnce(ctx context.Context, tx pgx.Tx, list []migration) (done bool, err error) {
	version, program, err := s.version(ctx, tx)
	switch {
	case err != nil:
		return false, err
	case version > len(list):
		return false, fmt.Errorf("%w: its schema %s has version %d, and this program knows %d; nothing is lost: run "+
			"%s or a later version", ErrNewer, s.schema, version, len(list), program)
	case version == len(list):
		return true, nil
	case s.cfg.ReadOnly && version == 0:
		return false, fmt.Errorf("the schema %s holds no store: %w", s.schema, fs.ErrNotExist)
	case s.cfg.ReadOnly:
		return false, fmt.Errorf("the schema %s has version %d and needs %d: start the bot once, or run any command "+
			"that writes", s.schema, version, len(list))
	}
	// Statements of a migration may take longer than any other.
	if _, err := tx.Exec(ctx, fmt.Sprintf("set local statement_timeout = 0; set local lock_timeout = %d",
		tableWait.Milliseconds()), pgx.QueryExecModeSimpleProtocol); err != nil {
		return false, err
	}
	return false, s.step(ctx, tx, list[version])
}

// version returns the version of the schema, 0 when it is not there, and which program made it.
func (s *Store) version(ctx context.Context, tx pgx.Tx) (version int, program string, err error) {
	var there bool
	err = tx.QueryRow(ctx, "select to_regclass($1) is not null", s.schema+".migrations").Scan(&there)
	if err != nil || !there {
		return 0, "", err
	}
	err = tx.QueryRow(ctx, "select version, program from migrations order by version desc limit 1").
		Scan(&version, &program)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, "", nil
	}
	return version, program, err
}

// step carries out one migration.
func (s *Store) step(ctx context.Context, tx pgx.Tx, m migration) error {
	if m.version == 1 {
		if err := s.createSchema(ctx, tx); err != nil {
			return err
		}
		if s.cfg.half { // what is made for a move is never taken for an empty store
			if _, err := tx.Exec(ctx, createMark); err != nil {
				return err
			}
		}
	}
	if _, err := tx.Exec(ctx, m.sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("migration %s: %w", m.name, err)
	}
	if m.version == 1 {
		if err := s.encrypt(ctx, tx); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "insert into migrations (version, name, sha256, program) values ($1, $2, $3, $4)",
		m.version, m.name, m.sum, program())
	if err == nil {
		s.cfg.Logger.Info("the schema of the store was brought up to date", "schema", s.schema, "version", m.version)
	}
	return err
}

// createSchema makes the schema unless an administrator has made it for us.
func (s *Store) createSchema(ctx context.Context, tx pgx.Tx) error {
	var there bool
	err := tx.QueryRow(ctx, "select exists (select from pg_namespace where nspname = $1)", s.schema).Scan(&there)
	if err == nil && !there {
		_, err = tx.Exec(ctx, "create schema "+pgx.Identifier{s.schema}.Sanitize())
	}
	if err == nil {
		_, err = tx.Exec(ctx, `create table if not exists migrations (
			version integer primary key, name text not null, sha256 text not null,
			program text not null, at timestamptz not null default clock_timestamp())`)
	}
	if err != nil {
		return fmt.Errorf("make the schema %s, for which the role needs CREATE on the database, or on a schema that "+
			"is there: %w", s.schema, err)
	}
	return nil
}

// program names this program and its version.
func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "countersign (unknown version)"
	}
	return "countersign " + info.Main.Version
}
