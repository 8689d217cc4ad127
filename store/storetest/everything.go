package storetest

import (
	"encoding/json"
	"errors"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// everything puts one record of each kind, in a workspace that was empty.
func everything(tx approvals.Tx) error {
	_, err := tx.Once(ws, "event", now())
	return errors.Join(err,
		tx.PutRun(run("run_1", approvals.RunQueued)),
		tx.PutInput(input("inp_1")),
		tx.PutState(ws, "run_1", agent.Delta{Head: json.RawMessage(`{}`), Count: 1, Items: json.RawMessage(`[1]`)}),
		tx.PutRequest(request("req_1", approvals.RequestPending)),
		tx.PutEffect(effect("eff_1")),
		tx.PutCallback(callback("req_1", 1)),
		tx.PutInstallation(installation(ws, "xoxb-1")),
		tx.PutGrant(grant("grant_1")),
		tx.AppendAudit(entry(1), unsealed("aud_2")),
		tx.PutNotification(notification("ntf_1")),
		tx.PutNotification(copyFor("dm:U2", "ntf_1")),
		tx.PutNotification(dead("ntf_2")),
		tx.AppendSession(ws, place, "run_1", json.RawMessage(`[1]`)),
		tx.Enqueue(approvals.Job{Workspace: ws, Kind: approvals.JobRun, ID: "run_1", Due: now().Add(time.Hour)}),
	)
}

// finder tells whether a kind of record of everything is there.
type finder struct {
	kind  string
	there func() (bool, error)
}

// finders look at a workspace in every way there is. Jobs have no getter.
func finders(tx approvals.Tx, w approvals.WorkspaceID) []finder {
	soon := now().Add(time.Hour)
	return []finder{
		{"run", func() (bool, error) { return one(tx.Run(w, "run_1")) }},
		{"runs", func() (bool, error) {
			page, _, err := tx.QueryRuns(approvals.RunQuery{Workspace: w, Limit: 10})
			return len(page) > 0, err
		}},
		{"active run", func() (bool, error) { return one(tx.ActiveRun(w, place)) }},
		{"active runs", func() (bool, error) {
			return positive(tx.ActiveRuns(w, "", place.Channel))
		}},
		{"input", func() (bool, error) { return some(tx.Inputs(w, place, 10)) }},
		{"state", func() (bool, error) {
			head, _, err := tx.State(w, "run_1")
			return len(head) > 0, err
		}},
		{"tail of state", func() (bool, error) {
			chunks, _, err := tx.StateTail(w, "run_1", 1000)
			return len(chunks) > 0, err
		}},
		{"request", func() (bool, error) { return one(tx.Request(w, "req_1")) }},
		{"requests by id", func() (bool, error) {
			return some(tx.Requests(w, []approvals.RequestID{"req_1"}))
		}},
		{"head of request", func() (bool, error) { return one(tx.RequestHead(w, "req_1")) }},
		{"pending request", func() (bool, error) {
			page, _, err := tx.QueryRequests(approvals.RequestQuery{
				Workspace: w, Status: approvals.RequestPending, Limit: 10,
			})
			return len(page) > 0, err
		}},
		{"pending requests", func() (bool, error) {
			return positive(tx.PendingOf(w, "T1/U1"))
		}},
		{"request of run", func() (bool, error) {
			return some(tx.RequestsOfRun(w, "run_1"))
		}},
		{"request of runs", func() (bool, error) {
			return some(tx.RequestsOfRuns(w, []approvals.RunID{"run_9", "run_1"}))
		}},
		{"effect", func() (bool, error) {
			return one(tx.Effect(w, "run_1", "eff_1"))
		}},
		{"callback", func() (bool, error) { return one(tx.Callback(w, "req_1")) }},
		{"installation", func() (bool, error) { return one(tx.Installation(w)) }},
		{"installations", func() (bool, error) {
			list, err := tx.Installations("", 10)
			return len(list) > 0 && list[0].Workspace == w, err
		}},
		{"effect of run", func() (bool, error) { return some(tx.EffectsOfRun(w, "run_1")) }},
		{"grant", func() (bool, error) { return one(tx.Grant(w, "grant_1")) }},
		{"grants", func() (bool, error) { return some(tx.Grants(w, "", 10)) }},
		{"grants by id", func() (bool, error) { return some(tx.GrantsByID(w, []approvals.GrantID{"grant_1"})) }},
		{"open grants", func() (bool, error) { return some(tx.OpenGrants(w, "ops", "pay", now(), 10)) }},
		{"audit head", func() (bool, error) { return one(tx.AuditHead(w)) }},
		{"audit entry", func() (bool, error) { return some(tx.AuditEntries(w, 0, 10)) }},
		{"unsealed entry", func() (bool, error) { return some(tx.UnsealedAudit(w, 10)) }},
		{"notification", func() (bool, error) {
			return some(tx.Notifications(w, place, "", 10))
		}},
		{"copy of notification", func() (bool, error) {
			return some(tx.Notifications(w, place, "dm:U2", 10))
		}},
		{"dead letter", func() (bool, error) { return some(tx.DeadLetters(w, "", 10)) }},
		{"memory", func() (bool, error) {
			chunks, _, err := tx.SessionTail(w, place, 1000)
			return len(chunks) > 0, err
		}},
		{"event", func() (bool, error) { return some(tx.Events(w, "", 10)) }},
		{"place with memory", func() (bool, error) { return some(tx.Sessions(w, approvals.Place{}, 10)) }},
		{"time of memory", func() (bool, error) {
			at, err := tx.SessionAppended(w, place)
			return !at.IsZero(), err
		}},
		{"run without worker", func() (bool, error) {
			list, err := tx.LapsedLeases(soon, soon, 10)
			return len(list) > 0 && list[0].Workspace == w, err
		}},
		{"undelivered place", func() (bool, error) {
			list, err := tx.UndeliveredPlaces(soon, soon, 10)
			return len(list) > 0 && list[0].Workspace == w, err
		}},
		{"audit workspace", func() (bool, error) {
			list, err := tx.AuditWorkspaces()
			return len(list) > 0 && list[0] == w, err
		}},
	}
}

func one[T any](_ *T, err error) (bool, error)      { return err == nil, err }
func some[T any](list []T, err error) (bool, error) { return len(list) > 0, err }
func positive(n int, err error) (bool, error)       { return n > 0, err }

// found names the kinds of records of everything that are there, and those that are not.
func found(tx approvals.Tx, w approvals.WorkspaceID) (there, missing []string, err error) {
	for _, f := range finders(tx, w) {
		ok, err := f.there()
		switch {
		case err != nil && !errors.Is(err, approvals.ErrNotFound):
			return nil, nil, err
		case ok:
			there = append(there, f.kind)
		default:
			missing = append(missing, f.kind)
		}
	}
	return there, missing, nil
}

// expect checks that all of everything is there, or nothing.
func (s *suite) expect(all bool) {
	s.Helper()
	var there, missing []string
	s.view(func(tx approvals.Tx) (err error) {
		there, missing, err = found(tx, ws)
		return err
	})
	if all && len(missing) > 0 {
		s.Errorf("missing: %q", missing)
	}
	if !all && len(there) > 0 {
		s.Errorf("there, though nothing should be: %q", there)
	}
}

// write is a call that writes.
type write struct {
	name string
	call func() error
}

// writes are calls of every method that writes.
func writes(tx approvals.Tx) []write {
	return []write{
		{"PutRun", func() error { return tx.PutRun(run("run_1", approvals.RunQueued)) }},
		{"DeleteRun", func() error { return tx.DeleteRun(ws, "run_1") }},
		{"Once", func() error { _, err := tx.Once(ws, "event", now()); return err }},
		{"PutInput", func() error { return tx.PutInput(input("inp_1")) }},
		{"DeleteInput", func() error { return tx.DeleteInput(input("inp_1")) }},
		{"PutState", func() error {
			return tx.PutState(ws, "run_1", agent.Delta{Head: json.RawMessage(`{}`)})
		}},
		{"DeleteState", func() error { _, err := tx.DeleteState(ws, "run_1", 0); return err }},
		{"PutRequest", func() error { return tx.PutRequest(request("req_1", approvals.RequestPending)) }},
		{"DeleteRequest", func() error { return tx.DeleteRequest(ws, "req_1") }},
		{"DeleteEvent", func() error { return tx.DeleteEvent(ws, "event") }},
		{"PutRequestHead", func() error { return tx.PutRequestHead(head("req_1", approvals.RequestPending)) }},
		{"PutEffect", func() error { return tx.PutEffect(effect("eff_1")) }},
		{"PutCallback", func() error { return tx.PutCallback(callback("req_1", 1)) }},
		{"PutInstallation", func() error { return tx.PutInstallation(installation(ws, "xoxb-1")) }},
		{"PutGrant", func() error { return tx.PutGrant(grant("grant_1")) }},
		{"AppendAudit", func() error { return tx.AppendAudit(entry(1)) }},
		{"AppendAudit, not sealed", func() error { return tx.AppendAudit(unsealed("aud_1")) }},
		{"SealAudit", func() error { return tx.SealAudit(sealed("aud_1", 1)) }},
		{"PutNotification", func() error { return tx.PutNotification(notification("ntf_1")) }},
		{"DeleteNotification", func() error { return tx.DeleteNotification(notification("ntf_1")) }},
		{"AppendSession", func() error {
			return tx.AppendSession(ws, place, "run_1", json.RawMessage(`[1]`))
		}},
		{"DeleteSession", func() error { return tx.DeleteSession(ws, place) }},
		{"Enqueue", func() error { return tx.Enqueue(job("run_1")) }},
		{"DeleteJob", func() error { return tx.DeleteJob(ws, approvals.JobRun, "run_1") }},
	}
}
