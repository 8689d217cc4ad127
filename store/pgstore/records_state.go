package pgstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"

	"countersign/agent"
	"countersign/approvals"
)

const (
	kindState = "state"
	kindChunk = "state chunk"
)

func (t *tx) State(ws approvals.WorkspaceID, run approvals.RunID) (
	head json.RawMessage, chunks []json.RawMessage, err error,
) {
	found := false
	err = t.lookUp([]string{stateOf(ws, run)}, func(rows pgx.Rows) error {
		var start int64
		var data []byte
		if err := rows.Scan(&start, &data); err != nil {
			return err
		}
		if start < 0 {
			found = true
			head, err = t.open(data, kindState, string(ws), string(run))
			return err
		}
		chunk, err := t.openChunk(ws, run, start, data)
		chunks = append(chunks, chunk)
		return err
	}, `select -1::bigint as start, head from states where workspace = $1 and run = $2
		union all select start, items from state_chunks where workspace = $1 and run = $2 order by start`,
		text(ws), text(run))
	if err == nil && !found {
		err = approvals.ErrNotFound
	}
	if err != nil {
		return nil, nil, fmt.Errorf("state of run %s: %w", run, err)
	}
	return head, chunks, nil
}

func (t *tx) openChunk(ws approvals.WorkspaceID, run approvals.RunID, start int64, data []byte) ([]byte, error) {
	return t.open(data, kindChunk, string(ws), string(run), strconv.FormatInt(start, 10))
}

const ofRun = "workspace = $1 and run = $2"

// stateTail goes back from the newest chunk, one index entry at a time, for as long as all fit. It has a row without a
// chunk when none does.
const stateTail = `with recursive tail (start, total) as (
	select * from (select start, octet_length(items)::bigint - $4 as total from state_chunks where ` + ofRun + `
		order by start desc limit 1) newest where total <= $3
	union all
	select x.start, tail.total + x.size from tail, lateral (
		select c.start, octet_length(c.items)::bigint - $4 as size from state_chunks c
		where ` + ofRun + ` and c.start < tail.start order by c.start desc limit 1) x
	where tail.total + x.size <= $3)
	select (select count(*) from state_chunks where ` + ofRun + `
		and start < coalesce((select min(start) from tail), 9223372036854775807)), coalesce(c.start, -1), c.items
	from states s left join (tail cross join lateral (
			select start, items from state_chunks where ` + ofRun + ` and start = tail.start offset 0) c)
		on true where s.workspace = $1 and s.run = $2 order by c.start`

func (t *tx) StateTail(ws approvals.WorkspaceID, run approvals.RunID, bytes int) (
	chunks []json.RawMessage, older int, err error,
) {
	err = t.one(func(rows pgx.Rows) error {
		var start int64
		var data []byte
		if err := rows.Scan(&older, &start, &data); err != nil || start < 0 {
			return err
		}
		chunk, err := t.openChunk(ws, run, start, data)
		chunks = append(chunks, chunk)
		return err
	}, stateTail, text(ws), text(run), int64(bytes), int64(t.overhead()))
	if err != nil {
		return nil, 0, fmt.Errorf("state of run %s: %w", run, err)
	}
	return chunks, older, nil
}

var (
	putState = upsert("states", 2, "workspace", "run", "head bytea")
	putChunk = upsert("state_chunks", 3, "workspace", "run", "start bigint", "items bytea")

	removeState = remove("states", "workspace", "run")
	// removeFrom removes the chunks of a run that start behind a place, and removeTo those that start before one.
	removeFrom = removeChunks(">")
	removeTo   = removeChunks("<")
)

func removeChunks(where string) *rowStatement {
	return &rowStatement{table: "state_chunks", keys: 2,
		one: "delete from state_chunks where " + ofRun + " and start " + where + " $3",
	}
}

func (t *tx) PutState(ws approvals.WorkspaceID, run approvals.RunID, d agent.Delta) error {
	if err := errors.Join(t.usable(true), identified("state", string(ws), string(run))); err != nil {
		return err
	}
	if d.From < 0 || d.Count < 0 {
		return fmt.Errorf("put state of run %s: %d items from %d: %w", run, d.Count, d.From, approvals.ErrInvalid)
	}
	t.changes(stateOf(ws, run))
	t.put(putState, nil, text(ws), text(run), t.seal(d.Head, kindState, string(ws), string(run)))
	if d.Count == 0 {
		return nil
	}
	t.put(removeFrom, nil, text(ws), text(run), int64(d.From))
	t.put(putChunk, nil, text(ws), text(run), int64(d.From),
		t.seal(d.Items, kindChunk, string(ws), string(run), strconv.Itoa(d.From)))
	return nil
}

func (t *tx) DeleteState(ws approvals.WorkspaceID, run approvals.RunID, limit int) (more bool, err error) {
	if err := t.usable(true); err != nil {
		return false, err
	}
	before := int64(math.MaxInt64)
	if limit > 0 {
		err = t.lookUp([]string{stateOf(ws, run)}, func(rows pgx.Rows) error {
			more = true
			return rows.Scan(&before)
		}, "select start from state_chunks where "+ofRun+" order by start offset $3 limit 1", text(ws), text(run),
			int64(limit))
	}
	t.changes(stateOf(ws, run))
	t.put(removeState, nil, text(ws), text(run))
	t.put(removeTo, nil, text(ws), text(run), before)
	return more, err
}
