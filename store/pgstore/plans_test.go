package pgstore

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
)

// plan is a node of a plan as EXPLAIN prints it.
type plan struct {
	Kind  string `json:"Node Type"`
	Table string `json:"Relation Name"`
	Index string `json:"Index Cond"`
	Plans []plan
}

// byKey reports whether the plan finds the rows of the table by all of its key, wherever it looks for any. found says
// that it looks for some.
func (p *plan) byKey(table string, key []string) (byKey, found bool) {
	byKey = true
	if p.Table == table && p.Kind != "ModifyTable" {
		found = true
		for _, column := range key {
			byKey = byKey && strings.Contains(p.Index, column+" = ")
		}
	}
	for i := range p.Plans {
		inner, some := p.Plans[i].byKey(table, key)
		byKey, found = byKey && inner, found || some
	}
	return byKey, found
}

// planOf returns the plan that a connection of the pool keeps for the statement.
func planOf(t *testing.T, pool *pgxpool.Pool, sql string) *plan {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "prepare planned as "+sql); err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
	defer conn.Exec(t.Context(), "deallocate planned")
	arguments := 0
	for regexp.MustCompile(fmt.Sprintf(`\$%d\b`, arguments+1)).MatchString(sql) {
		arguments++
	}
	nulls := strings.TrimSuffix(strings.Repeat("null, ", arguments), ", ")
	var raw []byte
	if err := conn.QueryRow(t.Context(), "explain (format json) execute planned("+nulls+")").Scan(&raw); err != nil {
		t.Fatal(err)
	}
	var all []struct{ Plan plan }
	if err := json.Unmarshal(raw, &all); err != nil || len(all) != 1 {
		t.Fatalf("%v: %s", err, raw)
	}
	return &all[0].Plan
}

// TestPlansOfQueuesGoByKey: a plan is kept for as long as the connection, and may be made while a queue is empty. Then
// the least work is to go over all of it, which is not so any more when a thousand jobs wait.
func TestPlansOfQueuesGoByKey(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	jobs, err := s.dispatchPool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer jobs.Close()
	enqueueJobs(t, s, approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1", Due: time.Now()})
	jobKey := []string{"workspace", "kind", "id"}
	var c claims
	type planned struct {
		pool  *pgxpool.Pool
		sql   string
		table string
		key   []string
	}
	all := map[string]planned{
		"claim":  {jobs, sqlClaimJob, "jobs", jobKey},
		"renew":  {jobs, sqlRenewClaim, "jobs", jobKey},
		"done":   {jobs, c.fenced(sqlAckJob), "jobs", jobKey},
		"repeat": {jobs, c.fenced(sqlRepeatJob), "jobs", jobKey},
		"find":   {jobs, sqlFindKeys, "jobs", jobKey},
		"delete": {s.clicks, deleteJobs.one, "jobs", jobKey},
	}
	for _, r := range []*rowStatement{removeNotification, removeInput, removeWorking, removeState} {
		if r.many != "" {
			t.Errorf("rows of %s are removed several at once", r.table)
		}
		key := []string{"workspace", "id"}
		if r == removeState {
			key = []string{"workspace", "run"}
		}
		all["remove "+r.table] = planned{s.clicks, r.one, r.table, key}
	}
	for _, state := range []string{"new", "analyzed"} {
		for name, p := range all {
			if byKey, found := planOf(t, p.pool, p.sql).byKey(p.table, p.key); !byKey || !found {
				t.Errorf("%s, tables %s: rows are not looked for by their key", name, state)
			}
		}
		// Control: a join with the keys that are sent, which is what there was.
		joined := planOf(t, jobs, `delete from jobs j using unnest($1::text[], $2::text[], $3::text[])
			as k (workspace, kind, id) where j.workspace = k.workspace and j.kind = k.kind and j.id = k.id`)
		if byKey, _ := joined.byKey("jobs", jobKey); byKey && state == "analyzed" {
			t.Error("a join is planned by key as well: this test shows nothing")
		}
		if _, err := jobs.Exec(t.Context(), "analyze"); err != nil {
			t.Fatal(err)
		}
	}
}
