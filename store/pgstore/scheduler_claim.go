package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

// claimedJob is a job that this replica handles. Owner and number fence what it writes about it: once the claim is
// another's, nothing matches any more.
type claimedJob struct {
	approvals.Job
	key    jobKey
	slot   string // the group whose slot it takes
	number int64  // of the claims of this Dispatch
	bad    error  // why no handler can be given it
}

// foundJob says that a job may be due in a while, or now.
type foundJob struct {
	key   jobKey
	group string
	in    time.Duration
}

// claims reads and writes the claims of one Dispatch in the table. Its statements run READ COMMITTED, and their commits
// do not wait for the disk: a claim or an acknowledgement that is lost when the database crashes repeats a job.
type claims struct {
	db       querier
	owner    []byte
	lease    time.Duration
	unfenced bool // tests
}

// unclaimed holds of a job that nobody works on. A claim that ends later than any can was made while the server's clock
// was ahead; whoever made it, and lives, prolongs it by less.
const unclaimed = "(j.claim_until is null or j.claim_until <= now() or j.claim_until > now() + interval '5 minutes')"

// Each job is written by a statement of its own, in one round trip for all of them. A join of the table with a list of
// keys would write them at once, but its plan, which may have been made while hardly any jobs waited, compares each job
// of the table with each of the list.
const ofJob = "j.workspace = $1 and j.kind = $2 and j.id = $3"

func (k jobKey) args(more ...any) []any {
	return append([]any{text(k.ws), text(k.kind), text(k.id)}, more...)
}

// A row that another replica, or a transaction under way, has locked is left out: waiting for several in turn could end
// in a deadlock.
const sqlClaimJob = `
update jobs j set claim_owner = $4, claim_number = $5, claim_until = now() + $6::interval,
    claim_generation = j.generation, again = null
where ` + ofJob + ` and (
    select true from jobs j where ` + ofJob + ` and j.due <= now() and ` + unclaimed + ` for update skip locked
)
returning j.workspace, j.kind, j.id, j.grp, j.place::text, j.copy, j.due, j.generation, j.attempts, j.claim_number`

// claim claims those of the jobs that are due and nobody's.
func (c *claims) claim(ctx context.Context, keys []jobKey, first int64) ([]claimedJob, error) {
	var claimed []claimedJob
	b := new(pgx.Batch)
	for i, k := range keys {
		b.Queue(sqlClaimJob, k.args(c.owner, first+int64(i), c.lease)...).Query(func(rows pgx.Rows) (err error) {
			claimed, err = pgx.AppendRows(claimed, rows, claimedRow)
			return err
		})
	}
	if err := c.db.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	return claimed, nil
}

func claimedRow(row pgx.CollectableRow) (claimedJob, error) {
	var (
		ws, kind, id, group, copyOf string
		place                       *string
		j                           claimedJob
		generation                  int64
	)
	err := row.Scan(&ws, &kind, &id, &group, &place, &copyOf, &j.Due, &generation, &j.Attempts, &j.number)
	if err != nil {
		return j, err
	}
	j.Workspace, j.Kind, j.ID = approvals.WorkspaceID(untext(ws)), approvals.JobKind(untext(kind)), untext(id)
	j.Group, j.Copy = untext(group), approvals.Copy(untext(copyOf))
	j.Generation, j.Due = uint64(generation), j.Due.UTC()
	if place != nil {
		if err := json.Unmarshal([]byte(*place), &j.Place); err != nil {
			j.bad = fmt.Errorf("%w: place of job %s %s", ErrDamaged, j.Kind, j.ID) // the others that are claimed go on
		}
	}
	j.key, j.slot = keyOf(&j.Job), j.Group
	return j, nil
}

const sqlRenewClaim = "update jobs j set claim_until = now() + $6::interval where " + ofJob + " and " + fence +
	" returning j.claim_number"

// renew prolongs claims and returns the numbers of those that are still ours. Rows are locked in order, as by end.
func (c *claims) renew(ctx context.Context, jobs []claimedJob) ([]int64, error) {
	var ours []int64
	jobs = slices.SortedFunc(slices.Values(jobs), func(a, b claimedJob) int { return a.key.compare(b.key) })
	b := new(pgx.Batch)
	for _, j := range jobs {
		b.Queue(sqlRenewClaim, j.key.args(c.owner, j.number, c.lease)...).Query(func(rows pgx.Rows) (err error) {
			ours, err = pgx.AppendRows(ours, rows, pgx.RowTo[int64])
			return err
		})
	}
	if err := c.db.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	return ours, nil
}

// Jobs of a group beyond the first are left to the next look, so that one full group does not crowd out the others.
const sqlFindDue = `
select workspace, kind, id, grp, extract(epoch from due - now())::float8
from (
    select *, row_number() over (partition by kind, grp order by due) as n
    from jobs j
    where due <= now() + $1::interval and ` + unclaimed + `
) j
where n <= $2
order by due`

// due finds the jobs that nobody works on and that are due within the time.
func (c *claims) due(ctx context.Context, within time.Duration) ([]foundJob, error) {
	rows, err := c.db.Query(ctx, sqlFindDue, within, maxReady+1) // the last one shows that there are more
	if err != nil {
		return nil, err
	}
	return collectFound(rows)
}

const sqlFindKeys = `
select j.workspace, j.kind, j.id, j.grp, extract(epoch from j.due - now())::float8
from unnest($1::text[], $2::text[], $3::text[]) as k (workspace, kind, id)
cross join lateral (
    select * from jobs j where j.workspace = k.workspace and j.kind = k.kind and j.id = k.id
      and j.due is not null and ` + unclaimed + ` offset 0
) j
order by j.due`

// find returns those of the jobs that nobody works on.
func (c *claims) find(ctx context.Context, keys []jobKey) ([]foundJob, error) {
	var k jobColumns
	for _, key := range keys {
		k.addKey(key)
	}
	rows, err := c.db.Query(ctx, sqlFindKeys, k.workspaces, k.kinds, k.ids)
	if err != nil {
		return nil, err
	}
	return collectFound(rows)
}

func collectFound(rows pgx.Rows) ([]foundJob, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (foundJob, error) {
		var (
			ws, kind, id, group string
			seconds             float64
		)
		err := row.Scan(&ws, &kind, &id, &group, &seconds)
		k := jobKey{approvals.WorkspaceID(untext(ws)), approvals.JobKind(untext(kind)), untext(id)}
		return foundJob{k, untext(group), time.Duration(max(seconds, 0) * float64(time.Second))}, err
	})
}
