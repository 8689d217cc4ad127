package approvals_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals"
)

// read counts how often it is read from a store that is reached over a network: each of these calls is a round trip.
type read struct {
	approvals.Store
	times atomic.Int64
}

func (s *read) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.View(ctx, func(tx approvals.Tx) error { return fn(readTx{tx, s}) })
}

func (s *read) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.Update(ctx, func(tx approvals.Tx) error { return fn(readTx{tx, s}) })
}

// since returns how often the store was read while fn ran.
func (s *read) since(fn func()) int64 {
	before := s.times.Load()
	fn()
	return s.times.Load() - before
}

type readTx struct {
	approvals.Tx
	of *read
}

func (t readTx) Run(ws approvals.WorkspaceID, id approvals.RunID) (*approvals.Run, error) {
	t.of.times.Add(1)
	return t.Tx.Run(ws, id)
}

func (t readTx) Request(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error) {
	t.of.times.Add(1)
	return t.Tx.Request(ws, id)
}

func (t readTx) Requests(ws approvals.WorkspaceID, ids []approvals.RequestID) ([]*approvals.Request, error) {
	t.of.times.Add(1)
	return t.Tx.Requests(ws, ids)
}

func (t readTx) RequestHead(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.RequestHead, error) {
	t.of.times.Add(1)
	return t.Tx.RequestHead(ws, id)
}

func (t readTx) QueryRequests(q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error) {
	t.of.times.Add(1)
	return t.Tx.QueryRequests(q)
}

func (t readTx) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.RequestHead, error) {
	t.of.times.Add(1)
	return t.Tx.RequestsOfRun(ws, run)
}

func (t readTx) RequestsOfRuns(ws approvals.WorkspaceID, runs []approvals.RunID) ([]*approvals.RequestHead, error) {
	t.of.times.Add(1)
	return t.Tx.RequestsOfRuns(ws, runs)
}

func (t readTx) Notifications(
	ws approvals.WorkspaceID, p approvals.Place, c approvals.Copy, limit int,
) ([]*approvals.Notification, error) {
	t.of.times.Add(1)
	return t.Tx.Notifications(ws, p, c, limit)
}

// TestManyAreReadAtOnce: what people read about several requests, and what is done about several, takes as many reads
// for many of them as for a few.
func TestManyAreReadAtOnce(t *testing.T) {
	t.Parallel()
	for name, measure := range map[string]func(*testing.T, int) int64{
		"pending of all":           pendingReads(approvals.PendingQuery{}),
		"pending of a viewer":      pendingReads(approvals.PendingQuery{Viewer: cara}),
		"pending for a person":     pendingReads(approvals.PendingQuery{Viewer: cara, Mine: true}),
		"requests by id":           requestReads,
		"history with its content": historyReads,
		"a person's queue":         queueReads,
		"a grant":                  grantReads,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			few, many := measure(t, 5), measure(t, 15)
			if few == 0 || many > few {
				t.Errorf("5 take %d reads, 15 take %d", few, many)
			}
		})
	}
}

