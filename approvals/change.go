package approvals

import (
	"context"
	"time"

	"countersign/agent"
	"countersign/internal/fault"
)

// system is the actor of what no person did.
const system = "system"

// noTime is the zero time: never.
var noTime time.Time

// change is one transaction on a workspace, with what belongs to every change: one reading of the clock, the head of
// the audit chain, versions that grow, and jobs beside the records that need them.
type change struct {
	Tx
	ws   WorkspaceID
	now  time.Time   // later than everything the chain holds
	wall time.Time   // what the clock says: for what happens outside, such as jobs
	head *AuditEntry // the newest entry of the chain, this transaction's included
	ids  uint16      // how many ids were made
}

// update runs fn in a change of the workspace. fn may be called again and touches nothing but c and what it resets.
func update(ctx context.Context, st Store, ws WorkspaceID, fn func(c *change) error) error {
	now := clock()
	return st.Update(ctx, func(tx Tx) error {
		c := &change{Tx: tx, ws: ws, now: now, wall: now}
		if err := c.readHead(); err != nil {
			return err
		}
		return fn(c)
	})
}

// clock returns the time in the precision that every store keeps.
func clock() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// newID returns an id that sorts behind every id that an earlier change of the workspace, or this one, has made.
func (c *change) newID(prefix string) string {
	c.ids++
	return newID(prefix, c.now, c.ids)
}

// putRun writes r as its next version.
func (c *change) putRun(r *Run) error {
	r.Version++
	r.Updated = c.now
	return c.PutRun(r)
}

// putRequest writes r as its next version.
func (c *change) putRequest(r *Request) error {
	r.Version++
	return c.PutRequest(r)
}

// wake queues the job that executes the run.
func (c *change) wake(r *Run) error {
	return c.Enqueue(Job{Workspace: r.Workspace, Kind: JobRun, ID: string(r.ID), Due: c.wall})
}

// requeue wakes the run because one of its requests has been settled. A run that somebody works on stays with them:
// they find the settled request when they are done.
func (c *change) requeue(id RunID, why RequestID) error {
	r, err := c.Run(c.ws, id)
	if err != nil {
		return err
	}
	if r.Status.Ended() {
		return nil
	}
	if r.Status == RunWaiting {
		if err := c.moveRun(r, RunQueued, system, map[string]any{"request": why}); err != nil {
			return err
		}
		if err := c.putRun(r); err != nil {
			return err
		}
	}
	return c.wake(r)
}

// show queues what brings the request's card up to date.
func (c *change) show(r *Request) error {
	return c.notify(&Notification{Kind: NotifyCard, Place: r.Place, Run: r.Run, Request: r.ID})
}

// say queues a notice for the people of the run's place.
func (c *change) say(r *Run, text string) error {
	return c.notify(&Notification{Kind: NotifyNotice, Place: r.Place, Run: r.ID, Text: text})
}

// notify puts n into the outbox and wakes its place's delivery.
func (c *change) notify(n *Notification) error {
	n.Workspace, n.Created = c.ws, c.now
	n.ID = NotificationID(c.newID("ntf_"))
	if err := c.PutNotification(n); err != nil {
		return err
	}
	return c.Enqueue(deliverJob(c.ws, n.Place, c.wall))
}

func deliverJob(ws WorkspaceID, p Place, due time.Time) Job {
	return Job{Workspace: ws, Kind: JobDeliver, ID: p.Key(), Due: due, Place: &p}
}

// sameDigest is the comparison that binds what was shown to what runs.
func sameDigest(a, b agent.Digest) bool { return fault.NoDigest || a == b }
