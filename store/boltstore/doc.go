// Package boltstore keeps the records of package approvals in one file, with go.etcd.io/bbolt. It is the store for one
// process: the file is locked while it is open.
//
// # Promises
//
//   - What Update returned without error is on disk, and stays whole when the process is killed at any moment.
//   - Callers that wait at the same time share one write to the disk, and none of them sees anything of another that
//     fails. A lone caller waits for nothing but its own write.
//   - What is read was written: every record carries a checksum over its key and bytes. A file that was cut short or
//     damaged gives ErrDamaged, never a crash. Open checks what can be checked in a fixed time; Check reads everything,
//     and Backup copies nothing that Check refuses. Only Check notices a key that has changed in a way that keeps the
//     order: the record seems to be missing until then.
//   - Jobs are handled at least once, soon after the commit that made them due, one of a key at a time.
//
// # File
//
// Keys are lists of parts, each ended by 0x00 0x01, with 0x00 inside a part written as 0x00 0xff: they compare as the
// lists do. Numbers (seq, from, n) are eight bytes, the highest first, without an end. Every key starts with the
// workspace, but for jobs_due, which serves all of them.
//
//	bucket                  key                                            value
//	meta                    "format"                                       version of the format
//	runs                    workspace, run                                 Run
//	runs_active_place       workspace, surface, channel, thread, run       – (runs that have not ended)
//	runs_active_requester   workspace, requester, run                      –
//	runs_active_channel     workspace, channel, run                        –
//	once                    workspace, event                               time, nanoseconds since 1970
//	states                  workspace, run                                 head, as given
//	state_chunks            workspace, run, from                           items, as given
//	requests                workspace, request                             Request
//	requests_pending        workspace, request                             –
//	requests_run            workspace, run, request                        –
//	effects                 workspace, run, effect                         EffectRecord
//	audit                   workspace, seq                                 AuditEntry
//	outbox                  workspace, surface, channel, thread, id        Notification
//	sessions                workspace, surface, channel, thread, n         items, as given
//	session_keys            workspace, surface, channel, thread, key       nothing
//	jobs                    workspace, kind, id                            job with its wants
//	jobs_due                kind, due, workspace, id                       –
//
// A value is a CRC-32C over key and payload, then the payload: JSON where a type is named. Buckets with – are indexes;
// their values are empty, without a checksum, because their keys follow from the records.
//
// The dispatcher keeps in memory only what is being handled. A job that was handled is taken out of the file by the
// next commit, whoever makes it; a crash before that repeats the job.
package boltstore
