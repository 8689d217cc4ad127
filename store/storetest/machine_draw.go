package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
)

var (
	machineWorkspaces = []approvals.WorkspaceID{"T1", "T11"}
	machineIDs        = []string{"1", "10", "2", "a", "B", "ä"}
	machineThreads    = []string{"", "1", "11"}
	machineCopies     = []approvals.Copy{"", "dm:U1"}
)

func machinePlace(thread string) approvals.Place {
	return approvals.Place{Surface: "slack", Channel: "C1", Thread: thread}
}

func machineTime(n int) time.Time { return time.UnixMicro(1_700_000_000_000_000 + int64(n)).UTC() }

// drawn is what operations are made of.
type drawn struct {
	ws     approvals.WorkspaceID
	id     string
	place  approvals.Place
	copy   approvals.Copy
	n      int // 0 to 3
	at     time.Time
	raw    json.RawMessage
	text   string
	status approvals.RequestStatus
}

// drawOperation draws one write, or one read within the transaction.
func drawOperation(t *rapid.T) operation {
	n := rapid.IntRange(0, 3).Draw(t, "number")
	d := drawn{
		ws:    rapid.SampledFrom(machineWorkspaces).Draw(t, "workspace"),
		id:    rapid.SampledFrom(machineIDs).Draw(t, "id"),
		place: machinePlace(rapid.SampledFrom(machineThreads).Draw(t, "thread")),
		copy:  rapid.SampledFrom(machineCopies).Draw(t, "copy"),
		n:     n, at: machineTime(n), raw: json.RawMessage(fmt.Sprintf(`{"n":%d,"s":"<&>"}`, n)),
		text: fmt.Sprint(n), status: machineStatus(n),
	}
	return rapid.SampledFrom(append(d.writes(), reads(d.ws)...)).Draw(t, "operation")
}

// machineStatus is one of a few; requests are pending more often than not.
func machineStatus(n int) approvals.RequestStatus {
	return []approvals.RequestStatus{approvals.RequestPending, approvals.RequestApproved, approvals.RequestPending,
		approvals.RequestStale}[n]
}

// writes are all operations that change something.
func (d drawn) writes() []operation {
	return append(append(d.records(), d.pieces()...), d.deletions()...)
}

func (d drawn) run() *approvals.Run {
	status := []approvals.RunStatus{
		approvals.RunQueued, approvals.RunRunning, approvals.RunDone, approvals.RunFailed,
	}[d.n]
	r := &approvals.Run{Workspace: d.ws, ID: approvals.RunID(d.id), Place: d.place, Status: status, Created: d.at,
		Requester: approvals.NewUserID(d.ws, d.place.Thread), LeaseUntil: d.at}
	if status.Ended() { // ends at one instant would be in no order
		r.Ended = d.at.Add(time.Duration(len(d.id)) * time.Second).Add(time.Duration(d.id[0]) * time.Minute)
	}
	return r
}

func (d drawn) request() *approvals.Request {
	r := &approvals.Request{RequestContent: approvals.RequestContent{Arguments: d.raw}}
	r.RequestHead = approvals.RequestHead{Workspace: d.ws, ID: approvals.RequestID(d.id),
		Run: approvals.RunID(machineIDs[d.n]), Place: d.place, Requester: approvals.NewUserID(d.ws, d.place.Thread),
		Status: d.status, Created: d.at, Agent: string([]rune(d.id)[:1])}
	if d.n > 1 {
		r.Decisions = []approvals.Decision{{By: approvals.NewUserID(d.ws, "1"), Verdict: approvals.Approve}}
	}
	return r
}

func (d drawn) notification() *approvals.Notification {
	id := approvals.NotificationID(d.id + string(d.copy) + d.place.Thread) // one id is in one queue
	n := &approvals.Notification{Workspace: d.ws, ID: id, Place: d.place, Copy: d.copy, Attempts: d.n, Created: d.at}
	if d.n == 3 {
		n.Dead = d.at
	}
	return n
}

func (d drawn) input() *approvals.QueuedInput {
	return &approvals.QueuedInput{Workspace: d.ws, Place: d.place, ID: approvals.InputID(d.id), Text: d.text,
		At: d.at}
}

func (d drawn) job(id string) approvals.Job {
	return approvals.Job{Workspace: d.ws, Kind: approvals.JobRun, ID: id, Due: d.at, Group: "g"}
}

func (d drawn) grant() *approvals.Grant {
	g := &approvals.Grant{
		Workspace: d.ws, ID: approvals.GrantID(d.id), Scope: approvals.ScopeThread, Place: d.place, Agent: "ops",
		Tool: d.place.Thread, Created: d.at, Expires: d.at.Add(time.Second), Uses: 2, Used: d.n,
	}
	if d.copy != "" {
		g.Revoked = d.at
	}
	return g
}

