package storetest

import (
	"reflect"

	"countersign/approvals"
)

// runQueriesTx changes QueryRuns.
type runQueriesTx struct {
	approvals.Tx
	change runQueryFunc
}

func (t runQueriesTx) QueryRuns(q approvals.RunQuery) ([]*approvals.Run, approvals.RunID, error) {
	return t.change(t.Tx, q)
}

type runQueryFunc = func(tx approvals.Tx, q approvals.RunQuery) ([]*approvals.Run, approvals.RunID, error)

func queryingRuns(change runQueryFunc) wrapper {
	return each(func(tx approvals.Tx) runQueriesTx { return runQueriesTx{tx, change} })
}

// ignoresRunField does not look at a field of a query.
func ignoresRunField(name string) wrapper {
	return queryingRuns(func(tx approvals.Tx, q approvals.RunQuery) ([]*approvals.Run, approvals.RunID, error) {
		reflect.ValueOf(&q).Elem().FieldByName(name).SetZero()
		return tx.QueryRuns(q)
	})
}

// runsEndShort takes a page that is not full for the last one.
func runsEndShort(tx approvals.Tx, q approvals.RunQuery) ([]*approvals.Run, approvals.RunID, error) {
	page, next, err := tx.QueryRuns(q)
	if len(page) < q.Limit {
		next = ""
	}
	return page, next, err
}