// readBench is a bench whose store counts what is read, with n waiting requests, of runs with two of them each.
func readBench(t *testing.T, n int) (b *bench, st *read, all []*approvals.Request) {
	t.Helper()
	b = newBench(t)
	st = &read{Store: b.mortal}
	b.serve(st)
	all = b.waiting(n)
	slices.SortFunc(all, func(a, b *approvals.Request) int { return strings.Compare(string(a.ID), string(b.ID)) })
	err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
		for i, r := range all {
			r.Requirement.Always = []approvals.Scope{approvals.ScopeRun}
			r.Called.Copies = []approvals.Copy{approvals.CopyFor(cara)}
			r.Interruption = fmt.Sprintf("ops/1/c%d", i)
			if i%2 == 1 {
				r.Run = all[i-1].Run
			}
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b, st, all
}

func pendingReads(q approvals.PendingQuery) func(*testing.T, int) int64 {
	return func(t *testing.T, n int) int64 {
		b, st, all := readBench(t, n)
		q.Workspace, q.Limit = ws, n
		return st.since(func() {
			page, err := b.service.Pending(t.Context(), q)
			if err != nil || len(page.Requests) != n || page.Next != "" {
				t.Fatalf("%d requests, next %q, %v", len(page.Requests), page.Next, err)
			}
			checkBeside(t, page.Requests, all)
		})
	}
}

// checkBeside checks that each request says what waits beside it.
func checkBeside(t *testing.T, got, all []*approvals.Request) {
	t.Helper()
	for i, r := range got {
		o := i ^ 1
		want := o < len(all)
		if r.ID != all[i].ID || want != (len(r.Beside) == 1) || want != (len(r.Covers) == 1) ||
			want && (r.Beside[0] != all[o].ID || r.Covers[0].ID != all[o].ID) {
			t.Errorf("%d: %s has %v beside it and covers %v", i, r.ID, r.Beside, r.Covers)
		}
	}
}

func requestReads(t *testing.T, n int) int64 {
	b, st, all := readBench(t, n)
	ids := []approvals.RequestID{"req_gone"}
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return st.since(func() {
		got, err := b.service.Requests(t.Context(), ws, ids)
		if err != nil || len(got) != n {
			t.Fatalf("%d requests, %v", len(got), err)
		}
		checkBeside(t, got, all)
	})
}

func historyReads(t *testing.T, n int) int64 {
	b, st, all := readBench(t, n)
	err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
		for _, r := range all {
			r.Status, r.Settled = approvals.RequestRejected, r.Created
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return st.since(func() {
		page, err := b.service.History(t.Context(), approvals.HistoryQuery{Workspace: ws, Viewer: cara, Limit: n})
		if err != nil || len(page.Requests) != n {
			t.Fatalf("%d requests, %v", len(page.Requests), err)
		}
		err = b.store.Update(t.Context(), func(tx approvals.Tx) error { return tx.DeleteRequest(ws, all[1].ID) })
		whole, err2 := b.service.Contents(t.Context(), page.Requests)
		if err != nil || err2 != nil || len(whole) != n {
			t.Fatalf("%d whole requests, %v, %v", len(whole), err, err2)
		}
		for i, r := range whole {
			want := all[n-1-i]
			if r.ID != want.ID || (string(r.Arguments) == string(want.Arguments)) == (want == all[1]) {
				t.Errorf("%d: %s with %s", i, r.ID, r.Arguments)
			}
		}
	})
}

// queueReads delivers the entries of a queue that belong to one message.
func queueReads(t *testing.T, n int) int64 {
	b, st, all := readBench(t, n)
	key := approvals.CopyKey{Workspace: ws, Place: place, Copy: approvals.CopyFor(cara)}
	b.queueCards(key, all)
	lists := &listSurface{}
	b.worker.Notifier = lists
	handle := b.handler(t.Context(), st)
	reads := st.since(func() {
		job := approvals.Job{
			Workspace: ws, Kind: approvals.JobDeliver, ID: key.JobID(), Place: &key.Place, Copy: key.Copy,
		}
		if err := handle(job); err != nil {
			t.Fatal(err)
		}
	})
	if lists.times != 1 || len(lists.last.Waiting) != n || lists.last.WaitingAll != n {
		t.Fatalf("%d messages, the last with %d requests", lists.times, len(lists.last.Waiting))
	}
	for _, r := range all {
		if got := b.request(r.ID); len(got.Cards) != 1 || !got.Cards[0].List {
			t.Errorf("%s stands in %v", r.ID, got.Cards)
		}
	}
	return reads
}

// queueCards puts cards of the requests, in that order, into a queue.
func (b *bench) queueCards(key approvals.CopyKey, all []*approvals.Request) {
	b.Helper()
	err := b.store.Update(b.Context(), func(tx approvals.Tx) error {
		for i, r := range all {
			err := tx.PutNotification(&approvals.Notification{
				Workspace: key.Workspace, ID: approvals.NotificationID(fmt.Sprintf("ntf_%02d", i)), Place: key.Place,
				Copy: key.Copy, Kind: approvals.NotifyCard, Run: r.Run, Request: r.ID, Created: tx.Now(),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// listSurface posts one message for all that waits.
type listSurface struct {
	times int
	last  *approvals.Notification
}

func (s *listSurface) Notify(_ context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	s.times++
	s.last = n
	return approvals.Delivery{Channel: "D1", Message: "1.1", List: true}, nil
}

// grantReads decides a request so that a grant settles n others of its run.
func grantReads(t *testing.T, n int) int64 {
	b, st, all := readBench(t, n)
	terms := approvals.GrantTerms{Scope: approvals.ScopeChannel, TTL: time.Hour}
	requirement := func(q *approvals.Requirement) { q.Always = []approvals.Scope{terms.Scope} }
	b.policy.always(with(requirement))
	err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
		for _, r := range all {
			r.Run, r.Requirement = all[0].Run, with(requirement)
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	reads := st.since(func() {
		d := answerTo(all[0], bob, approvals.AlwaysApprove)
		d.Grant = &terms
		if _, err := b.service.Decide(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	})
	for _, r := range all {
		if got := b.request(r.ID); got.Status != approvals.RequestApproved {
			t.Errorf("%s is %s", r.ID, got.Status)
		}
	}
	return reads
}
