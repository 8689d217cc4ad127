package storetest

import (
	"errors"
	"fmt"
	"testing"

	"countersign/approvals"
)

// BenchmarkMemory measures what a decision costs, beside 200 others.
func BenchmarkMemory(b *testing.B) {
	for name, chaos := range map[string]Chaos{"calm": {}, "chaos": {Rerun: true, Defer: true}} {
		b.Run(name, func(b *testing.B) {
			data := NewMemory().Unreliable(chaos)
			store := data.Open()
			defer store.Close()
			decide := func(i int) {
				err := store.Update(b.Context(), func(tx approvals.Tx) error { return benchDecision(tx, i) })
				if err != nil {
					b.Fatal(err)
				}
			}
			n := 0
			for b.Loop() {
				decide(n)
				n++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
		})
	}
}

// benchDecision reads and writes about what a decision does.
func benchDecision(tx approvals.Tx, i int) error {
	id := fmt.Sprintf("%06d", i%200)
	r := run(approvals.RunID("run_"+id), approvals.RunWaiting)
	q := request(approvals.RequestID("req_"+id), approvals.RequestPending)
	q.Run, r.Place.Thread = r.ID, id
	if err := errors.Join(tx.PutRun(r), tx.PutRequest(q)); err != nil {
		return err
	}
	pending, err1 := tx.PendingOf(ws, "T1/U1")
	ofRun, err2 := tx.RequestsOfRun(ws, r.ID)
	whole, err3 := tx.Request(ws, q.ID)
	if err := errors.Join(err1, err2, err3); err != nil || pending == 0 || len(ofRun) != 1 {
		return errors.Join(err, errors.New("not there"))
	}
	whole.Status = approvals.RequestApproved
	n := notification(approvals.NotificationID("ntf_" + id))
	n.Place = r.Place
	e := unsealed(approvals.AuditID(fmt.Sprintf("aud_%08d", i)))
	return errors.Join(tx.PutRequestHead(&whole.RequestHead), tx.AppendAudit(e),
		tx.PutNotification(n), tx.Enqueue(job("run_"+id)), tx.PutRun(r))
}
