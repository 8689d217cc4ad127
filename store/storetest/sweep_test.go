package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/approvals"
)

// sweeper is about the least that can be made of a store that loses jobs, hands them out twice and does not know of its
// commits: runs have leases, and somebody looks for what was forgotten.
type sweeper struct {
	store approvals.Store
	name  string
}

var errBusy = errors.New("somebody else is at work")

const (
	leaseTime  = 15 * time.Second
	sweepEvery = 5 * time.Second
)

func (w *sweeper) handle(ctx context.Context, j approvals.Job) error {
	if j.Kind == approvals.JobDeliver {
		return w.deliver(ctx, j)
	}
	return w.execute(ctx, j)
}

// execute claims a run, works on it, and settles it if it is still its own.
func (w *sweeper) execute(ctx context.Context, j approvals.Job) error {
	epoch := int64(0)
	err := w.store.Update(ctx, func(tx approvals.Tx) error {
		r, err := tx.Run(j.Workspace, approvals.RunID(j.ID))
		if err != nil {
			return err
		}
		epoch = 0
		if r.Status.Ended() {
			return nil
		}
		if tx.Now().Before(r.LeaseUntil) {
			return errBusy
		}
		r.Epoch++
		r.Status, r.Owner, r.LeaseUntil = approvals.RunRunning, w.name, tx.Now().Add(leaseTime)
		epoch = r.Epoch
		return tx.PutRun(r)
	})
	if errors.Is(err, errBusy) || err == nil && epoch == 0 {
		return nil // a sweep comes back to it
	}
	if err != nil {
		return err
	}
	time.Sleep(time.Second)
	return w.store.Update(ctx, func(tx approvals.Tx) error { return w.settle(tx, j, epoch) })
}

func (w *sweeper) settle(tx approvals.Tx, j approvals.Job, epoch int64) error {
	r, err := tx.Run(j.Workspace, approvals.RunID(j.ID))
	if err != nil {
		return err
	}
	if r.Epoch != epoch || r.Status != approvals.RunRunning {
		return approvals.ErrFenced
	}
	r.Status, r.Ended, r.Owner, r.LeaseUntil = approvals.RunDone, tx.Now(), "", time.Time{}
	n := notification(approvals.NotificationID("ntf_" + j.ID))
	n.Place, n.Created = r.Place, tx.Now()
	return errors.Join(tx.PutRun(r), tx.PutNotification(n),
		tx.AppendSession(ws, place, fmt.Sprint(j.ID, " epoch ", epoch), []byte(`[1]`)), tx.Enqueue(deliveryOf(n.Key())))
}

func deliveryOf(k approvals.CopyKey) approvals.Job {
	return approvals.Job{
		Workspace: k.Workspace, Kind: approvals.JobDeliver, ID: k.JobID(), Place: &k.Place, Copy: k.Copy,
	}
}

func (w *sweeper) deliver(ctx context.Context, j approvals.Job) error {
	return w.store.Update(ctx, func(tx approvals.Tx) error {
		list, err := tx.Notifications(j.Workspace, *j.Place, j.Copy, 10)
		for _, n := range list {
			err = errors.Join(err, tx.DeleteNotification(n))
		}
		return err
	})
}

// sweep enqueues what was forgotten.
func (w *sweeper) sweep(ctx context.Context) error {
	return w.store.Update(ctx, func(tx approvals.Tx) error {
		runs, err1 := tx.LapsedLeases(tx.Now(), tx.Now().Add(time.Hour), 100)
		queues, err2 := tx.UndeliveredPlaces(tx.Now().Add(-sweepEvery), tx.Now(), 100)
		err := errors.Join(err1, err2)
		for _, k := range runs {
			err = errors.Join(err,
				tx.Enqueue(approvals.Job{Workspace: k.Workspace, Kind: approvals.JobRun, ID: string(k.Run)}))
		}
		for _, k := range queues {
			err = errors.Join(err, tx.Enqueue(deliveryOf(k)))
		}
		return err
	})
}

// sweepers lets two processes execute runs under havoc, and reports how many were done, settled and not delivered.
func sweepers(t *testing.T, runs int, sweep bool) (ended, settled, undelivered int) {
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		for i := range runs {
			r := run(approvals.RunID(fmt.Sprintf("run_%d", i)), approvals.RunQueued)
			r.Place.Thread = fmt.Sprint(i)
			s.update(func(tx approvals.Tx) error { return errors.Join(tx.PutRun(r), tx.Enqueue(job(string(r.ID)))) })
		}
		c := Havoc(3)
		c.Lose, c.LoseKinds = 0.4, []approvals.JobKind{approvals.JobRun, approvals.JobDeliver}
		m.Unreliable(c)
		ctx, cancel := context.WithCancel(s.ctx)
		for i := range 2 {
			w := &sweeper{store: s.replica(), name: fmt.Sprint("worker ", i)}
			defer s.dispatchOn(w.store, w.handle)()
			if sweep {
				go func() {
					for tick := time.Tick(sweepEvery); ctx.Err() == nil; {
						w.sweep(ctx)
						select {
						case <-tick:
						case <-ctx.Done():
						}
					}
				}()
			}
		}
		time.Sleep(10 * time.Minute)
		cancel()
		m.Unreliable(Chaos{})
		s.view(func(tx approvals.Tx) error {
			ids, err1 := tx.EndedRuns(ws, tx.Now(), runs)
			queues, err2 := tx.UndeliveredPlaces(tx.Now(), tx.Now(), runs)
			chunks, _, err3 := tx.SessionTail(ws, place, 1<<20)
			ended, settled, undelivered = len(ids), len(chunks), len(queues)
			return errors.Join(err1, err2, err3)
		})
	})
	return ended, settled, undelivered
}

// TestSweepsAreEnough loses jobs, and finds every run executed and every notification delivered all the same, because
// somebody sweeps; and some not, when nobody does.
func TestSweepsAreEnough(t *testing.T) {
	t.Parallel()
	const runs = 40
	if ended, settled, undelivered := sweepers(t, runs, true); ended != runs || settled != runs || undelivered != 0 {
		t.Errorf("%d of %d runs have ended, %d settled, %d places undelivered", ended, runs, settled, undelivered)
	}
	if ended, _, undelivered := sweepers(t, runs, false); ended == runs && undelivered == 0 {
		t.Error("control: nothing was lost")
	}
}
