package boltstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
	"countersign/store/transfer"
)

// importRecord adds a record that is not there, with its index entries.
func (t *tx) importRecord(r transfer.Record) error {
	switch r := r.(type) {
	case transfer.Run:
		return t.putRun(r.Run)
	case transfer.Request:
		k := requestKey(r.Workspace, r.Request.Run, r.ID)
		return errors.Join(t.putHead(&r.RequestHead, r.Request.Run, false), t.put(bucketContents, k, &r.RequestContent))
	case transfer.Effect:
		return t.put(bucketEffects, key(r.Key()...), r.EffectRecord)
	case transfer.Grant:
		return t.putGrant(r.Grant)
	case transfer.Callback:
		return t.put(bucketCallbacks, key(r.Key()...), r.Callback)
	case transfer.Input:
		return t.put(bucketInputs, key(r.Key()...), r.QueuedInput)
	case transfer.Installation:
		return t.put(bucketInstallations, key(r.Key()...), r.Installation)
	case transfer.Audit:
		return t.appendSealed(r.AuditEntry)
	case transfer.Unsealed:
		k := key(r.Key()...)
		return errors.Join(t.mark(bucketAuditIDs, k), t.put(bucketUnsealed, k, r.AuditEntry))
	case transfer.Notification:
		return t.put(bucketQueue, notificationKey(r.Notification), r.Notification)
	case transfer.DeadLetter:
		return t.put(bucketDead, deadKey(r.Notification), r.Notification)
	case transfer.Job:
		return t.importJob(r)
	case transfer.Counter:
		return t.bucket(bucketQueue).SetSequence(r.Generation)
	}
	return t.importRaw(r)
}

// importRaw adds a record whose value is kept as it is given.
func (t *tx) importRaw(r transfer.Record) error {
	switch r := r.(type) {
	case transfer.State:
		return t.putRaw(bucketStates, key(r.Key()...), r.Head)
	case transfer.StateChunk:
		return t.putRaw(bucketChunks, appendNumber(key(string(r.Workspace), string(r.Run)), r.From), r.Items)
	case transfer.Event:
		return t.putRaw(bucketOnce, key(r.Key()...), appendNumber(nil, instant(r.At)))
	case transfer.SessionChunk:
		return t.putRaw(bucketSessions, appendNumber(placeKey(r.Workspace, r.Place), r.N), r.Items)
	case transfer.SessionKey:
		var at []byte
		if !r.At.IsZero() {
			at = appendNumber(nil, instant(r.At))
		}
		return t.putRaw(bucketSessionKey, appendPart(placeKey(r.Workspace, r.Place), r.Name), at)
	}
	return fmt.Errorf("%w: this store keeps no %s", approvals.ErrInvalid, r.Kind())
}

// importJob adds a job as if it had been enqueued once, for when it is due.
func (t *tx) importJob(r transfer.Job) error {
	rec := &storedJob{jobRecord: jobRecord{
		Job: r.Job, First: r.Generation, DueTimes: []dueTime{{Gen: r.Generation, Due: r.Due}}, NotBefore: r.NotBefore,
	}}
	return t.putJob(jobKey(r.Workspace, r.Job.Kind, r.ID), rec)
}
