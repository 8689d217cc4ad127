// Package pgstore keeps the records of package approvals in PostgreSQL, with github.com/jackc/pgx/v5. It is the store
// for several processes at once.
//
// # Promises
//
//   - What Update returned without error is committed. When the connection is lost at the commit, the server is asked
//     what became of the transaction; approvals.ErrCommitUnknown is returned only when that cannot be found out before
//     the caller's context ends.
//   - Every transaction is SERIALIZABLE. What the server refuses because of others is tried again, with the closure run
//     again, until the caller's context ends.
//   - The time of a transaction is the server's: one clock for all who use it.
//   - A server that cannot keep what it acknowledges is refused: a standby, and one with synchronous_commit off.
//   - A database that was written with keys does not open without them, nor a plain one with them.
//
// # Tables
//
// They lie in a schema of their own, which the URL names (…?schema=NAME, by default countersign), so that several bots
// share a database. migrations/ says what each holds. A record is kept whole, as JSON or sealed, in one column; beside
// it are the columns that are looked up. docs/postgresql.md is for those who run the database.
//
// # Source files
//
//	store pool server     opening and closing, connections, what is asked of the server
//	config                reading the URL
//	examine               what countersign check asks
//	migrate               bringing the schema up to date
//	clock                 the store's time
//	txn txn_queue         one transaction; puts that wait for the next round trip
//	update retry          running closures, and running them again
//	commit                committing, and finding out what became of a commit
//	format format_fields  programs of two versions on one schema
//	keys seal             encryption
//	place                 what may be shown of a URL
//	records_*             the methods of a transaction by kind of record; lists of what waits, texts, encoding
//	transfer_*            its records as package transfer moves them, and who may be there meanwhile
//	scheduler_enqueue     planning jobs in a transaction
//	scheduler scheduler_dispatch scheduler_lanes scheduler_ready scheduler_handle scheduler_others
//	                      handing out what is due
//	scheduler_claim scheduler_ack scheduler_announce scheduler_river
//	                      claims, how handlers ended, who is told, and River
package pgstore
