package storetest

import (
	"time"

	"countersign/approvals"
)

// allReads returns calls that together read everything that operations write.
func allReads() []operation {
	later := machineTime(0).Add(24 * time.Hour)
	all := []operation{
		func(tx approvals.Tx) (string, error) { return say(tx.AuditWorkspaces()) },
		func(tx approvals.Tx) (string, error) { return say(tx.RecordedWorkspaces()) },
		func(tx approvals.Tx) (string, error) { return say(tx.LapsedLeases(machineTime(1), later, 100)) },
		func(tx approvals.Tx) (string, error) { return say(tx.LapsedLeases(machineTime(0), machineTime(2), 2)) },
		func(tx approvals.Tx) (string, error) { return say(tx.UndeliveredPlaces(later, later, 100)) },
		func(tx approvals.Tx) (string, error) {
			return say(tx.UndeliveredPlaces(machineTime(1), machineTime(2), 2))
		},
	}
	for _, w := range machineWorkspaces {
		all = append(all, reads(w)...)
	}
	return all
}

// reads returns calls that together read everything of a workspace.
func reads(w approvals.WorkspaceID) []operation {
	later := machineTime(0).Add(24 * time.Hour)
	person := approvals.NewUserID(w, "1")
	all := []operation{
		func(tx approvals.Tx) (string, error) { return say(tx.AuditHead(w)) },
		func(tx approvals.Tx) (string, error) { return say(tx.AuditEntries(w, 2, 3)) },
		func(tx approvals.Tx) (string, error) { return say(tx.AuditEntries(w, 0, 1000)) },
		func(tx approvals.Tx) (string, error) { return say(tx.UnsealedAudit(w, 2)) },
		func(tx approvals.Tx) (string, error) { return say(tx.UnsealedAudit(w, 1000)) },
		func(tx approvals.Tx) (string, error) { return say(tx.ActiveRuns(w, "", "C1")) },
		func(tx approvals.Tx) (string, error) { return say(tx.ActiveRuns(w, person, "")) },
		func(tx approvals.Tx) (string, error) { return say(tx.EndedRuns(w, later, 100)) },
		func(tx approvals.Tx) (string, error) { return say(tx.EndedRuns(w, later, 2)) },
		func(tx approvals.Tx) (string, error) { return say(tx.PendingOf(w, person)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Events(w, "", 100)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Events(w, "10", 2)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Sessions(w, approvals.Place{}, 100)) },
		func(tx approvals.Tx) (string, error) {
			return say(tx.Sessions(w, approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}, 2))
		},
		func(tx approvals.Tx) (string, error) { return say(tx.Grants(w, "", 100)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Grants(w, "10", 2)) },
		func(tx approvals.Tx) (string, error) { return say(tx.OpenGrants(w, "ops", "1", machineTime(0), 100)) },
		func(tx approvals.Tx) (string, error) {
			return say(tx.OpenGrants(w, "ops", "", machineTime(1).Add(time.Second), 2))
		},
		func(tx approvals.Tx) (string, error) { return say(tx.DeadLetters(w, "", 100)) },
		func(tx approvals.Tx) (string, error) { return say(tx.DeadLetters(w, "10", 2)) },
		func(tx approvals.Tx) (string, error) {
			return say(tx.Requests(w, typed[approvals.RequestID](machineIDs)))
		},
	}
	for _, q := range []approvals.RequestQuery{
		{Limit: 100},
		{Limit: 2, After: "10"},
		{Limit: 1, Status: approvals.RequestPending},
		{Limit: 2, Status: approvals.RequestStale},
		{Limit: 2, Person: person},
		{Limit: 2, Run: "10", Channel: "C1"},
		{Limit: 2, Agent: "1"},
		{Limit: 2, Newest: true, Settled: true},
		{Limit: 2, Newest: true, Status: approvals.RequestPending, After: "10"},
		{Limit: 2, From: machineTime(1), To: machineTime(3)},
	} {
		q.Workspace = w
		all = append(all, func(tx approvals.Tx) (string, error) { return say(follow(tx, q)) })
	}
	for _, q := range []approvals.RunQuery{
		{Limit: 100},
		{Limit: 2, After: "10"},
		{Limit: 2, Newest: true},
		{Limit: 1, Status: approvals.RunWaiting, Newest: true},
		{Limit: 2, Person: person, From: machineTime(1), To: machineTime(3)},
	} {
		q.Workspace = w
		all = append(all, func(tx approvals.Tx) (string, error) { return say(followRuns(tx, q)) })
	}
	for _, id := range machineIDs {
		all = append(all, readsOf(w, id)...)
	}
	for _, thread := range machineThreads {
		all = append(all, readsAt(w, machinePlace(thread))...)
	}
	return all
}

// follow returns all that a query finds: how much is on which page is the store's affair.
func follow(tx approvals.Tx, q approvals.RequestQuery) ([]*approvals.RequestHead, error) {
	var all []*approvals.RequestHead
	for {
		page, next, err := tx.QueryRequests(q)
		if err != nil || next == "" {
			return append(all, page...), err
		}
		all = append(all, page...)
		q.After = next
	}
}

// followRuns is follow for runs.
func followRuns(tx approvals.Tx, q approvals.RunQuery) (all []*approvals.Run, err error) {
	for {
		page, next, err := tx.QueryRuns(q)
		if err != nil || next == "" {
			return append(all, page...), err
		}
		all = append(all, page...)
		q.After = next
	}
}

func readsOf(w approvals.WorkspaceID, id string) []operation {
	run := approvals.RunID(id)
	return []operation{
		func(tx approvals.Tx) (string, error) { return say(tx.Run(w, run)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Request(w, approvals.RequestID(id))) },
		func(tx approvals.Tx) (string, error) { return say(tx.RequestHead(w, approvals.RequestID(id))) },
		func(tx approvals.Tx) (string, error) { return say(tx.Callback(w, approvals.RequestID(id))) },
		func(tx approvals.Tx) (string, error) { return say(tx.Installation(w)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Installations(approvals.WorkspaceID(id), 2)) },
		func(tx approvals.Tx) (string, error) { return say(tx.RequestsOfRun(w, run)) },
		func(tx approvals.Tx) (string, error) { return say(tx.RequestsOfRuns(w, []approvals.RunID{"2", run})) },
		func(tx approvals.Tx) (string, error) { return say(tx.Effect(w, "1", id)) },
		func(tx approvals.Tx) (string, error) { return say(tx.EffectsOfRun(w, run)) },
		func(tx approvals.Tx) (string, error) {
			head, chunks, err := tx.State(w, run)
			return say(append(chunks, head), err)
		},
		func(tx approvals.Tx) (string, error) { return together(tx.StateTail(w, run, 20)) },
		func(tx approvals.Tx) (string, error) { return together(tx.StateTail(w, run, 45)) },
	}
}

func readsAt(w approvals.WorkspaceID, p approvals.Place) []operation {
	return []operation{
		func(tx approvals.Tx) (string, error) { return say(tx.ActiveRun(w, p)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Inputs(w, p, 2)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Inputs(w, p, 100)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Notifications(w, p, "", 100)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Notifications(w, p, "dm:U1", 2)) },
		func(tx approvals.Tx) (string, error) { return together(tx.SessionTail(w, p, 20)) },
		func(tx approvals.Tx) (string, error) { return together(tx.SessionTail(w, p, 1000)) },
	}
}
