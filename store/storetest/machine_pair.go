package storetest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/approvals"
	"countersign/internal/rapidtest"
)

// What two stores are compared with beyond what a model is: ids in whose order, and texts in whose writing, stores
// could differ, times of other zones and of the ends of what a store has to tell apart, and limits of every size.
var (
	pairIDs = []string{
		"1", "10", "2", "a", "a\x00", "a\x00b", "a\x01", "\x01", "\x02", "a b", "ä", "a\u0308", "Z", "_", `"`, `\`,
		"{}", "NULL", "\u2028", "\uffff", "\U0001f4b8", " ", "\t\n", "%", "dm:U1", "\ufffd",
		strings.Repeat("long", 200),
	}
	pairTimes = []time.Time{
		machineTime(0), machineTime(1), machineTime(2), machineTime(3), time.Unix(0, 0),
		time.Now().Truncate(time.Microsecond), machineTime(1).In(time.FixedZone("", 5*3600+1800)),
		machineTime(2).In(time.FixedZone("", -3600)), time.Date(2261, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	}
	pairTexts = []string{
		"", "a", "\x00", "<&>\u2028\u2029", "\ufffd", `\u0000`, "\r\n", strings.Repeat("text ", 20_000),
	}
	pairRaws = []string{
		`{}`, `[]`, `null`, `0`, `1e400`, `"\u0000"`, `"\ud800"`, `"<&>\u2028` + "\u2028\"", `{"a":1,"a":2}`,
		"\"\xff\"",
	}
	pairLimits = []int{
		math.MinInt, -1, 0, 1, 2, 3, 1000, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt - 1, math.MaxInt,
	}
)

// Agree drives two stores with the same random transactions, and compares what every call says and how every
// transaction ends. It draws what a comparison with a model leaves open, and takes no part for either store. That is
// done n times, unless -rapid.checks says otherwise.
func Agree(t *testing.T, n int, open func(t testing.TB) (a, b Harness)) {
	rapidtest.CheckFew(t, n, func(r *rapid.T) {
		p := &pair{rapid: r, report: r, t: t}
		p.harnesses[0], p.harnesses[1] = open(t)
		p.open()
		defer p.close()
		p.ids = append(rapid.SliceOfN(rapid.SampledFrom(pairIDs), 4, 4).Draw(r, "ids"), "") // few enough to meet again
		r.Repeat(map[string]func(*rapid.T){
			"one":    func(*rapid.T) { p.transact(1) },
			"one 2":  func(*rapid.T) { p.transact(1) },
			"some":   func(*rapid.T) { p.transact(6) },
			"reopen": func(*rapid.T) { p.close(); p.open() },
		})
	})
}

// pair is two stores.
type pair struct {
	rapid     *rapid.T
	report    reporter
	t         testing.TB
	ids       []string
	harnesses [2]Harness
	stores    [2]approvals.Store
}

func (p *pair) open() {
	for i, h := range p.harnesses {
		p.stores[i] = h.Open()
	}
}

func (p *pair) close() {
	for _, s := range p.stores {
		if err := s.Close(); err != nil {
			p.report.Fatal(err)
		}
	}
}

// named is an operation, and in words what it is about.
type named struct {
	about string
	do    operation
}

func (n named) String() string { return n.about }

func (p *pair) transact(most int) {
	p.apply(rapid.SliceOfN(rapid.Custom(p.draw), 1, most).Draw(p.rapid, "operations"))
}

// apply carries out a transaction on both stores.
func (p *pair) apply(ops []named) {
	var said [2][]string
	var errs [2]error
	for i, s := range p.stores {
		errs[i] = s.Update(p.t.Context(), func(tx approvals.Tx) error {
			said[i] = nil
			for _, op := range ops {
				words, err := op.do(tx)
				if err != nil {
					return err
				}
				said[i] = append(said[i], words)
			}
			return nil
		})
	}
	if len(ops) > 1 && errs[0] != nil && errs[1] != nil {
		return // for one of the reasons there are: a deferred put may fail after a later one
	}
	if sentinel(errs[0]) != sentinel(errs[1]) {
		p.report.Fatalf("%v ends with:\n%v\nand\n%v", ops, errs[0], errs[1])
	}
	if d := diff(said[0], said[1]); errs[0] == nil && d != "" {
		p.report.Fatalf("%v says (-one +other):\n%s", ops, d)
	}
}

