package pgstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"countersign/approvals"
)

// mergeJobs makes one job of those that have the same key, as if they were enqueued one after the other: the earliest
// time counts, and what a newer job leaves empty stays. The jobs that it returns share nothing with the given ones.
func mergeJobs(jobs []approvals.Job) []approvals.Job {
	merged := make([]approvals.Job, 0, len(jobs))
	at := make(map[jobKey]int, len(jobs))
	for _, j := range jobs {
		if j.Place != nil {
			place := *j.Place
			j.Place = &place
		}
		i, again := at[keyOf(&j)]
		if !again {
			at[keyOf(&j)] = len(merged)
			merged = append(merged, j)
			continue
		}
		m := &merged[i]
		if j.Due.Before(m.Due) {
			m.Due = j.Due
		}
		if j.Place != nil {
			m.Place = j.Place
		}
		m.Copy, m.Group = cmp.Or(j.Copy, m.Copy), cmp.Or(j.Group, m.Group)
	}
	return merged
}

// jobColumns are the columns of a list of jobs, as arrays.
type jobColumns struct {
	workspaces []string
	kinds      []string
	ids        []string
	groups     []string
	places     []*string // JSON, or nil
	copies     []string
	dues       []time.Time
}

func (c *jobColumns) addKey(k jobKey) {
	c.workspaces = append(c.workspaces, text(k.ws))
	c.kinds = append(c.kinds, text(k.kind))
	c.ids = append(c.ids, text(k.id))
}

func (c *jobColumns) add(j *approvals.Job) error {
	var place *string
	if j.Place != nil {
		data, err := json.Marshal(j.Place)
		if err != nil {
			return fmt.Errorf("enqueue %s %s: %w", j.Kind, j.ID, err)
		}
		p := string(data)
		place = &p
	}
	c.addKey(keyOf(j))
	c.groups = append(c.groups, text(j.Group))
	c.places = append(c.places, place)
	c.copies = append(c.copies, text(j.Copy))
	c.dues = append(c.dues, j.Due)
	return nil
}

// A job that a handler is at work on stays as a row without a due time, so that nobody else begins with a new job of
// the key before that handler has ended.
var deleteJobs = &rowStatement{table: "jobs", keys: 3, whole: true, one: `
with gone as (
    delete from jobs j where j.workspace = $1 and j.kind = $2 and j.id = $3 and ` + unclaimed + `
)
update jobs j set due = null, again = null, not_before = null, paused = null, attempts = 0
where j.workspace = $1 and j.kind = $2 and j.id = $3 and not ` + unclaimed,
}

// While a handler is at work, due is what counts if its claim lapses and again what counts when it is done.
//
// A pause that was asked for at a time that has not come was asked for while the clock was ahead. Where it is not known
// when that was, one that ends later than approvals.MaxPause from now was. The time is that of the statement: a pause
// that the transaction sees may have been asked for after it began.
const (
	paused = "(j.paused <= clock_timestamp() or j.paused is null and j.not_before <= now() + interval '1 hour')"

	sqlEnqueueJobs = `
insert into jobs as j (workspace, kind, id, grp, place, copy, due, generation, first)
select workspace, kind, id, grp, place::json, copy, greatest(due, now()), g, g
from (
    select *, nextval('job_generation') as g
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
        as u (workspace, kind, id, grp, place, copy, due)
) as new
on conflict (workspace, kind, id) do update set
    generation = excluded.generation,
    first = case when j.due is null then excluded.generation else j.first end,
    grp = case when excluded.grp = '' then j.grp else excluded.grp end,
    place = coalesce(excluded.place, j.place),
    copy = case when excluded.copy = '' then j.copy else excluded.copy end,
    due = greatest(least(j.due, excluded.due), case when ` + paused + ` then j.not_before end),
    not_before = case when ` + paused + ` then j.not_before end,
    again = case when j.claim_owner is not null then least(j.again, excluded.due) end`
)

func (t *tx) Enqueue(jobs ...approvals.Job) error {
	if err := t.usable(true); err != nil || len(jobs) == 0 {
		return err
	}
	for _, j := range jobs {
		if err := identified("job", string(j.Workspace), string(j.Kind), j.ID); err != nil {
			return err
		}
	}
	jobs = mergeJobs(jobs)
	t.Now() // the server's clock is read with it
	var c jobColumns
	for _, j := range jobs {
		j.Due = j.Due.Add(t.off) // by which the server says that it is due
		if err := c.add(&j); err != nil {
			return err
		}
	}
	t.add(c.statement(enqueueRows))
	return t.remind(jobs)
}

// remind leaves a reminder of those of the jobs that are due before a sweep looks for them, and tells the dispatchers
// of this process of them when they are committed.
func (t *tx) remind(jobs []approvals.Job) error {
	var keys []jobKey
	var found []foundJob
	for i := range jobs {
		if in := jobs[i].Due.Sub(t.Now()); in <= lookAhead {
			keys = append(keys, keyOf(&jobs[i]))
			found = append(found, foundJob{key: keyOf(&jobs[i]), group: jobs[i].Group, in: max(in, 0)})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if !t.store.jobs.set.noRiver {
		s, err := remindOf(remindRows, keys)
		if err != nil {
			return err
		}
		t.add(s)
	}
	t.afterCommit(func() { t.store.jobs.committed(t.ctx, found) })
	return nil
}

func (t *tx) DeleteJob(ws approvals.WorkspaceID, kind approvals.JobKind, id string) error {
	if err := t.usable(true); err != nil {
		return err
	}
	t.put(deleteJobs, nil, text(ws), text(kind), text(id))
	return nil
}
