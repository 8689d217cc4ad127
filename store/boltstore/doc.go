// Package boltstore keeps the records of package approvals in one file, with go.etcd.io/bbolt. It is the store for one
// process: the file is locked while it is open.
//
// # Promises
//
//   - What Update returned without error is on disk, and stays whole when the process is killed at any moment.
//   - Callers that wait at the same time share one write to the disk, and none of them sees anything of another that
//     fails. A lone caller waits for nothing but its own write.
//   - What is read was written: every record carries a checksum over its key and bytes, or is encrypted and bound to
//     its key. A file that was cut short or damaged gives ErrDamaged, never a crash. Open checks what can be checked in
//     a fixed time; Check reads everything, and Backup and Compact copy nothing that Check refuses. Only Check notices
//     a key that has changed in a way that keeps the order: the record seems to be missing until then.
//   - Jobs are handled at least once, soon after the commit that made them due, one of a key at a time.
//
// # File
//
// Keys are lists of parts, each ended by 0x00 0x01, with 0x00 inside a part written as 0x00 0xff: they compare as the
// lists do. Numbers (seq, from, n) are eight bytes, the highest first, without an end. Every key starts with the
// workspace, but for scheduled_due, which serves all of
// them.
//
//	bucket                  key                                              value
//	meta                    "format"                                         format of the file, as text
//	                        "migration"                                      how far a migration to it has come
//	                        "encryption"                                     fileKeys, of an encrypted file
//	                        "transfer"                                       how far a move of another store into it is
//	runs                    workspace, run                                   Run
//	                        workspace, run, request                          RequestHead
//	runs_active_place       workspace, surface, channel, thread, run         – (runs that have not ended)
//	runs_active_requester   workspace, requester, run                        –
//	runs_active_channel     workspace, channel, run                          –
//	runs_ended              workspace, time, run                             – (runs that have ended)
//	request_contents        workspace, run, request                          RequestContent
//	requests                workspace, request, run                          –
//	requests_pending        workspace, request, run                          requester (of requests that are pending)
//	once                    workspace, event                                 time, nanoseconds since 1970
//	inputs                  workspace, surface, channel, thread, id          QueuedInput
//	states                  workspace, run                                   head, as given
//	state_chunks            workspace, run, from                             items, as given
//	effects                 workspace, run, effect                           EffectRecord
//	grants                  workspace, grant                                 Grant
//	grants_open             workspace, agent, tool, expiry, grant            – (grants that were not revoked or used up)
//	audit                   workspace, seq                                   AuditEntry
//	audit_unsealed          workspace, id                                    AuditEntry
//	audit_ids               workspace, id                                    – (entries that are or were unsealed)
//	sessions                workspace, surface, channel, thread, n           items, as given
//	session_keys            workspace, surface, channel, thread, key         time, as in once; earlier: nothing
//	queue                   workspace, id, "j", kind                         job that was due when it was written
//	                        workspace, place and copy, "n", id               Notification that waits
//	                        workspace, run, "r"                              nothing (runs that are queued or running)
//	scheduled               workspace, id, "j", kind                         job that is planned for later
//	scheduled_due           kind, due, workspace, id                         –
//	callbacks               workspace, request                               Callback
//	installations           workspace                                        Installation
//	dead_letters            workspace, id, surface, channel, thread, copy    Notification that was given up
//
// A value is a CRC-32C over key and payload, then the payload: a record as records_codec.go describes it where a type
// is named. Buckets with – are indexes; their values are empty, without a checksum, because their keys follow from
// the records.
//
// A file that is made with keys (Config.Keys) has format 4 instead of 3, and is the same but for its values: all of
// them, except those of meta, are a byte that says which of the file's keys encrypted it, a nonce, the encrypted
// payload, and a tag over it and format, bucket and key. Keys of entries stay as they are: they consist of ids, places,
// times, and the names of agents and tools, and hold nothing that a person or a model wrote. Keys can be replaced: the
// first of Config.Keys encrypts what is written from then on. Compact rewrites the file: under the first key alone,
// and without what was deleted. It is also how a plain file is encrypted.
//
// What one decision writes lies close together, because a commit costs what the pages cost that it touches: requests
// are behind their run, what is to be delivered is beside the job that delivers it, the mark of a run that needs a
// worker beside the job that executes it, and jobs that are due need no index by time. The bucket queue is nearly
// empty while Dispatch runs.
//
// Open brings a file of format 2 to this one, in many small transactions, and goes on where it was interrupted. A file
// that is opened for reading only must be up to date. A bucket may be added without a new format: Open makes it.
//
// A file into which another store is being moved has format 1000000 until all of it is there: no version opens it.
//
// The file is read through a memory map that is as large as the file system: Open reserves the address space, so that
// the file never outgrows its map, for which bbolt would wait for all readers. It shows as virtual size and costs
// nothing.
//
// # Jobs
//
// The scheduler (Dispatch) keeps in memory the keys of the jobs that are due, in a queue for each kind and group, and
// of those that are being handled. A job that was handled is acknowledged: the next commit takes it out of the file,
// whoever makes it; a crash before that repeats the job.
//
// # Source files
//
//	store        the open store and its transactions
//	clock        the store's time
//	commit_*     group commit: updates that wait at the same time share one write to the disk
//	txn          one caller's view of a transaction
//	records_*    its methods by kind of record; keys, indexes, checksums and encoding
//	scheduler_*  jobs: queues of what is ready, claims, handlers, acknowledgements
//	file_*       the file itself: opening, locking, mapping, migrating, checking, copying and replacing it
//	seal_*       encryption: the values, and the file's list of keys
//	compact_*    rewriting the file
//	transfer_*   its records as package transfer moves them into another store, and out of another
package boltstore