// records are operations that put records whole.
func (d drawn) records() []operation {
	head := d.request().RequestHead
	return []operation{
		func(tx approvals.Tx) (string, error) { return done(tx.PutRun(d.run())) },
		func(tx approvals.Tx) (string, error) { return done(tx.PutRun(&approvals.Run{Workspace: d.ws})) },
		func(tx approvals.Tx) (string, error) { return done(tx.PutInput(d.input())) },
		func(tx approvals.Tx) (string, error) { return done(tx.PutRequest(d.request())) },
		func(tx approvals.Tx) (string, error) { return done(tx.PutRequest(d.request())) }, // more of them
		func(tx approvals.Tx) (string, error) { return d.putHead(tx, head) },
		func(tx approvals.Tx) (string, error) {
			missing := head
			missing.ID = "never"
			return done(tx.PutRequestHead(&missing))
		},
		func(tx approvals.Tx) (string, error) {
			e := &approvals.EffectRecord{Workspace: d.ws, Run: "1", ID: d.id, Attempt: d.n, Intent: d.at}
			return done(tx.PutEffect(e))
		},
		func(tx approvals.Tx) (string, error) {
			k := &approvals.Callback{Workspace: d.ws, Request: approvals.RequestID(d.id), Issued: d.at}
			return done(tx.PutCallback(k))
		},
		func(tx approvals.Tx) (string, error) {
			i := &approvals.Installation{Workspace: d.ws, Token: approvals.BotToken(d.id), Installed: d.at}
			return done(tx.PutInstallation(i))
		},
		func(tx approvals.Tx) (string, error) { return done(tx.PutGrant(d.grant())) },
		func(tx approvals.Tx) (string, error) { return done(tx.PutNotification(d.notification())) },
		func(tx approvals.Tx) (string, error) { return done(tx.Enqueue(d.job(d.id))) },
		func(tx approvals.Tx) (string, error) { return done(tx.Enqueue(d.job("1"), d.job(d.id), d.job("1"))) },
	}
}

// putHead replaces the head of a request that is there, as those do who decide. It stays a request of its run.
func (d drawn) putHead(tx approvals.Tx, head approvals.RequestHead) (string, error) {
	old, err := tx.RequestHead(d.ws, head.ID)
	if err != nil {
		return say(old, err)
	}
	head.Run = old.Run
	return done(tx.PutRequestHead(&head))
}

// pieces are operations that add to something.
func (d drawn) pieces() []operation {
	run, entry := approvals.RunID(d.id), &approvals.AuditEntry{Workspace: d.ws, At: d.at, Data: d.raw}
	return []operation{
		func(tx approvals.Tx) (string, error) {
			return done(tx.PutState(d.ws, run, agent.Delta{Head: d.raw, From: d.n * 100, Count: d.n % 2, Items: d.raw}))
		},
		func(tx approvals.Tx) (string, error) { return done(tx.AppendSession(d.ws, d.place, d.id, d.raw)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Once(d.ws, d.id, d.at)) },
		func(tx approvals.Tx) (string, error) {
			e := *entry
			e.Seq = uint64(d.n)
			if head, err := tx.AuditHead(d.ws); err == nil && d.n > 0 {
				e.Seq, e.Prev = head.Seq+1, head.Hash
			}
			if e.Seq == 0 {
				e.ID = approvals.AuditID(d.id)
			}
			return done(tx.AppendAudit(&e))
		},
		func(tx approvals.Tx) (string, error) {
			e := *entry
			e.ID = approvals.AuditID(d.id)
			return done(tx.AppendAudit(&e))
		},
		func(tx approvals.Tx) (string, error) { return d.seal(tx) },
	}
}

// seal seals some of what waits, now and then with a mistake.
func (d drawn) seal(tx approvals.Tx) (string, error) {
	list, err := tx.UnsealedAudit(d.ws, d.n)
	if err != nil {
		return "", err
	}
	seq := uint64(1)
	if head, err := tx.AuditHead(d.ws); err == nil {
		seq = head.Seq + 1
	}
	for i, e := range list {
		e.Seq = seq + uint64(i)
	}
	if d.id == "B" {
		list = append(list, &approvals.AuditEntry{Workspace: d.ws, ID: "never", Seq: seq + uint64(len(list))})
	}
	return done(tx.SealAudit(list...))
}

// deletions are operations that remove something.
func (d drawn) deletions() []operation {
	return []operation{
		func(tx approvals.Tx) (string, error) { return done(tx.DeleteRun(d.ws, approvals.RunID(d.id))) },
		func(tx approvals.Tx) (string, error) { return say(tx.DeleteState(d.ws, approvals.RunID(d.id), d.n)) },
		func(tx approvals.Tx) (string, error) { return done(tx.DeleteRequest(d.ws, approvals.RequestID(d.id))) },
		func(tx approvals.Tx) (string, error) { return done(tx.DeleteEvent(d.ws, d.id)) },
		func(tx approvals.Tx) (string, error) { return done(tx.DeleteInput(d.input())) },
		func(tx approvals.Tx) (string, error) { return done(tx.DeleteNotification(d.notification())) },
		func(tx approvals.Tx) (string, error) { return done(tx.DeleteSession(d.ws, d.place)) },
		func(tx approvals.Tx) (string, error) { return done(tx.DeleteJob(d.ws, approvals.JobRun, d.id)) },
	}
}
