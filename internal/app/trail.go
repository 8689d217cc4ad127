package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/prometheus/client_golang/prometheus"

	"countersign/approvals"
	"countersign/internal/catalog"
)

// trail follows the audit trail from the start of the program on: what it counts and logs was committed, whoever did
// it, and is counted and logged once. Of several processes on one store that is done by the one that has linked the
// entry into the chain: see sealed.
type trail struct {
	store approvals.Store
	log   *slog.Logger

	ctx    context.Context
	shared bool // others count and log what they have linked
	lines  *eventLog
	tally  *tally

	mu     sync.Mutex // held while entries are read, counted and logged, in their order
	next   map[approvals.WorkspaceID]uint64
	asked  questions
	behind bool // reading has failed, and that was logged

	counting  sync.Mutex // held by a scrape while it counts what waits, which may take long
	waiting   waiting
	uncounted bool // counting has failed, and that was logged

	handing sync.Mutex              // held for a moment only
	linked  []*approvals.AuditEntry // by this process, and not counted yet; who holds mu removes them
}

const (
	trailEvery   = 250 * time.Millisecond // how often new entries are looked for
	trailTimeout = 3 * time.Second        // how long a scrape, or the end of the program, may wait for that
	trailPage    = 500                    // how many entries are read at a time
)

var _ prometheus.Collector = (*trail)(nil)

// newTrail starts behind the entries that are there already. ctx bounds the life of the trail.
func newTrail(ctx context.Context, st approvals.Store, log *slog.Logger, shared bool) (*trail, error) {
	t := &trail{
		store: st, log: log, ctx: ctx, next: make(map[approvals.WorkspaceID]uint64), asked: make(questions),
		lines: &eventLog{log.Handler()}, tally: newTally(), shared: shared,
	}
	if shared {
		return t, nil
	}
	err := st.View(ctx, func(tx approvals.Tx) error {
		all, err := tx.AuditWorkspaces()
		for _, ws := range all {
			head, err := tx.AuditHead(ws)
			if errors.Is(err, approvals.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			t.next[ws] = head.Seq + 1
		}
		return err
	})
	return t, err
}

// expect is told of the policies that hold from now on.
func (t *trail) expect(c *catalog.Catalog) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tally.expect(c.PolicyNames())
}

// Describe is part of prometheus.Collector.
func (t *trail) Describe(ch chan<- *prometheus.Desc) {
	t.tally.describe(ch)
	t.waiting.describe(ch)
}

// Collect is part of prometheus.Collector.
func (t *trail) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(t.ctx, trailTimeout)
	defer cancel()
	t.step(ctx)
	t.tally.collect(ch)
	t.counting.Lock()
	defer t.counting.Unlock()
	if ctx.Err() == nil { // else the store does not answer, which step has said
		t.report(&t.uncounted, "metrics of what waits are behind", t.waiting.count(ctx, t.store))
	}
	t.waiting.collect(ch)
}

// follow reads what is new until ctx ends. What is committed after that is for finish.
func (t *trail) follow(ctx context.Context) error {
	tick := time.NewTicker(trailEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			t.step(ctx)
		}
	}
}

// finish reads what was committed last, when nothing is committed any more.
func (t *trail) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), trailTimeout)
	defer cancel()
	t.step(ctx)
}

func (t *trail) step(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read(ctx)
}

// read is catchUp that logs when it fails. t.mu is held.
func (t *trail) read(ctx context.Context) {
	const what = "metrics and the lines of what happens are behind"
	if err := t.catchUp(ctx); !errors.Is(err, context.Canceled) {
		t.report(&t.behind, what, err)
	}
}

// report logs what is behind, once until it is not: was says whether it is known to be.
func (t *trail) report(was *bool, what string, err error) {
	if err != nil && !*was && !errors.Is(err, approvals.ErrClosed) {
		t.log.Warn(what, "error", err)
	}
	*was = err != nil
}

// sealed takes what this process has linked into a chain.
func (s *server) sealed(ctx context.Context, entries []*approvals.AuditEntry) {
	if s.shared() {
		s.trail.hand(ctx, entries)
	}
}

// hand takes what this process has linked. Whoever links goes on at once while somebody else reads, which may take
// long: the next step counts what was handed over.
func (t *trail) hand(ctx context.Context, entries []*approvals.AuditEntry) {
	t.handing.Lock()
	t.linked = append(t.linked, entries...)
	t.handing.Unlock()
	if t.mu.TryLock() {
		defer t.mu.Unlock()
		t.read(ctx)
	}
}

