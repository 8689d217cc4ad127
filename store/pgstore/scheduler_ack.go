package pgstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"countersign/approvals"
)

// endedJob is a job whose handler has ended.
type endedJob struct {
	claimedJob
	outcome outcome
	after   time.Duration // of a failure: when to try again
	firm    bool          // not before that, whatever is enqueued
	counts  int32         // so many failures more
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
		end := endedJob{claimedJob: j, outcome: failed, after: min(asked.After, approvals.MaxPause), firm: true}
		if !asked.Uncounted {
			end.counts = 1
		}
		return end
	}
	return endedJob{claimedJob: j, outcome: failed, after: backOff(j.Attempts), counts: 1}
}

// fence has a statement touch only what is still claimed as it was for the handler.
const fence = "j.claim_owner = $4 and j.claim_number = $5"

// fenced returns the statement, but without its fence in a control of the tests.
func (c *claims) fenced(sql string) string {
	if c.unfenced {
		return strings.Replace(sql, fence, "$4::bytea is not null and $5::bigint is not null", 1)
	}
	return sql
}

// Each statement sees what was committed before it, so a job that is enqueued between two of them is not missed: the
// second finds the due time that the first waited for. outcome is $6.
const (
	// Done: nothing was asked for since, or the job was deleted.
	sqlAckJob = "delete from jobs j where " + ofJob + " and " + fence +
		" and (j.due is null or $6::int = 0 and j.again is null)"

	// Not done. What an earlier job's handler returns is nothing to one that was enqueued after its deletion.
	sqlRepeatJob = `
update jobs j set
    due = case
        when $6::int = 0 or $6 = 1 and j.first > j.claim_generation then j.again
        when $6 = 1 and $8::bool then now() + $7::interval
        when $6 = 1 then least(j.again, now() + $7)
        else j.due end,
    not_before = case when $6 = 1 and $8 and j.first <= j.claim_generation then now() + $7 end,
    paused = case when $6 = 1 and $8 and j.first <= j.claim_generation then now() end,
    attempts = case
        when $6 = 0 then 0
        when $6 = 1 and j.first <= j.claim_generation then j.attempts + $9::int
        else j.attempts end,
    again = null, claim_owner = null, claim_number = null, claim_until = null, claim_generation = null
where ` + ofJob + " and " + fence + `
returning j.workspace, j.kind, j.id, j.grp, extract(epoch from j.due - now())::float8`
)

// end writes down how handlers ended and returns the jobs that stay. reminders has others told of them, too. Rows are
// locked in the order of their keys, as those who share a transaction lock them, so that few deadlocks have to be ended
// by the server; one is tried again. What a handler has done and nobody has asked for since takes one statement.
func (c *claims) end(ctx context.Context, jobs []endedJob, reminders bool) (stay []foundJob, err error) {
	jobs = slices.SortedFunc(slices.Values(jobs), func(a, b endedJob) int { return a.key.compare(b.key) })
	b := new(pgx.Batch)
	var asked []endedJob // that are not done, although their handlers have succeeded
	repeat := func(b *pgx.Batch, j *endedJob) {
		args := j.key.args(c.owner, j.number, int32(j.outcome), j.after, j.firm, j.counts)
		b.Queue(c.fenced(sqlRepeatJob), args...).Query(func(rows pgx.Rows) error {
			found, err := collectFound(rows)
			stay = append(stay, found...)
			return err
		})
	}
	for _, j := range jobs {
		done := b.Queue(c.fenced(sqlAckJob), j.key.args(c.owner, j.number, int32(j.outcome))...)
		if j.outcome != succeeded {
			repeat(b, &j)
			continue
		}
		done.Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 {
				asked = append(asked, j)
			}
			return nil
		})
	}
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
	if err := c.db.SendBatch(ctx, b).Close(); err != nil || len(asked) == 0 {
		return stay, err
	}
	b = new(pgx.Batch)
	for i := range asked {
		repeat(b, &asked[i])
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
