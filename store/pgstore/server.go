package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// ErrStandby is returned for a server that is a standby: it takes no writes, and may lag behind.
	ErrStandby = errors.New("PostgreSQL server is a standby: name the primary, or list all hosts in the URL")
	// ErrTakesNoWrites is returned for a server whose transactions only read unless they say otherwise: a managed
	// service sets that where its disk is nearly full, and an operator where a copy is to take the database's place.
	ErrTakesNoWrites = errors.New("PostgreSQL has default_transaction_read_only=on for this role, database or " +
		"server, and shall not be written to: find out why (a disk that is nearly full, a move), then set it to off")
	// ErrAsync is returned for a server with synchronous_commit=off: it acknowledges what a crash then loses.
	ErrAsync = errors.New("PostgreSQL has synchronous_commit=off for this role, database or server, and would lose " +
		"acknowledged decisions in a crash: set it to on")
	// ErrPooler is returned where the settings of a session get lost on the way to the server: its tables would be in
	// another schema.
	ErrPooler = errors.New("a pooler between this program and PostgreSQL does not pass on the settings of a session " +
		"(pgbouncer's ignore_startup_parameters): name the server itself in the URL; " +
		"docs/postgresql.md has the reasons")
)

// use is what a connection is for.
type use int

const (
	forReading use = iota
	forJobs        // what is written may be lost
	forRecords
)

// checkServer refuses a server that cannot keep what it acknowledges. It is asked of every new connection: after a
// failover a name may lead elsewhere. sent are the settings that the session was asked for.
func checkServer(ctx context.Context, c *pgconn.PgConn, sent map[string]string, u use) error {
	results, err := c.Exec(ctx, "select pg_is_in_recovery(), current_setting('synchronous_commit'), "+history+
		", current_setting('search_path'), current_setting('enable_hashjoin'), "+
		"current_setting('default_transaction_read_only')").ReadAll()
	if err != nil {
		return err
	}
	row := results[0].Rows[0]
	switch {
	case string(row[3]) != sent["search_path"], string(row[4]) != sent["enable_hashjoin"]:
		return ErrPooler
	case string(row[0]) == "t":
		return ErrStandby
	case string(row[1]) == "off" && u == forRecords:
		return ErrAsync
	case string(row[5]) == "on" && u != forReading:
		return ErrTakesNoWrites
	}
	c.CustomData()[historyKey] = string(row[2])
	return nil
}

// history names the stretch of a server's life in which no number of a transaction is given twice. It ends with a
// failover, which begins another timeline, and with a crash, which resets the statistics: numbers that were given but
// not written to disk are given again after it. No connection outlives either, so a connection has one history.
const history = `case when pg_is_in_recovery() then '' else left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' ||
	(select coalesce(stats_reset::text, '') from pg_stat_wal) end`

const historyKey = "countersign history"

func historyOf(conn *pgx.Conn) string {
	h, _ := conn.PgConn().CustomData()[historyKey].(string)
	return h
}

// inspect warns of what an operator should know, and starts the clock.
func (s *Store) inspect(ctx context.Context) error {
	var fsync, pages string
	var async, sync int
	before := s.elapsed()
	var wall time.Time
	err := s.clicks.QueryRow(ctx, `select current_setting('fsync'), current_setting('full_page_writes'),
		(select count(*) from pg_stat_replication where sync_state = 'async'),
		(select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum', 'potential')),
		clock_timestamp()`).Scan(&fsync, &pages, &async, &sync, &wall)
	if err != nil {
		return fmt.Errorf("ask the server for its settings: %w", err)
	}
	if fsync == "off" || pages == "off" {
		s.cfg.Logger.Warn("PostgreSQL does not keep what it acknowledges when the machine loses power: set fsync and "+
			"full_page_writes to on", "fsync", fsync, "full_page_writes", pages)
	}
	if async > 0 && sync == 0 {
		s.cfg.Logger.Warn("PostgreSQL's replicas are asynchronous: a failover to one can lose acknowledged decisions; "+
			"name a synchronous one in synchronous_standby_names", "replicas", async)
	}
	s.clock = newClock(s.cfg.Logger, wall, before)
	newest, now, err := s.newestRecord(ctx)
	if err == nil && newest.After(now) {
		s.clock.behind(newest)
	}
	return err
}

// newestRecord returns when the newest entry of the audit trail was written, zero when there is none, and what the
// server's clock said after that: other replicas write meanwhile.
func (s *Store) newestRecord(ctx context.Context) (newest, now time.Time, err error) {
	var at *time.Time
	err = s.clicks.QueryRow(ctx, auditWorkspaces+`select greatest(
		(select max(at) from audit where unsealed_id is not null),
		(select max(x.at) from workspaces w, lateral (select a.at from audit a
			where a.workspace = w.workspace and a.seq is not null order by a.seq desc limit 1) x)),
		clock_timestamp()`).Scan(&at, &now)
	if err != nil {
		return newest, now, fmt.Errorf("look for the newest record: %w", err)
	}
	if at != nil {
		newest = *at
	}
	return newest, now, nil
}