// takeLinked counts and logs what this process has linked. t.mu is held.
func (t *trail) takeLinked(ctx context.Context) error {
	t.handing.Lock()
	entries := t.linked // what is appended meanwhile stands behind them
	t.handing.Unlock()
	if len(entries) == 0 {
		return nil
	}
	err := t.store.View(ctx, func(tx approvals.Tx) error { return t.learn(ctx, tx, entries) })
	if err != nil {
		return err
	}
	t.take(ctx, entries)
	t.handing.Lock()
	defer t.handing.Unlock()
	t.linked = slices.Delete(t.linked, 0, len(entries))
	return nil
}

// take counts and logs entries.
func (t *trail) take(ctx context.Context, entries []*approvals.AuditEntry) {
	for _, e := range entries {
		about := t.asked[requestKey{e.Workspace, e.Request}]
		t.tally.take(e, about)
		t.lines.write(ctx, e, about)
	}
}

// learn reads the requests of those entries that are told or counted with more than they say themselves.
func (t *trail) learn(ctx context.Context, tx approvals.Tx, entries []*approvals.AuditEntry) error {
	return t.asked.learn(tx, entries, func(e *approvals.AuditEntry) bool {
		return countsQuestion(e.Action) || t.lines.writes(ctx, e.Action)
	})
}

// catchUp reads all that is new.
func (t *trail) catchUp(ctx context.Context) error {
	if t.shared {
		return t.takeLinked(ctx)
	}
	all, err := workspaces(ctx, t.store)
	if err != nil {
		return err
	}
	for _, ws := range all {
		for more := true; more; {
			if more, err = t.readPage(ctx, ws); err != nil {
				return err
			}
		}
	}
	return nil
}

func workspaces(ctx context.Context, st approvals.Store) (all []approvals.WorkspaceID, err error) {
	err = st.View(ctx, func(tx approvals.Tx) (err error) {
		all, err = tx.AuditWorkspaces()
		return err
	})
	return all, err
}

// readPage takes in the next entries of a workspace and says whether there may be more.
func (t *trail) readPage(ctx context.Context, ws approvals.WorkspaceID) (more bool, err error) {
	from := max(t.next[ws], 1)
	var page []*approvals.AuditEntry
	err = t.store.View(ctx, func(tx approvals.Tx) (err error) {
		if page, err = tx.AuditEntries(ws, from, trailPage); err != nil {
			return err
		}
		return t.learn(ctx, tx, page)
	})
	if err != nil {
		return false, err
	}
	t.take(ctx, page)
	t.next[ws] = from + uint64(len(page))
	return len(page) == trailPage, nil
}

// question is what is told and counted of a request beside what an audit entry says.
type question struct {
	agent, tool, policy string
	asked               time.Time // zero: the request is gone
}

type requestKey struct {
	ws approvals.WorkspaceID
	id approvals.RequestID
}

// questions are the requests that entries have spoken of lately.
type questions map[requestKey]question

// kept returns a copy of a name that many requests have, the same memory for each. What a record holds are parts of one
// text, all of which would be kept with any of them.
func kept[S ~string](name S) S { return S(unique.Make(string(name)).Value()) }

// questionsAtOnce is how many of them are read at once, with all that they ask about.
const questionsAtOnce = 20

// questionsKept is how many of them are kept.
const questionsKept = 4096

// learn reads the requests that the wanted entries speak of, but for those that are known.
func (q questions) learn(
	tx approvals.Tx, entries []*approvals.AuditEntry, wanted func(*approvals.AuditEntry) bool,
) error {
	if len(q) > questionsKept {
		clear(q)
	}
	unknown := map[approvals.WorkspaceID][]approvals.RequestID{}
	for _, e := range entries {
		if _, known := q[requestKey{e.Workspace, e.Request}]; known || e.Request == "" || !wanted(e) {
			continue
		}
		key := requestKey{kept(e.Workspace), approvals.RequestID(strings.Clone(string(e.Request)))}
		q[key] = question{} // unless it is there
		unknown[key.ws] = append(unknown[key.ws], key.id)
	}
	for ws, all := range unknown {
		for some := range slices.Chunk(all, questionsAtOnce) {
			requests, err := tx.Requests(ws, some)
			if err != nil {
				q.forget(unknown)
				return err
			}
			for _, r := range requests {
				q[requestKey{ws, r.ID}] = questionOf(&r.RequestHead)
			}
		}
	}
	return nil
}

// forget has the requests learnt of again.
func (q questions) forget(all map[approvals.WorkspaceID][]approvals.RequestID) {
	for ws, some := range all {
		for _, id := range some {
			delete(q, requestKey{ws, id})
		}
	}
}

func questionOf(r *approvals.RequestHead) question {
	about := question{
		agent: kept(r.Agent), tool: kept(r.Tool.Name), policy: kept(r.Requirement.Policy), asked: r.Created,
	}
	if !r.Asked.IsZero() {
		about.asked = r.Asked
	}
	return about
}
