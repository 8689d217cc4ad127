package pgstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/agent"
	"countersign/approvals"
)

// A request is kept as two records under the same key: its head, which is written often, and what it asks about.
const (
	kindHead    = "request"
	kindContent = "request content"
)

func (t *tx) Request(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error) {
	list, err := t.requests(ws, []approvals.RequestID{id})
	if err == nil && len(list) == 0 {
		err = approvals.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	return list[0], nil
}

func (t *tx) Requests(ws approvals.WorkspaceID, ids []approvals.RequestID) ([]*approvals.Request, error) {
	if err := t.usable(false); err != nil || len(ids) == 0 {
		return nil, err
	}
	list, err := t.requests(ws, ids)
	if err != nil {
		return nil, fmt.Errorf("requests %v: %w", ids, err)
	}
	return list, nil
}

func (t *tx) requests(ws approvals.WorkspaceID, ids []approvals.RequestID) (list []*approvals.Request, err error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = text(id)
	}
	var of []string
	for _, key := range keys {
		of = append(of, placeIn("request_heads", text(ws), key), placeIn("request_contents", text(ws), key))
	}
	each := func(rows pgx.Rows) error {
		var id string
		var head, content []byte
		if err := rows.Scan(&id, &head, &content); err != nil {
			return err
		}
		r := new(approvals.Request)
		list = append(list, r)
		err := errors.Join(t.opened(head, &r.RequestHead, kindHead, string(ws), untext(id)),
			t.opened(content, &r.RequestContent, kindContent, string(ws), untext(id)))
		t.knowRequest(&r.RequestHead)
		return err
	}
	if len(keys) == 1 {
		err = t.lookUpBy(readWhole, of, each, text(ws), keys[0])
		return list, err
	}
	err = t.lookUp(of, each, `select u.id, r.record, c.record from unnest($2::text[]) with ordinality as u (id, n)
		cross join lateral (select record from request_heads where workspace = $1 and id = u.id offset 0) r
		cross join lateral (select record from request_contents where workspace = $1 and id = u.id offset 0) c
		order by u.n`, text(ws), keys)
	return list, err
}

var (
	readHead  = readBy("request_heads", "record", "", "workspace", "id")
	readHeads = readBy("request_heads", "id, record", "id", "workspace", "run")
	// readWhole reads the two records of a request.
	readWhole = &keyRead{
		one: `select r.id, r.record, c.record from
			(select id, record from request_heads where workspace = $1 and id = $2 offset 0) r cross join lateral
			(select record from request_contents where workspace = $1 and id = $2 offset 0) c`,
		many: "select u.n_, u.id, r.record, c.record from " + rowsNumbered([]string{"workspace", "id"}) + `
			cross join lateral
			(select record from request_heads where workspace = u.workspace and id = u.id offset 0) r
			cross join lateral
			(select record from request_contents where workspace = u.workspace and id = u.id offset 0) c`,
	}
)

func (t *tx) RequestHead(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.RequestHead, error) {
	r, err := read[approvals.RequestHead](t, readHead, kindHead, []string{string(ws), string(id)}, text(ws), text(id))
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	t.knowRequest(r)
	return r, nil
}

var headColumns = []string{"workspace", "id", "run", "channel", "agent", "tool", "kind", "requester", "people text[]",
	"status", "outcome", "unreviewed bool", "decisions jsonb", "digest bytea", "created timestamptz",
	"settled timestamptz", "expires timestamptz", "record bytea"}

var (
	putHead    = upsert("request_heads", 2, headColumns...)
	insertHead = insertNew("request_heads", 2, headColumns...)
	putContent = upsert("request_contents", 2, "workspace", "id", "record bytea")
	changeHead = change("request_heads", 2, headColumns...)
	// changeDecided changes what a decision does: all but askedColumns.
	changeDecided = change("request_heads", 2, "workspace", "id", "people text[]", "status", "outcome",
		"unreviewed bool", "decisions jsonb", "settled timestamptz", "expires timestamptz", "record bytea")
)

func (t *tx) PutRequest(r *approvals.Request) error {
	if err := errors.Join(t.usable(true), identified("request", string(r.Workspace), string(r.ID))); err != nil {
		return err
	}
	row, err := t.headRow(&r.RequestHead)
	if err != nil {
		return fmt.Errorf("put request %s: %w", r.ID, err)
	}
	content, err := t.sealed(&r.RequestContent, kindContent, string(r.Workspace), string(r.ID))
	if err != nil {
		return fmt.Errorf("put request %s: %w", r.ID, err)
	}
	if _, sure := t.known.requests[requestKey{r.Workspace, r.ID}]; !sure && t.shared != nil {
		t.put(insertHead, errNotNew, row...)
	} else {
		t.put(putHead, nil, row...)
	}
	t.put(putContent, nil, text(r.Workspace), text(r.ID), content)
	t.listRequest(&r.RequestHead)
	return nil
}

