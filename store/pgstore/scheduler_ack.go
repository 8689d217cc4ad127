package pgstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

// endedJob is a job whose handler has ended.
type endedJob struct {
	claimedJob
	outcome outcome
	after   time.Duration // of a failure: when to try again
	firm    bool          // not before that, whatever is enqueued
	newer   bool          // it is for a newer version of the program
}

// outcome is how a handler ended.
type outcome int

const (
	succeeded   outcome = iota
	failed              // it returned an error, or panicked
	interrupted         // it ended because it was told to: as if it had not been started
)

// ended says how a handler ended that returned err; told reports whether it had been told to end.
func ended(j claimedJob, err error, told bool) endedJob {
	switch {
	case err == nil:
		return endedJob{claimedJob: j, outcome: succeeded}
	case told:
		return endedJob{claimedJob: j, outcome: interrupted}
	case errors.Is(err, approvals.ErrNewer):
		return endedJob{claimedJob: j, outcome: interrupted, newer: true}
	}
	if asked, ok := errors.AsType[*approvals.RetryError](err); ok {
		return endedJob{claimedJob: j, outcome: failed, after: min(asked.After, approvals.MaxPause), firm: true}
	}
	return endedJob{claimedJob: j, outcome: failed, after: backOff(j.Attempts)}
}

// fence has a statement touch only what is still claimed as it was for the handler.
const fence = "j.claim_owner = $1 and j.claim_number = k.number"

// fenced returns the statement, but without its fence in a control of the tests.
func (c *claims) fenced(sql string) string {
	if c.unfenced {
		return strings.Replace(sql, fence, "$1::bytea is not null and k.number is not null", 1)
	}
	return sql
}

// Each statement sees what was committed before it, so a job that is enqueued between two of them is not missed: the
// second finds the due time that the first waited for.
const (
	// Done: nothing was asked for since, or the job was deleted.
	sqlAckJobs = `
delete from jobs j
using unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::int[]) as k (workspace, kind, id, number, outcome)
where j.workspace = k.workspace and j.kind = k.kind and j.id = k.id
  and ` + fence + `
  and (j.due is null or k.outcome = 0 and j.again is null)`

	// Not done. What an earlier job's handler returns is nothing to one that was enqueued after its deletion.
	sqlRepeatJobs = `
update jobs j set
    due = case
        when k.outcome = 0 or k.outcome = 1 and j.first > j.claim_generation then j.again
        when k.outcome = 1 and k.firm then now() + k.after
        when k.outcome = 1 then least(j.again, now() + k.after)
        else j.due end,
    not_before = case when k.outcome = 1 and k.firm and j.first <= j.claim_generation then now() + k.after end,
    paused = case when k.outcome = 1 and k.firm and j.first <= j.claim_generation then now() end,
    attempts = case
        when k.outcome = 0 then 0
        when k.outcome = 1 and j.first <= j.claim_generation then j.attempts + 1
        else j.attempts end,
    again = null, claim_owner = null, claim_number = null, claim_until = null, claim_generation = null
from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::int[], $7::interval[], $8::bool[])
    as k (workspace, kind, id, number, outcome, after, firm)
where j.workspace = k.workspace and j.kind = k.kind and j.id = k.id
  and ` + fence + `
returning j.workspace, j.kind, j.id, j.grp, extract(epoch from j.due - now())::float8`
)

// end writes down how handlers ended and returns the jobs that stay. reminders has others told of them, too.
func (c *claims) end(ctx context.Context, jobs []endedJob, reminders bool) (stay []foundJob, err error) {
	var (
		k        jobColumns
		numbers  []int64
		outcomes []int32
		afters   []time.Duration
		firms    []bool
	)
	for i := range jobs {
		k.addKey(jobs[i].key)
		numbers = append(numbers, jobs[i].number)
		outcomes = append(outcomes, int32(jobs[i].outcome))
		afters = append(afters, jobs[i].after)
		firms = append(firms, jobs[i].firm)
	}
	b := new(pgx.Batch)
	b.Queue(c.fenced(sqlAckJobs), c.owner, k.workspaces, k.kinds, k.ids, numbers, outcomes)
	repeat := b.Queue(c.fenced(sqlRepeatJobs), c.owner, k.workspaces, k.kinds, k.ids, numbers, outcomes, afters, firms)
	repeat.Query(func(rows pgx.Rows) error {
		stay, err = collectFound(rows)
		return err
	})
	if reminders {
		keys := make([]jobKey, len(jobs))
		for i := range jobs {
			keys[i] = jobs[i].key
		}
		args, err := reminderArgs(keys)
		if err != nil {
			return nil, err
		}
		b.Queue(sqlRemind, args...)
	}
	return stay, c.db.SendBatch(ctx, b).Close()
}

// remindAll leaves a reminder to look at all jobs.
func (c *claims) remindAll(ctx context.Context) error {
	args, err := reminderArgs(nil)
	if err != nil {
		return err
	}
	rows, err := c.db.Query(ctx, sqlRemind, args...)
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}
