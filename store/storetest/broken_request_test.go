package storetest

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"

	"countersign/approvals"
)

type headTakesContent struct{ approvals.Tx }

func (t headTakesContent) PutRequestHead(r *approvals.RequestHead) error {
	if err := t.Tx.PutRequestHead(r); err != nil {
		return err
	}
	return t.PutRequest(&approvals.Request{RequestHead: *r})
}

type headMakesRequest struct{ approvals.Tx }

func (t headMakesRequest) PutRequestHead(r *approvals.RequestHead) error {
	err := t.Tx.PutRequestHead(r)
	if errors.Is(err, approvals.ErrNotFound) {
		return t.PutRequest(&approvals.Request{RequestHead: *r})
	}
	return err
}

type sortsRequests struct{ approvals.Tx }

func (t sortsRequests) Requests(ws approvals.WorkspaceID, ids []approvals.RequestID) ([]*approvals.Request, error) {
	return t.Tx.Requests(ws, slices.Sorted(slices.Values(ids)))
}

type sortsRuns struct{ approvals.Tx }

func (t sortsRuns) RequestsOfRuns(
	ws approvals.WorkspaceID, runs []approvals.RunID,
) ([]*approvals.RequestHead, error) {
	return t.Tx.RequestsOfRuns(ws, slices.Sorted(slices.Values(runs)))
}

type countsAll struct{ approvals.Tx }

func (t countsAll) PendingOf(ws approvals.WorkspaceID, requester approvals.UserID) (int, error) {
	list, err := follow(t.Tx, approvals.RequestQuery{Workspace: ws, Limit: 10})
	n := 0
	for _, r := range list {
		if r.Requester == requester {
			n++
		}
	}
	return n, err
}

// queriesTx changes QueryRequests.
type queriesTx struct {
	approvals.Tx
	change queryFunc
}

func (t queriesTx) QueryRequests(q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error) {
	return t.change(t.Tx, q)
}

type queryFunc = func(tx approvals.Tx, q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error)

func querying(change queryFunc) wrapper {
	return each(func(tx approvals.Tx) queriesTx { return queriesTx{tx, change} })
}

// ignoresField does not look at a field of a query.
func ignoresField(name string) wrapper {
	return querying(func(tx approvals.Tx, q approvals.RequestQuery) (
		[]*approvals.RequestHead, approvals.RequestID, error) {
		reflect.ValueOf(&q).Elem().FieldByName(name).SetZero()
		return tx.QueryRequests(q)
	})
}

func collates(tx approvals.Tx, q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error) {
	page, next, err := tx.QueryRequests(q)
	slices.SortStableFunc(page, func(a, b *approvals.RequestHead) int {
		return cmp.Compare(strings.ToLower(string(a.ID)), strings.ToLower(string(b.ID)))
	})
	return page, next, err
}

func endsShort(tx approvals.Tx, q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error) {
	page, next, err := tx.QueryRequests(q)
	if len(page) < q.Limit {
		next = ""
	}
	return page, next, err
}

func standsStill(tx approvals.Tx, q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error) {
	page, next, err := tx.QueryRequests(q)
	if len(page) == 0 && next != "" {
		next = q.After
	}
	return page, next, err
}

func staleIsPending(tx approvals.Tx, q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error) {
	if q.Status != approvals.RequestPending {
		return tx.QueryRequests(q)
	}
	q.Status = ""
	page, next, err := tx.QueryRequests(q)
	return slices.DeleteFunc(page, func(r *approvals.RequestHead) bool {
		return r.Status != approvals.RequestPending && r.Status != approvals.RequestStale
	}), next, err
}
