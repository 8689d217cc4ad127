package boltstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"countersign/approvals"
)

// BenchmarkRecords writes and reads what a decision writes and reads (a run, the head of a request, three audit
// entries, a notification), without waiting for the disk, in a plain and in an encrypted file.
func BenchmarkRecords(b *testing.B) {
	for _, c := range []struct {
		name string
		cfg  Config
	}{{"plain", Config{}}, {"encrypted", Config{Keys: testKeys(b, "a")}}} {
		b.Run(c.name, func(b *testing.B) {
			s, err := Open(filepath.Join(b.TempDir(), "store.db"), c.cfg)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			s.db.NoSync = true
			seq := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				seq += 3
				mustUpdate(b, s, func(tx approvals.Tx) error { return decideOnce(tx, seq) })
			}
		})
	}
}

// decideOnce replaces the records of one of 200 requests, and appends the audit entries up to seq.
func decideOnce(tx approvals.Tx, seq uint64) error {
	id := fmt.Sprintf("%06d", seq%200)
	r := request(approvals.RequestID("req_"+id), approvals.RunID("run_"+id), approvals.RequestApproved)
	r.Decisions = []approvals.Decision{{ID: "dec_1", By: "T1/U1", Verdict: approvals.Approve, Reason: "as agreed"}}
	place := approvals.Place{Surface: "slack", Channel: "C1", Thread: id}
	run := &approvals.Run{Workspace: "T1", ID: r.Run, Place: place, Status: approvals.RunQueued, Input: "pay it"}
	err := errors.Join(tx.PutRun(run), tx.PutRequest(r), tx.PutNotification(&approvals.Notification{
		Workspace: "T1", ID: approvals.NotificationID("ntf_" + id), Place: place, Request: r.ID,
	}))
	for n := seq - 2; n <= seq; n++ {
		err = errors.Join(err, tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", Seq: n,
			Action: approvals.AuditDecision, Run: r.Run, Request: r.ID, Data: []byte(`{"via":"button"}`)}))
	}
	_, rerr := tx.Request("T1", r.ID)
	return errors.Join(err, rerr)
}