func (t *tx) PutRequestHead(r *approvals.RequestHead) error {
	if err := errors.Join(t.usable(true), identified("request", string(r.Workspace), string(r.ID))); err != nil {
		return err
	}
	was, sure := t.known.requests[requestKey{r.Workspace, r.ID}]
	if !sure && t.shared != nil {
		t.leave() // of which run it was is not known
	}
	statement, columns := changeHead, t.headRow
	if sure && was.askedColumns == listsOfRequest(r).askedColumns {
		statement, columns = changeDecided, t.decidedRow
	}
	row, err := columns(r)
	if err != nil {
		return fmt.Errorf("put head of request %s: %w", r.ID, err)
	}
	t.put(statement, fmt.Errorf("put head of request %s: %w", r.ID, approvals.ErrNotFound), row...)
	t.listRequest(r)
	return nil
}

// headRow returns the columns of a head.
func (t *tx) headRow(r *approvals.RequestHead) ([]any, error) {
	d, err := t.decidedRow(r)
	if err != nil {
		return nil, err
	}
	return slices.Concat(d[:2], []any{text(r.Run), text(r.Place.Channel), text(r.Agent), text(r.Tool.Name),
		text(r.Kind), text(r.Requester)}, d[2:7], []any{digest(r.Digest), r.Created}, d[7:]), nil
}

// decidedRow returns the columns of changeDecided.
func (t *tx) decidedRow(r *approvals.RequestHead) ([]any, error) {
	data, err := t.sealed(r, kindHead, string(r.Workspace), string(r.ID))
	if err != nil {
		return nil, err
	}
	decisions, err := reported(r.Decisions)
	if err != nil {
		return nil, err
	}
	return []any{text(r.Workspace), text(r.ID), textArray(people(r)), text(r.Status), text(r.Outcome),
		r.AwaitsReview(), decisions, r.Settled, r.Expires, data}, nil
}

func digest(d agent.Digest) []byte { return append([]byte(nil), d[:]...) }

// people are who asked, and who has given an answer that counts, or had it given for them.
func people(r *approvals.RequestHead) []string {
	list := []string{text(r.Requester)}
	for _, d := range r.Decisions {
		if d.Void == "" {
			list = append(list, text(d.By))
			if d.For != "" {
				list = append(list, text(d.For))
			}
		}
	}
	return list
}

// reportedDecision is what the view of decisions shows of one: nothing that a person wrote.
type reportedDecision struct {
	ID      string     `json:"id"`
	By      string     `json:"by"`
	For     string     `json:"for,omitempty"`
	Verdict string     `json:"verdict"`
	Via     string     `json:"via"`
	Void    bool       `json:"void,omitempty"`
	At      *time.Time `json:"at,omitempty"`
}

func reported(decisions []approvals.Decision) (string, error) {
	list := make([]reportedDecision, len(decisions))
	for i, d := range decisions {
		list[i] = reportedDecision{ID: text(d.ID), By: text(d.By), For: text(d.For), Verdict: text(d.Verdict),
			Via: text(d.Via), Void: d.Void != ""}
		if at := d.At; !at.IsZero() {
			list[i].At = &at
		}
	}
	data, err := json.Marshal(list)
	return string(data), err
}

func (t *tx) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.RequestHead, error) {
	list, err := listBy[approvals.RequestHead](t, readHeads, []string{requestsOf(ws, run)}, kindHead,
		[]string{string(ws)}, text(ws), text(run))
	for _, r := range list {
		t.knowRequest(r)
	}
	return list, err
}

func (t *tx) RequestsOfRuns(ws approvals.WorkspaceID, runs []approvals.RunID) ([]*approvals.RequestHead, error) {
	if len(runs) == 1 {
		return t.RequestsOfRun(ws, runs[0])
	}
	if err := t.usable(false); err != nil || len(runs) == 0 {
		return nil, err
	}
	ids, of := make([]string, len(runs)), make([]string, len(runs))
	for i, run := range runs {
		ids[i], of[i] = text(run), requestsOf(ws, run)
	}
	var list []*approvals.RequestHead
	err := t.lookUp(of, func(rows pgx.Rows) error {
		return appendRecord(t, &list, rows, kindHead, []string{string(ws)}, 1)
	}, `select r.id, r.record from unnest($2::text[]) with ordinality as u (run, n) cross join lateral
		(select id, record from request_heads where workspace = $1 and run = u.run order by id offset 0) r
		order by u.n, r.id`, text(ws), ids)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		t.knowRequest(r)
	}
	return list, nil
}

func (t *tx) PendingOf(ws approvals.WorkspaceID, requester approvals.UserID) (n int, err error) {
	err = t.lookUp([]string{pendingOf(ws, requester)}, func(rows pgx.Rows) error { return rows.Scan(&n) },
		"select count(*) from requests_pending where workspace = $1 and requester = $2",
		text(ws), text(requester))
	return n, err
}

func (t *tx) DeleteRequest(ws approvals.WorkspaceID, id approvals.RequestID) error {
	if err := t.usable(true); err != nil {
		return err
	}
	t.later("delete from callbacks where workspace = $1 and request = $2", text(ws), text(id))
	for _, table := range []string{"request_contents", "request_heads", "requests_pending"} {
		t.later("delete from "+table+" where workspace = $1 and id = $2", text(ws), text(id))
	}
	delete(t.known.requests, requestKey{ws, id})
	return nil
}
