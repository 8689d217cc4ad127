package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
)

// Compare drives the store and a [Memory] with the same random transactions, and compares what every call says and
// what both hold in the end. Transactions commit, fail or panic; in between the store is closed and opened again.
func Compare(t *testing.T, open func(t testing.TB) Harness) {
	rapid.Check(t, func(r *rapid.T) {
		real, model := open(t), NewMemory()
		m := &machine{rapid: r, t: t, harness: real, real: real.Open(), model: model.Open(), data: model}
		defer func() { m.real.Close() }()
		r.Repeat(map[string]func(*rapid.T){
			"commit": func(*rapid.T) { m.transact(nil) },
			"fail":   func(*rapid.T) { m.transact(errors.New("refused")) },
			"panic":  func(*rapid.T) { m.transactAndPanic() },
			"reopen": func(*rapid.T) { m.reopen() },
		})
		m.compare()
	})
}

// machine holds a store and its model.
type machine struct {
	rapid   *rapid.T
	t       testing.TB
	harness Harness
	real    approvals.Store
	model   approvals.Store
	data    *Memory
}

// operation is one call, made on both stores; its result is compared.
type operation func(tx approvals.Tx) string

func (m *machine) transact(outcome error) {
	ops := rapid.SliceOfN(rapid.Custom(drawOperation), 1, 8).Draw(m.rapid, "operations")
	var results [2][]string
	for i, s := range []approvals.Store{m.real, m.model} {
		err := s.Update(m.t.Context(), func(tx approvals.Tx) error {
			results[i] = nil
			for _, op := range ops {
				results[i] = append(results[i], op(tx))
			}
			return outcome
		})
		if err != outcome {
			m.rapid.Fatalf("update: %v, want %v", err, outcome)
		}
	}
	if d := diff(results[1], results[0]); d != "" {
		m.rapid.Fatalf("what the calls said (-model +store):\n%s", d)
	}
}

func (m *machine) transactAndPanic() {
	defer func() {
		if r := recover(); r != any("boom") {
			panic(r)
		}
	}()
	op := drawOperation(m.rapid)
	m.real.Update(m.t.Context(), func(tx approvals.Tx) error {
		op(tx)
		panic("boom")
	})
}

func (m *machine) reopen() {
	if err := errors.Join(m.real.Close(), m.model.Close()); err != nil {
		m.rapid.Fatal(err)
	}
	m.real, m.model = m.harness.Open(), m.data.Open()
	m.compare()
}

// compare reads everything that the operations may have written.
func (m *machine) compare() {
	var contents [2][]string
	for i, s := range []approvals.Store{m.real, m.model} {
		err := s.View(m.t.Context(), func(tx approvals.Tx) error {
			for _, w := range machineWorkspaces {
				for _, read := range reads(w) {
					contents[i] = append(contents[i], read(tx))
				}
			}
			contents[i] = append(contents[i], say(tx.AuditWorkspaces()))
			return nil
		})
		if err != nil {
			m.rapid.Fatal(err)
		}
	}
	if d := diff(contents[1], contents[0]); d != "" {
		m.rapid.Fatalf("what the stores hold (-model +store):\n%s", d)
	}
}

// say puts a result into words. Of errors only the sentinels are compared.
func say(v any, err error) string {
	for _, known := range []error{approvals.ErrNotFound, approvals.ErrInvalid} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "error"
	}
	data, err := marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func tell(err error) string { return say("ok", err) }

var (
	machineWorkspaces = []approvals.WorkspaceID{"T1", "T11"}
	machineIDs        = []string{"1", "10", "2", "a", "B", "ä"}
	machineThreads    = []string{"", "1", "11"}
)

func machinePlace(thread string) approvals.Place {
	return approvals.Place{Surface: "slack", Channel: "C1", Thread: thread}
}

