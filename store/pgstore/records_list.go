package pgstore

import (
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// The lists of what waits are tables beside those of the records; see migrations/0001_records.sql. A transaction that
// has read or written a record knows which lists it is in, and touches only those where that changes: an index that is
// searched in vain is one that others cannot add to at the same time.
type known struct {
	runs     map[runKey]runLists
	requests map[requestKey]requestLists
	outbox   map[outboxKey]bool // entries that are there, and so are no dead letters
}

type runKey struct {
	ws approvals.WorkspaceID
	id approvals.RunID
}

type requestKey struct {
	ws approvals.WorkspaceID
	id approvals.RequestID
}

type outboxKey struct {
	approvals.CopyKey
	id approvals.NotificationID
}

func keyInOutbox(n *approvals.Notification) outboxKey {
	k := outboxKey{approvals.CopyKey{Workspace: n.Workspace, Place: n.Place, Copy: n.Copy}, n.ID}
	k.Place.Direct = false
	return k
}

func newKnown() known {
	return known{map[runKey]runLists{}, map[requestKey]requestLists{}, map[outboxKey]bool{}}
}

// runLists says in which lists a run is, and what the one of open runs holds.
type runLists struct {
	open      bool
	working   bool
	place     approvals.Place
	requester approvals.UserID
}

func listsOfRun(r *approvals.Run) runLists {
	l := runLists{open: !r.Status.Ended(), place: r.Place, requester: r.Requester}
	l.working = r.Status == approvals.RunQueued || r.Status == approvals.RunRunning
	l.place.Direct = false
	return l
}

var (
	putOpenRun = upsert("runs_open", 2, "workspace", "id", "surface", "channel", "thread", "requester")
	putPending = upsert("requests_pending", 2, "workspace", "id", "requester")
	putWorking = upsert("runs_working", 2, "workspace", "id")

	removeOpenRun = remove("runs_open", "workspace", "id")
	removeWorking = remove("runs_working", "workspace", "id")
	removePending = remove("requests_pending", "workspace", "id")
)

// listRun puts a run that is written into the lists that it belongs to, and takes it out of the others.
func (t *tx) listRun(r *approvals.Run) {
	k, is := runKey{r.Workspace, r.ID}, listsOfRun(r)
	was, sure := t.known.runs[k]
	t.known.runs[k] = is
	t.changesRuns(r.Workspace, was, is)
	key := []any{text(r.Workspace), text(r.ID)}
	switch same := sure && was.open == is.open; {
	case is.open && !(same && was.place == is.place && was.requester == is.requester):
		t.put(putOpenRun, nil, append(key, text(is.place.Surface), text(is.place.Channel), text(is.place.Thread),
			text(is.requester))...)
	case !is.open && !same:
		t.put(removeOpenRun, nil, key...)
	}
	switch {
	case sure && was.working == is.working:
	case is.working:
		t.put(putWorking, nil, key...)
	default:
		t.put(removeWorking, nil, key...)
	}
}

// requestLists says whether a request is in the list of those that are pending, and what its row holds that stays as it
// was when somebody was asked.
type requestLists struct {
	pending bool
	askedColumns
}

type askedColumns struct {
	run                        approvals.RunID
	requester                  approvals.UserID
	channel, agent, tool, kind string
	digest                     agent.Digest
	created                    time.Time
}

func listsOfRequest(r *approvals.RequestHead) requestLists {
	return requestLists{r.Status == approvals.RequestPending, askedColumns{r.Run, r.Requester, r.Place.Channel, r.Agent,
		r.Tool.Name, string(r.Kind), r.Digest, r.Created}}
}

// knowRequest notes the lists of a request that was read.
func (t *tx) knowRequest(r *approvals.RequestHead) {
	t.known.requests[requestKey{r.Workspace, r.ID}] = listsOfRequest(r)
}

// listRequest is listRun for a request.
func (t *tx) listRequest(r *approvals.RequestHead) {
	k, is := requestKey{r.Workspace, r.ID}, listsOfRequest(r)
	was, sure := t.known.requests[k]
	t.known.requests[k] = is
	t.changesRequests(r.Workspace, was, is)
	switch same := sure && was.pending == is.pending; {
	case is.pending && !(same && was.requester == is.requester):
		t.put(putPending, nil, text(r.Workspace), text(r.ID), text(r.Requester))
	case !is.pending && !same:
		t.put(removePending, nil, text(r.Workspace), text(r.ID))
	}
}
