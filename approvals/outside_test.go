package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals"
)

// counting is a store that knows how many transactions are open.
type counting struct {
	approvals.Store
	open *atomic.Int32
}

func (s counting) View(ctx context.Context, fn func(approvals.Tx) error) error {
	s.open.Add(1)
	defer s.open.Add(-1)
	return s.Store.View(ctx, fn)
}

func (s counting) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	s.open.Add(1)
	defer s.open.Add(-1)
	return s.Store.Update(ctx, fn)
}

// outside is a directory that must not be asked while a transaction is open: it may take seconds to answer, and a
// transaction holds up others or keeps the file growing for as long.
type outside struct {
	approvals.Directory
	t     *testing.T
	open  *atomic.Int32
	asked atomic.Int32
}

func (d *outside) note() {
	d.asked.Add(1)
	if d.open.Load() != 0 {
		d.t.Error("asked in a transaction")
	}
}

func (d *outside) Person(ctx context.Context, u approvals.UserID, since time.Time) (approvals.Person, error) {
	d.note()
	return d.Directory.Person(ctx, u, since)
}

func (d *outside) Members(
	ctx context.Context, ws approvals.WorkspaceID, group string, since time.Time,
) ([]approvals.UserID, error) {
	d.note()
	return d.Directory.Members(ctx, ws, group, since)
}

func (d *outside) ChannelMembers(
	ctx context.Context, ws approvals.WorkspaceID, channel string,
) ([]approvals.UserID, error) {
	d.note()
	return d.Directory.ChannelMembers(ctx, ws, channel)
}

func (d *outside) InChannel(
	ctx context.Context, ws approvals.WorkspaceID, channel string, u approvals.UserID, since time.Time,
) (bool, error) {
	d.note()
	return d.Directory.InChannel(ctx, ws, channel, u, since)
}

// TestDirectoryIsAskedOutsideTransactions goes through everything that asks who somebody is.
func TestDirectoryIsAskedOutsideTransactions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.people.setGroup("S1", bob, cara)
	b.policy.always(with(func(q *approvals.Requirement) {
		q.Seats = approvals.Quorum(2, approvals.Approvers{Groups: []string{"S1"}, ChannelMembers: true})
		q.DenyQuorum = 2
	}))
	open := new(atomic.Int32)
	people := &outside{Directory: b.people, t: t, open: open}
	service, err := approvals.NewService(approvals.ServiceConfig{
		Store: counting{b.store, open}, Policy: b.policy, Directory: people, Agents: b.agents,
		Requesters: approvals.Approvers{ChannelMembers: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.service, b.worker.Store, b.worker.Directory = service, counting{b.store, open}, people
	handle := b.handler(t.Context(), b.worker.Store)
	asks := func(what string, do func() error) {
		t.Helper()
		before := people.asked.Load()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if people.asked.Load() == before {
			t.Errorf("%s asks nobody: this shows nothing", what)
		}
	}
	var id approvals.RunID
	asks("to submit", func() error {
		receipt, err := service.Submit(t.Context(), b.submission(ann, place, "please"))
		id = receipt.Run
		return err
	})
	asks("to put the question", func() error { return handle(runJob(id)) })
	r := b.pending(id)[0]
	asks("to list", func() error {
		_, err := service.Pending(t.Context(), approvals.PendingQuery{Workspace: ws, Viewer: bob})
		return err
	})
	asks("to decide", func() error { _, err := b.decide(r, bob, approvals.Approve, ""); return err })
	// Those who answered are looked up again.
	b.policy.always(with(func(q *approvals.Requirement) { quorum(q, 2); q.ValidFor = 0 }))
	asks("to decide for good", func() error { _, err := b.decide(r, cara, approvals.Approve, ""); return err })
	asks("to run the call", func() error { return handle(runJob(id)) })
	if got := b.run(id); got.Status != approvals.RunDone {
		t.Fatalf("run is %s: %s", got.Status, got.Failure)
	}

	id = b.submit()
	if err := handle(runJob(id)); err != nil {
		t.Fatal(err)
	}
	asks("to refuse to cancel", func() error {
		if _, err := service.CancelRun(t.Context(), ws, id, guest, ""); !errors.Is(err, approvals.ErrUnauthorized) {
			return fmt.Errorf("a guest: %w", err)
		}
		return nil
	})
	asks("to cancel", func() error { _, err := service.CancelRun(t.Context(), ws, id, cara, ""); return err })
}
