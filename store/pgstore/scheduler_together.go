package pgstore

import (
	"cmp"
	"slices"
)

// enqueueRows writes jobs, and remindRows reminders of them, of as many transactions as share one.
var (
	enqueueRows = &rowStatement{table: "jobs", one: sqlEnqueueJobs, join: joinJobs}
	remindRows  = &rowStatement{table: "river_job", one: sqlRemind, join: joinReminders}
)

// statement writes the jobs.
func (c *jobColumns) statement(row *rowStatement) statement {
	s := statement{row: row, sql: sqlEnqueueJobs, jobs: c,
		args: []any{c.workspaces, c.kinds, c.ids, c.groups, c.places, c.copies, c.dues}}
	for i := range c.ids {
		s.places = append(s.places, placeIn("jobs", c.workspaces[i], c.kinds[i], c.ids[i]))
	}
	return s
}

// joinJobs makes one statement of several, with the jobs in the order of their keys.
func joinJobs(same []statement) ([]statement, error) {
	type place struct {
		key string
		of  *jobColumns
		at  int
	}
	var all []place
	for _, s := range same {
		for i := range s.jobs.ids {
			all = append(all, place{s.places[i], s.jobs, i})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.key, b.key) })
	var c jobColumns
	for _, p := range all {
		c.workspaces = append(c.workspaces, p.of.workspaces[p.at])
		c.kinds = append(c.kinds, p.of.kinds[p.at])
		c.ids = append(c.ids, p.of.ids[p.at])
		c.groups = append(c.groups, p.of.groups[p.at])
		c.places = append(c.places, p.of.places[p.at])
		c.copies = append(c.copies, p.of.copies[p.at])
		c.dues = append(c.dues, p.of.dues[p.at])
	}
	return []statement{c.statement(same[0].row)}, nil
}

// remindOf leaves one reminder of the jobs.
func remindOf(row *rowStatement, keys []jobKey) (statement, error) {
	args, err := reminderArgs(keys)
	return statement{row: row, sql: sqlRemind, args: args, keys: keys}, err
}

// joinReminders makes as few reminders of several as can name all their jobs.
func joinReminders(same []statement) (list []statement, err error) {
	var keys []jobKey
	for _, s := range same {
		if len(s.keys) > maxRemindedKeys { // it names none
			return []statement{s}, nil
		}
		keys = append(keys, s.keys...)
	}
	for chunk := range slices.Chunk(keys, maxRemindedKeys) {
		s, err := remindOf(same[0].row, chunk)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
