package storetest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"countersign/approvals"
)

// handling changes what handlers do.
func handling(change func(ctx context.Context, j approvals.Job, h handle) error) wrapper {
	return func(s approvals.Store) approvals.Store {
		return &hooked{Store: s, dispatch: func(ctx context.Context, h handle) error {
			return s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error { return change(ctx, j, h) })
		}}
	}
}

// ending changes what handlers return, unless they were interrupted.
func ending(change func(error) error) wrapper {
	return handling(func(ctx context.Context, j approvals.Job, h handle) error {
		err := h(ctx, j)
		if ctx.Err() != nil {
			return err
		}
		return change(err)
	})
}

// given changes the job that handlers are given.
func given(change func(*approvals.Job)) wrapper {
	return handling(func(ctx context.Context, j approvals.Job, h handle) error {
		change(&j)
		return h(ctx, j)
	})
}

// forgetsInterrupted takes a handler that was cut off for one that was done.
func forgetsInterrupted(ctx context.Context, j approvals.Job, h handle) error {
	err := h(ctx, j)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// isSlow looks for work now and then.
func isSlow(ctx context.Context, j approvals.Job, h handle) error {
	select {
	case <-time.After(1100 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	return h(ctx, j)
}

func withoutPause(err error) error {
	if asked, ok := errors.AsType[*approvals.RetryError](err); ok {
		return asked.Err
	}
	return err
}

// dispatching changes Dispatch.
func dispatching(change func(ctx context.Context, s approvals.Store, h handle) error) wrapper {
	return func(s approvals.Store) approvals.Store {
		return &hooked{Store: s, dispatch: func(ctx context.Context, h handle) error { return change(ctx, s, h) }}
	}
}

// endsQuietly says nothing when its store is closed.
func endsQuietly(ctx context.Context, s approvals.Store, h handle) error {
	if err := s.Dispatch(ctx, h); !errors.Is(err, approvals.ErrClosed) {
		return err
	}
	return nil
}

// leavesHandlers does not wait for what is under way.
func leavesHandlers(ctx context.Context, s approvals.Store, h handle) error {
	done := make(chan error, 1)
	go func() { done <- s.Dispatch(ctx, h) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return nil
	}
}

// stopsAt ends with the first handler that fails, or that panics.
func stopsAt(panics bool) func(ctx context.Context, s approvals.Store, h handle) error {
	return func(ctx context.Context, s approvals.Store, h handle) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = errors.New("panicked")
					cancel()
				}
			}()
			if err = h(ctx, j); err != nil && !panics {
				cancel()
			}
			return err
		})
	}
}

// slots handles so many jobs of a kind at once, whatever their groups are.
func slots(n int) func(ctx context.Context, s approvals.Store, h handle) error {
	return func(ctx context.Context, s approvals.Store, h handle) error {
		var mu sync.Mutex
		kinds := map[approvals.JobKind]chan struct{}{}
		of := func(kind approvals.JobKind) chan struct{} {
			mu.Lock()
			defer mu.Unlock()
			if n == 1 {
				kind = ""
			}
			if kinds[kind] == nil {
				kinds[kind] = make(chan struct{}, n)
			}
			return kinds[kind]
		}
		return s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
			slot := of(j.Kind)
			select {
			case slot <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-slot }()
			return h(ctx, j)
		})
	}
}

// removesAlways removes a job that was handled, also when it was enqueued meanwhile.
func removesAlways(ctx context.Context, s approvals.Store, h handle) error {
	return s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
		err := h(ctx, j)
		if err == nil {
			s.Update(ctx, func(tx approvals.Tx) error { return tx.DeleteJob(j.Workspace, j.Kind, j.ID) })
		}
		return err
	})
}

// revives enqueues a job whose handler failed, also when it was deleted meanwhile.
func revives(ctx context.Context, s approvals.Store, h handle) error {
	return s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
		err := h(ctx, j)
		if err != nil && ctx.Err() == nil {
			j.Due = j.Due.Add(200 * time.Millisecond)
			s.Update(ctx, func(tx approvals.Tx) error { return tx.Enqueue(j) })
		}
		return err
	})
}

// sharesPlaces hands out the same place with every attempt at a job.
func sharesPlaces(s approvals.Store) approvals.Store {
	var places sync.Map
	return given(func(j *approvals.Job) {
		if j.Place != nil {
			kept, _ := places.LoadOrStore(j.ID, j.Place)
			j.Place = kept.(*approvals.Place)
		}
	})(s)
}

// knowsOwn handles only jobs that were enqueued since it was opened, by itself, of those whose names matter.
func knowsOwn(matters func(id string) bool) wrapper {
	return func(s approvals.Store) approvals.Store {
		fresh := new(sync.Map)
		s = each(func(tx approvals.Tx) notesJobs { return notesJobs{tx, fresh} })(s)
		return handling(func(ctx context.Context, j approvals.Job, h handle) error {
			if _, ok := fresh.Load(j.ID); !ok && matters(j.ID) {
				return errors.New("not mine")
			}
			return h(ctx, j)
		})(s)
	}
}

type notesJobs struct {
	approvals.Tx
	fresh *sync.Map
}