// drawOperation draws one write, or one read within the transaction.
func drawOperation(t *rapid.T) operation {
	w := rapid.SampledFrom(machineWorkspaces).Draw(t, "workspace")
	id := rapid.SampledFrom(machineIDs).Draw(t, "id")
	p := machinePlace(rapid.SampledFrom(machineThreads).Draw(t, "thread"))
	n := rapid.IntRange(0, 3).Draw(t, "number")
	at := time.UnixMicro(1_700_000_000_000_000 + int64(n)).UTC()
	raw := json.RawMessage(fmt.Sprintf(`{"n":%d,"s":"<&>"}`, n))
	writes := []operation{
		func(tx approvals.Tx) string {
			status := []approvals.RunStatus{approvals.RunQueued, approvals.RunWaiting, approvals.RunDone, approvals.RunFailed}[n]
			r := &approvals.Run{Workspace: w, ID: approvals.RunID(id), Place: p, Requester: approvals.NewUserID(w, p.Thread), Status: status, Created: at}
			return tell(tx.PutRun(r))
		},
		func(tx approvals.Tx) string {
			status := []approvals.RequestStatus{approvals.RequestPending, approvals.RequestApproved, approvals.RequestPending, approvals.RequestStale}[n]
			r := &approvals.Request{Workspace: w, ID: approvals.RequestID(id), Run: approvals.RunID(machineIDs[n]), Place: p,
				Arguments: raw, Status: status, Created: at}
			return tell(tx.PutRequest(r))
		},
		func(tx approvals.Tx) string {
			return tell(tx.PutState(w, approvals.RunID(id), agent.Delta{Head: raw, From: n * 100, Count: n % 2, Items: raw}))
		},
		func(tx approvals.Tx) string { return tell(tx.DeleteState(w, approvals.RunID(id))) },
		func(tx approvals.Tx) string {
			return tell(tx.PutEffect(&approvals.EffectRecord{Workspace: w, Run: "1", ID: id, Attempt: n, Intent: at}))
		},
		func(tx approvals.Tx) string {
			e := &approvals.AuditEntry{Workspace: w, Seq: uint64(n), At: at, Data: raw}
			if head, err := tx.AuditHead(w); err == nil && n > 0 {
				e.Seq, e.Prev = head.Seq+1, head.Hash
			}
			return tell(tx.PutAudit(e))
		},
		func(tx approvals.Tx) string {
			return tell(tx.PutNotification(&approvals.Notification{Workspace: w, ID: approvals.NotificationID(id), Place: p, Attempts: n, Created: at}))
		},
		func(tx approvals.Tx) string {
			return tell(tx.DeleteNotification(&approvals.Notification{Workspace: w, ID: approvals.NotificationID(id), Place: p}))
		},
		func(tx approvals.Tx) string { return tell(tx.AppendSession(w, p, id, raw)) },
		func(tx approvals.Tx) string { return say(tx.Once(w, id, at)) },
		func(tx approvals.Tx) string {
			return tell(tx.Enqueue(approvals.Job{Workspace: w, Kind: approvals.JobRun, ID: id, Due: at}))
		},
		func(tx approvals.Tx) string { return tell(tx.PutRun(&approvals.Run{Workspace: w})) },
	}
	return rapid.SampledFrom(append(writes, reads(w)...)).Draw(t, "operation")
}

// reads returns calls that together read everything of a workspace.
func reads(w approvals.WorkspaceID) []operation {
	list := []operation{
		func(tx approvals.Tx) string { return say(tx.PendingRequests(w, "", 3)) },
		func(tx approvals.Tx) string { return say(tx.PendingRequests(w, "10", 100)) },
		func(tx approvals.Tx) string { return say(tx.AuditHead(w)) },
		func(tx approvals.Tx) string { return say(tx.AuditEntries(w, 2, 3)) },
		func(tx approvals.Tx) string { return say(tx.AuditEntries(w, 0, 1000)) },
		func(tx approvals.Tx) string { return say(tx.ActiveRuns(w, "", "C1")) },
		func(tx approvals.Tx) string { return say(tx.ActiveRuns(w, approvals.NewUserID(w, "1"), "")) },
	}
	for _, id := range machineIDs {
		list = append(list,
			func(tx approvals.Tx) string { return say(tx.Run(w, approvals.RunID(id))) },
			func(tx approvals.Tx) string { return say(tx.Request(w, approvals.RequestID(id))) },
			func(tx approvals.Tx) string { return say(tx.RequestsOfRun(w, approvals.RunID(id))) },
			func(tx approvals.Tx) string { return say(tx.Effect(w, "1", id)) },
			func(tx approvals.Tx) string {
				head, chunks, err := tx.State(w, approvals.RunID(id))
				return say(append(chunks, head), err)
			})
	}
	for _, thread := range machineThreads {
		p := machinePlace(thread)
		list = append(list,
			func(tx approvals.Tx) string { return say(tx.ActiveRun(w, p)) },
			func(tx approvals.Tx) string { return say(tx.Notifications(w, p, 100)) },
			func(tx approvals.Tx) string { return say(tx.Session(w, p)) })
	}
	return list
}
