package pgstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

// queryLooks bounds how many rows one call of QueryRequests, or of QueryRuns, looks at.
const queryLooks = 1000

// walk is a query that goes through an index, looks at a bounded number of rows, and takes those that match.
type walk struct {
	table   string
	list    string   // the table of a list of what waits, by which it goes; empty: the table itself
	where   []string // what the index is for, and where to go on
	filters []string // what else must hold
	args    []any
	newest  bool
	limit   int
}

// arg adds an argument and returns its name.
func (w *walk) arg(v any) string {
	w.args = append(w.args, v)
	return fmt.Sprintf("$%d", len(w.args))
}

// is adds a filter unless the value is empty: any row will do then.
func (w *walk) is(column, value string) {
	if value != "" {
		w.filters = append(w.filters, column+" = "+w.arg(value))
	}
}

// behind has the walk go on behind an id, in its order.
func (w *walk) behind(id string) {
	switch {
	case id == "":
	case w.newest:
		w.where = append(w.where, "id < "+w.arg(id))
	default:
		w.where = append(w.where, "id > "+w.arg(id))
	}
}

// sql looks at so many rows. It returns one row at least: how many were looked at, the last of them, and id and record
// of a match, if any; most is how many matches are wanted.
func (w *walk) sql(looks, most int) (sql string, args []any) {
	with := walk{args: slices.Clone(w.args)}
	order, furthest := "", "max(id)"
	if w.newest {
		order, furthest = " desc", "min(id)"
	}
	match := "true"
	if len(w.filters) > 0 {
		match = strings.Join(w.filters, " and ")
	}
	where := strings.Join(w.where, " and ") + " order by id" + order + " limit " + with.arg(looks)
	looked := "select id, " + match + " as match from " + w.table + " where " + where
	if w.list != "" {
		looked = "select r.id, r.match from (select id from " + w.list + " where " + where + ") l " +
			"cross join lateral (select id, " + match + " as match from " + w.table +
			" where workspace = $1 and id = l.id offset 0) r"
	}
	sql = fmt.Sprintf(`with looked as materialized (%[1]s),
		matched as (select id from looked where match order by id%[3]s limit %[4]s)
		select l.n, coalesce(l.last, ''), coalesce(r.id, ''), r.record
		from (select count(*) as n, %[5]s as last from looked) l
		left join (matched m cross join lateral (
			select id, record from %[2]s where workspace = $1 and id = m.id offset 0) r) on true order by r.id%[3]s`,
		looked, w.table, order, with.arg(most), furthest)
	return sql, with.args
}

// looks is how many rows to look at first. Without filters each one is a match, and one more than the limit shows
// whether there are more. With filters most may be, as most requests that were decided are approved; where not, the
// rest of queryLooks is looked at too.
func (w *walk) looks() int {
	if len(w.filters) == 0 {
		return min(w.limit+1, queryLooks)
	}
	return min(2*w.limit+10, queryLooks)
}

// page carries out a walk. found reads a match of which the id is given; next is where to go on.
func (t *tx) page(w *walk, found func(id string, data []byte) error) (next string, err error) {
	n, taken := 0, ""
	for before, looks := 0, w.looks(); ; looks = queryLooks - before {
		looked, last := 0, ""
		sql, args := w.sql(looks, w.limit+1-n)
		err := t.query(func(rows pgx.Rows) error {
			var id string
			var data []byte
			if err := rows.Scan(&looked, &last, &id, &data); err != nil {
				return err
			}
			if data == nil { // nothing matches
				return nil
			}
			if n++; n > w.limit {
				return nil
			}
			taken = untext(id)
			return found(taken, data)
		}, sql, args...)
		before += looked
		switch {
		case err != nil:
			return "", err
		case n > w.limit:
			return taken, nil
		case looked < looks:
			return "", nil
		case before >= queryLooks:
			return untext(last), nil
		}
		w.behind(last)
	}
}

func (t *tx) QueryRequests(q approvals.RequestQuery) (
	page []*approvals.RequestHead, next approvals.RequestID, err error,
) {
	pending := q.Status == approvals.RequestPending
	if err := t.usable(false); err != nil || q.Limit <= 0 || pending && q.Settled {
		return nil, "", err
	}
	w := requestWalk(&q)
	at, err := t.page(w, func(id string, data []byte) error {
		r := new(approvals.RequestHead)
		err := t.opened(data, r, kindHead, string(q.Workspace), id)
		if err == nil && q.Matches(r) {
			page = append(page, r)
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("query requests: %w", err)
	}
	return page, approvals.RequestID(at), nil
}

func requestWalk(q *approvals.RequestQuery) *walk {
	w := &walk{table: "request_heads", newest: q.Newest, limit: min(q.Limit, queryLooks)}
	w.where = []string{"workspace = " + w.arg(text(q.Workspace))}
	if q.Status == approvals.RequestPending {
		w.list = "requests_pending"
		w.is("run", text(q.Run))
	} else {
		if q.Run != "" {
			w.where = append(w.where, "run = "+w.arg(text(q.Run)))
		}
		if q.Settled || q.Status != "" {
			w.where = append(w.where, "status <> 'pending'")
		}
		w.is("status", text(q.Status))
	}
	w.behind(text(q.After))
	w.is("tool", text(q.Tool))
	w.is("agent", text(q.Agent))
	w.is("channel", text(q.Channel))
	if q.Unreviewed {
		w.filters = append(w.filters, "unreviewed")
	}
	if !q.From.IsZero() {
		w.filters = append(w.filters, "created >= "+w.arg(q.From))
	}
	if !q.To.IsZero() {
		w.filters = append(w.filters, "created < "+w.arg(q.To))
	}
	if q.Person != "" {
		w.filters = append(w.filters, w.arg(text(q.Person))+" = any (people)")
	}
	return w
}

func (t *tx) QueryRuns(q approvals.RunQuery) (page []*approvals.Run, next approvals.RunID, err error) {
	if err := t.usable(false); err != nil || q.Limit <= 0 {
		return nil, "", err
	}
	w := &walk{table: "run_records", newest: q.Newest, limit: min(q.Limit, queryLooks)}
	w.where = []string{"workspace = " + w.arg(text(q.Workspace))}
	if q.Open() {
		w.list = "runs_open"
	}
	w.behind(text(q.After))
	w.is("status", text(q.Status))
	w.is("agent", text(q.Agent))
	w.is("channel", text(q.Channel))
	if !q.From.IsZero() {
		w.filters = append(w.filters, "created >= "+w.arg(q.From))
	}
	if !q.To.IsZero() {
		w.filters = append(w.filters, "created < "+w.arg(q.To))
	}
	if q.Person != "" {
		person := w.arg(text(q.Person))
		w.filters = append(w.filters, "(requester = "+person+" or cancelled_by = "+person+")")
	}
	at, err := t.page(w, func(id string, data []byte) error {
		r := new(approvals.Run)
		err := t.opened(data, r, kindRun, string(q.Workspace), id)
		if err == nil && q.Matches(r) {
			page = append(page, r)
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("query runs: %w", err)
	}
	return page, approvals.RunID(at), nil
}