func (t notesJobs) Enqueue(jobs ...approvals.Job) error {
	for _, j := range jobs {
		t.fresh.Store(j.ID, true)
	}
	return t.Tx.Enqueue(jobs...)
}

// handlesTwice forgets that a job is being handled when it is enqueued.
func handlesTwice(s approvals.Store) approvals.Store {
	return newAlone(each(func(tx approvals.Tx) forgetsMarks { return forgetsMarks{tx.(*memoryTx)} })(s))
}

type forgetsMarks struct{ *memoryTx }

func (t forgetsMarks) Enqueue(jobs ...approvals.Job) error {
	err := t.memoryTx.Enqueue(jobs...)
	for _, j := range jobs {
		if err == nil {
			t.remove(nameOf(&j).mark())
		}
	}
	return err
}

// enqueuesOutside plans jobs outside of the transaction.
func enqueuesOutside(s approvals.Store) approvals.Store {
	return &hooked{Store: s, update: func(ctx context.Context, fn func(approvals.Tx) error) error {
		var jobs []approvals.Job
		err := s.Update(ctx, func(tx approvals.Tx) error {
			jobs = nil
			return fn(&divertsJobs{tx, &jobs})
		})
		for _, j := range jobs {
			err = cmp.Or(err, s.Update(context.WithoutCancel(ctx), func(tx approvals.Tx) error {
				return tx.Enqueue(j)
			}))
		}
		return err
	}}
}

type divertsJobs struct {
	approvals.Tx
	jobs *[]approvals.Job
}

func (t *divertsJobs) Enqueue(jobs ...approvals.Job) error {
	if len(jobs) > 0 && (jobs[0].ID == "no" || jobs[0].ID == "yes") {
		*t.jobs = append(*t.jobs, jobs...)
		return nil
	}
	return t.Tx.Enqueue(jobs...)
}

// enqueues changes Enqueue.
type enqueues struct {
	approvals.Tx
	change func(tx approvals.Tx, jobs []approvals.Job) error
}

func (t enqueues) Enqueue(jobs ...approvals.Job) error { return t.change(t.Tx, jobs) }

func enqueuing(change func(tx approvals.Tx, jobs []approvals.Job) error) wrapper {
	return each(func(tx approvals.Tx) enqueues { return enqueues{tx, change} })
}

// impatient makes jobs due at once.
func impatient(tx approvals.Tx, jobs []approvals.Job) error {
	for i := range jobs {
		jobs[i].Due = time.Time{}
	}
	return tx.Enqueue(jobs...)
}

// keepsLater keeps the newer due time, be it the later.
func keepsLater(tx approvals.Tx, jobs []approvals.Job) error {
	for _, j := range jobs {
		k := nameOf(&j).job()
		if v := tx.(*memoryTx).root.get(k); v != nil && look[queuedJob](v).Given == 0 {
			tx.DeleteJob(j.Workspace, j.Kind, j.ID)
		}
	}
	return tx.Enqueue(jobs...)
}

// oneWorkspace plans only the jobs that are of the first one's workspace.
func oneWorkspace(tx approvals.Tx, jobs []approvals.Job) error {
	var own []approvals.Job
	for _, j := range jobs {
		if j.Workspace == jobs[0].Workspace {
			own = append(own, j)
		}
	}
	return tx.Enqueue(own...)
}

// countsFromOne gives a job that was gone its first generation again.
func countsFromOne(tx approvals.Tx, jobs []approvals.Job) error {
	t := tx.(*memoryTx)
	for _, j := range jobs {
		gone := t.root.get(nameOf(&j).job()) == nil
		if err := t.Enqueue(j); err != nil {
			return err
		}
		if gone {
			m := *look[queuedJob](t.root.get(nameOf(&j).job()))
			m.Generation = 1
			t.setJob(&m)
		}
	}
	return nil
}

// deletesJobs changes DeleteJob.
type deletesJobs struct {
	approvals.Tx
	change func(t *memoryTx, j approvals.Job) error
}

func (t deletesJobs) DeleteJob(ws approvals.WorkspaceID, kind approvals.JobKind, id string) error {
	return t.change(t.Tx.(*memoryTx), approvals.Job{Workspace: ws, Kind: kind, ID: id})
}

func deletingJobs(change func(t *memoryTx, j approvals.Job) error) wrapper {
	return each(func(tx approvals.Tx) deletesJobs { return deletesJobs{tx, change} })
}

// onlySaysSo calls itself exclusive.
type onlySaysSo struct{ approvals.Store }

func (onlySaysSo) Exclusive() bool { return true }

// missesDeleted complains about a job that is not there.
func missesDeleted(t *memoryTx, j approvals.Job) error {
	if t.usable(true) == nil && t.root.get(nameOf(&j).job()) == nil {
		return approvals.ErrNotFound
	}
	return t.DeleteJob(j.Workspace, j.Kind, j.ID)
}

func ignoresDelete(t *memoryTx, j approvals.Job) error {
	return t.DeleteJob(j.Workspace, j.Kind, j.ID+", but another")
}

// deletesEverywhere takes jobs of other workspaces for the same.
func deletesEverywhere(t *memoryTx, j approvals.Job) error {
	return errors.Join(t.DeleteJob(ws, j.Kind, j.ID), t.DeleteJob(other, j.Kind, j.ID))
}