// draw draws an operation: a write, or a read of what writes have written.
func (p *pair) draw(t *rapid.T) named {
	id := func(of string) string { return rapid.SampledFrom(p.ids).Draw(t, of) }
	n := rapid.IntRange(0, 3).Draw(t, "number")
	d := drawn{
		ws: approvals.WorkspaceID(rapid.SampledFrom([]string{"T1", "T1", id("other workspace")}).Draw(t, "workspace")),
		id: id("id"), n: n, at: rapid.SampledFrom(pairTimes).Draw(t, "time"), copy: approvals.Copy(id("copy")),
		place: approvals.Place{Surface: "slack", Channel: id("channel"), Thread: id("thread")},
		raw:   json.RawMessage(rapid.SampledFrom(pairRaws).Draw(t, "raw")), status: machineStatus(n),
		text: rapid.SampledFrom(pairTexts).Draw(t, "text"),
	}
	limit, to := rapid.SampledFrom(pairLimits).Draw(t, "limit"), rapid.SampledFrom(pairTimes).Draw(t, "to")
	all := append(d.pairReads(limit, to), d.deletions()...)
	if d.id != "" {
		all = append(append(all, d.records()...), d.records()...) // more of them than of deletions
		all = append(all, d.pieces()...)
	} else {
		all = append(all, d.nameless()...)
	}
	i := rapid.IntRange(0, len(all)-1).Draw(t, "operation")
	return named{fmt.Sprintf("operation %d of %d about %.40q %.40q at %v copy %.20q, number %d, %v to %v, %q %.20q, "+
		"limit %d", i, len(all), d.ws, d.id, d.place, d.copy, n, d.at, to, d.raw, d.text, limit), all[i]}
}

// nameless are puts of records that lack a part of their key.
func (d drawn) nameless() []operation {
	return []operation{
		func(tx approvals.Tx) (string, error) { return done(tx.PutRun(&approvals.Run{Workspace: d.ws})) },
		func(tx approvals.Tx) (string, error) { return done(tx.PutInput(d.input())) },
		func(tx approvals.Tx) (string, error) {
			return done(tx.PutRequest(&approvals.Request{RequestHead: approvals.RequestHead{Workspace: d.ws}}))
		},
		func(tx approvals.Tx) (string, error) { return done(tx.PutGrant(d.grant())) },
		func(tx approvals.Tx) (string, error) {
			return done(tx.PutEffect(&approvals.EffectRecord{Workspace: d.ws}))
		},
		func(tx approvals.Tx) (string, error) {
			return done(tx.PutCallback(&approvals.Callback{Workspace: d.ws}))
		},
		func(tx approvals.Tx) (string, error) {
			return done(tx.PutNotification(&approvals.Notification{Workspace: d.ws}))
		},
		func(tx approvals.Tx) (string, error) { return done(tx.PutInstallation(&approvals.Installation{})) },
		func(tx approvals.Tx) (string, error) { return say(tx.Once(d.ws, "", d.at)) },
		func(tx approvals.Tx) (string, error) { return done(tx.AppendSession(d.ws, d.place, "", d.raw)) },
		func(tx approvals.Tx) (string, error) {
			return done(tx.AppendAudit(&approvals.AuditEntry{Workspace: d.ws}))
		},
		func(tx approvals.Tx) (string, error) { return done(tx.Enqueue(d.job(""))) },
	}
}

