package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"countersign/store/seal"
)

// Examination is what Examine has found.
type Examination struct {
	Server string // its version, as it says
	Place  Place
	// Version is that of the schema, 0 when that is not there; Needs is the one that this program works with.
	Version, Needs int
	// Format is the number of the form in which records are written; 0 when the schema has none yet.
	Format int
	// Processes is how many have the store open to write.
	Processes int
	// MayCreate says, where the schema is not there, whether the role may make it.
	MayCreate bool
	Encrypted bool
	keys      []storeKey
	half      bool // of what is being moved into it
	// barred is a table that the role may not write; empty when there is none.
	barred string
	// others is a table that the role may not change, because it is another one's; empty when there is none.
	others string
	// Synchronous and Asynchronous count the replicas of the server, as far as the role may see them.
	Synchronous, Asynchronous int
	SynchronousCommit         string
	Fsync, FullPageWrites     bool
	// Ahead is by how much the server's clock is ahead of this machine's, up to half of RoundTrip.
	Ahead, RoundTrip time.Duration
}

// Examine looks at the database that the URL names and changes nothing. It returns an error for what Open would refuse:
// a server that cannot be reached, a standby, one that takes no writes, synchronous_commit=off, a role that may not
// write, a schema or records of a newer version, and half of a move. Keys are tried by Opens.
func Examine(ctx context.Context, url string) (*Examination, error) {
	pool, schema, err := readURL(url, false) // as for a start: the server says what such a session may do
	if err != nil {
		return nil, err
	}
	e := &Examination{}
	if e.Place, err = PlaceOf(url); err != nil {
		return nil, err
	}
	cfg := pool.ConnConfig
	cfg.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) error {
		return checkServer(ctx, c, cfg.RuntimeParams, forRecords)
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", explain(err))
	}
	defer closeOwn(ctx, conn)
	if err := e.ask(ctx, conn, schema); err != nil {
		return nil, fmt.Errorf("ask PostgreSQL: %w", explain(err))
	}
	return e, e.refusal(schema)
}

func (e *Examination) ask(ctx context.Context, conn *pgx.Conn, schema string) error {
	list, err := migrations()
	if err != nil {
		return err
	}
	e.Needs = len(list)
	var there, announced bool
	var wall time.Time
	before := time.Now()
	if err := conn.QueryRow(ctx, "select clock_timestamp()").Scan(&wall); err != nil {
		return err
	}
	e.RoundTrip = time.Since(before)
	e.Ahead = wall.Sub(before.Add(e.RoundTrip / 2))
	err = conn.QueryRow(ctx, `select current_setting('server_version'), current_setting('synchronous_commit'),
		current_setting('fsync')::bool, current_setting('full_page_writes')::bool,
		(select count(*) from pg_stat_replication where sync_state = 'async'),
		(select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum', 'potential')),
		to_regclass($1 || '.migrations') is not null, to_regclass($1 || '.format') is not null,
		to_regclass($1 || '.transfer') is not null,
		has_database_privilege(current_database(), 'create')
			or exists (select from pg_namespace where nspname = $1 and has_schema_privilege(oid, 'create'))`,
		schema).Scan(&e.Server, &e.SynchronousCommit, &e.Fsync, &e.FullPageWrites, &e.Asynchronous, &e.Synchronous,
		&there, &announced, &e.half, &e.MayCreate)
	if err != nil || !there {
		return err
	}
	err = conn.QueryRow(ctx, `select coalesce((select max(version) from migrations), 0), coalesce(`+barredTable+`, ''),
		coalesce(`+othersTable+`, '')`, schema).Scan(&e.Version, &e.barred, &e.others)
	if err != nil {
		return err
	}
	e.keys, err = storeKeys(ctx, conn)
	if e.Encrypted = len(e.keys) > 0; err != nil || !announced {
		return err
	}
	return conn.QueryRow(ctx, `select (select number from format),
		(select count(*) from replicas where until > clock_timestamp())`).Scan(&e.Format, &e.Processes)
}

// Opens returns the error that Open would return for the keys of an encrypted store: one that wraps ErrKeys.
func (e *Examination) Opens(given *seal.Keyring) error {
	_, err := ciphersOf(e.Place.Schema, e.keys, given)
	return err
}

// barredTable names a table of the program, one that has the owner of its first, which the role may not write.
const barredTable = `(select c.relname from pg_class c
	where c.relnamespace = to_regnamespace($1) and c.relkind = 'r'
		and c.relowner = (select relowner from pg_class where oid = to_regclass('migrations'))
		and not (has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
			and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete'))
	order by c.relname limit 1)`

// othersTable names a table of the program, one that has the owner of its first, where that is another role whose
// rights this one lacks.
const othersTable = `(select c.relname from pg_class c
	where c.relnamespace = to_regnamespace($1) and c.relkind = 'r' and not pg_has_role(c.relowner, 'usage')
		and c.relowner = (select relowner from pg_class where oid = to_regclass('migrations'))
	order by c.relname limit 1)`

// refusal is what Open would say to what was found.
func (e *Examination) refusal(schema string) error {
	switch {
	case e.Version > e.Needs:
		return fmt.Errorf("%w: its schema %s has version %d, and this program knows %d; nothing is lost: "+
			"run the newer program", ErrNewer, schema, e.Version, e.Needs)
	case e.Format > formatNow:
		return fmt.Errorf("%w: the records of schema %s are written in format %d, and this program reads %d; "+
			"nothing is lost: run the newer program", ErrNewer, schema, e.Format, formatNow)
	case e.half:
		return halfError(schema)
	case e.barred != "":
		return fmt.Errorf("%w the table %s.%s: docs/postgresql.md lists what the role needs", ErrNoRight, schema,
			e.barred)
	case e.Version > 0 && e.Version < e.Needs && e.others != "":
		return fmt.Errorf("%w: this version of the program changes tables of the schema %s when it starts, and %s.%s "+
			"is another role's: docs/postgresql.md lists what the role needs", ErrNotOwner, schema, schema, e.others)
	case e.Version == 0 && !e.MayCreate:
		return fmt.Errorf("%w: the schema %s is not there, and the role may not make it: "+
			"grant create on the database, or make the schema (docs/postgresql.md)", ErrNoSchema, schema)
	}
	return nil
}
