package pgstore

import "countersign/approvals"

// Those who share a transaction may read lists, too. A list has a name, as a row has: whoever reads it depends on it,
// and whoever writes a record notes which lists change with that. Two may change a list that neither has read.

// changes notes lists that change with what is written.
func (t *tx) changes(lists ...string) {
	if t.shared != nil {
		t.shared.changes = append(t.shared.changes, lists...)
	}
}

// requestsOf names the list of the requests of a run.
func requestsOf(ws approvals.WorkspaceID, run approvals.RunID) string {
	return placeIn("requests of", text(ws), text(run))
}

// pendingOf names the list of a person's requests that are pending.
func pendingOf(ws approvals.WorkspaceID, requester approvals.UserID) string {
	return placeIn("pending of", text(ws), text(requester))
}

// effectsOf names the list of the effects of a run, and stateOf that of the parts of its state.
func effectsOf(ws approvals.WorkspaceID, run approvals.RunID) string {
	return placeIn("effects of", text(ws), text(run))
}

func stateOf(ws approvals.WorkspaceID, run approvals.RunID) string {
	return placeIn("state of", text(ws), text(run))
}

// runsAt names the list of the runs of a place, runsBy of the open ones of a person and runsIn of those in a channel.
func runsAt(ws approvals.WorkspaceID, p approvals.Place) string {
	return placeIn("runs at", placeArgs(ws, p)...)
}

func runsBy(ws approvals.WorkspaceID, requester approvals.UserID) string {
	return placeIn("runs by", text(ws), text(requester))
}

func runsIn(ws approvals.WorkspaceID, channel string) string {
	return placeIn("runs in", text(ws), text(channel))
}

// inputsAt names the list of what waits for the run of a place, and outboxAt a queue of the outbox.
func inputsAt(ws approvals.WorkspaceID, p approvals.Place) string {
	return placeIn("inputs at", placeArgs(ws, p)...)
}

func outboxAt(ws approvals.WorkspaceID, p approvals.Place, c approvals.Copy) string {
	return placeIn("outbox at", placeArgs(ws, p, text(c))...)
}

// grantsOf names the list of all grants of a workspace: they change seldom.
func grantsOf(ws approvals.WorkspaceID) string { return placeIn("grants of", text(ws)) }

// changesRuns notes of which runs the lists change with one that is written. What was before is zero for a run that is
// new.
func (t *tx) changesRuns(ws approvals.WorkspaceID, was, is runLists) {
	if t.shared == nil {
		return
	}
	t.changes(runsAt(ws, was.place), runsAt(ws, is.place))
	if was.open != is.open || was.requester != is.requester || was.place != is.place {
		t.changes(runsBy(ws, was.requester), runsBy(ws, is.requester),
			runsIn(ws, was.place.Channel), runsIn(ws, is.place.Channel))
	}
}

// changesRequests is changesRuns for a request.
func (t *tx) changesRequests(ws approvals.WorkspaceID, was, is requestLists) {
	if t.shared == nil {
		return
	}
	t.changes(requestsOf(ws, was.run), requestsOf(ws, is.run))
	if was.pending != is.pending || was.requester != is.requester {
		t.changes(pendingOf(ws, was.requester), pendingOf(ws, is.requester))
	}
}