// pairReads reads one by one and in lists: with any limit, behind any id, and between any two times.
func (d drawn) pairReads(limit int, to time.Time) []operation {
	w, id, run, person := d.ws, d.id, approvals.RunID(d.id), approvals.NewUserID(d.ws, d.place.Thread)
	all := append(append(readsOf(w, id), readsAt(w, d.place)...), d.pairQueries(limit, to)...)
	return append(all, []operation{
		func(tx approvals.Tx) (string, error) { return say(tx.Events(w, id, limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Grants(w, approvals.GrantID(id), limit)) },
		func(tx approvals.Tx) (string, error) {
			return say(tx.OpenGrants(w, "ops", d.place.Thread, d.at, limit))
		},
		func(tx approvals.Tx) (string, error) {
			return say(tx.DeadLetters(w, approvals.NotificationID(id), limit))
		},
		func(tx approvals.Tx) (string, error) { return say(tx.Sessions(w, d.place, limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.UndeliveredPlaces(d.at, to, limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.LapsedLeases(d.at, to, limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.EndedRuns(w, to, limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Installations(approvals.WorkspaceID(id), limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.AuditEntries(w, uint64(d.n), limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.UnsealedAudit(w, limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.AuditWorkspaces()) },
		func(tx approvals.Tx) (string, error) { return say(tx.Inputs(w, d.place, limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.Notifications(w, d.place, d.copy, limit)) },
		func(tx approvals.Tx) (string, error) { return together(tx.SessionTail(w, d.place, limit)) },
		func(tx approvals.Tx) (string, error) { return together(tx.StateTail(w, run, limit)) },
		func(tx approvals.Tx) (string, error) { return say(tx.PendingOf(w, person)) },
		func(tx approvals.Tx) (string, error) { return say(tx.ActiveRuns(w, person, d.place.Channel)) },
		func(tx approvals.Tx) (string, error) { return say(tx.ActiveRuns(w, "", d.place.Channel)) },
		func(tx approvals.Tx) (string, error) {
			return say(tx.Requests(w, []approvals.RequestID{approvals.RequestID(id), "1", approvals.RequestID(id), ""}))
		},
	}...)
}

// pairQueries are queries, which are followed to their end.
func (d drawn) pairQueries(limit int, to time.Time) (all []operation) {
	base := approvals.RequestQuery{Workspace: d.ws, Limit: limit, Newest: d.n > 1}
	for _, change := range []func(q *approvals.RequestQuery){
		func(q *approvals.RequestQuery) { q.After = approvals.RequestID(d.id) },
		func(q *approvals.RequestQuery) { q.After, q.Status = approvals.RequestID(d.id), d.status },
		func(q *approvals.RequestQuery) { q.From, q.To = d.at, to },
		func(q *approvals.RequestQuery) { q.Person = approvals.NewUserID(d.ws, d.place.Thread) },
		func(q *approvals.RequestQuery) { q.Agent = string([]rune(d.id + "a")[:1]) },
		func(q *approvals.RequestQuery) { q.Channel, q.Settled = d.place.Channel, d.n%2 == 0 },
		func(q *approvals.RequestQuery) { q.Run = approvals.RunID(d.id) },
	} {
		q := base
		change(&q)
		all = append(all, func(tx approvals.Tx) (string, error) { return say(follow(tx, q)) })
	}
	runs := approvals.RunQuery{Workspace: d.ws, Limit: limit, Newest: d.n > 1}
	for _, change := range []func(q *approvals.RunQuery){
		func(q *approvals.RunQuery) { q.After = approvals.RunID(d.id) },
		func(q *approvals.RunQuery) { q.After, q.Status = approvals.RunID(d.id), approvals.RunWaiting },
		func(q *approvals.RunQuery) { q.From, q.To = d.at, to },
		func(q *approvals.RunQuery) { q.Person = approvals.NewUserID(d.ws, d.place.Thread) },
	} {
		q := runs
		change(&q)
		all = append(all, func(tx approvals.Tx) (string, error) { return say(followRuns(tx, q)) })
	}
	return all
}
