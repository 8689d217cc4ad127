package pgstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

// TestMoreThanAReplicaRemembers: a group has more jobs than a replica keeps in mind. When those run out it looks for
// the others at once, and does not wait for the next sweep.
func TestMoreThanAReplicaRemembers(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t), jobSettings{sweep: time.Hour, noLocal: true, noRiver: true})
	const all = maxReady + 100
	jobs := make([]approvals.Job, all)
	for i := range jobs {
		jobs[i] = job(fmt.Sprintf("run_%d", i))
	}
	enqueueJobs(t, s, jobs...)
	handled := make(chan string, all)
	defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
		handled <- j.ID
		return nil
	})()
	for n := range all {
		await(t, fmt.Sprintf("job %d of %d", n+1, all), handled)
	}
}

// TestDeliveriesWaitInTheTable has more queues of the outbox to empty, each in a group of its own, than a worker takes
// at once: the others are not claimed until one has ended or another replica has room for them.
// Jobs of other kinds are handled meanwhile.
func TestDeliveriesWaitInTheTable(t *testing.T) {
	t.Parallel()
	most := approvals.JobDeliver.AtOnce()
	entered, runs, release := make(chan string, 3*most), make(chan string, 1), make(chan struct{})
	handle := func(replica string) func(context.Context, approvals.Job) error {
		return func(ctx context.Context, j approvals.Job) error {
			if j.Kind != approvals.JobDeliver {
				runs <- j.ID
				return nil
			}
			entered <- replica
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	url := newURL(t)
	s, other := openJobs(t, url, jobSettings{}), openJobs(t, url, jobSettings{})
	defer dispatch(t, s, handle("one"))()
	jobs := make([]approvals.Job, 3*most)
	for i := range jobs {
		id := fmt.Sprint("d", i)
		jobs[i] = approvals.Job{Workspace: "T1", Kind: approvals.JobDeliver, ID: id, Group: id}
	}
	enqueueJobs(t, s, jobs...)
	for n := range most {
		await(t, fmt.Sprintf("delivery %d", n+1), entered)
	}
	for _, id := range []string{"run_1", "run_2"} { // with the second the scheduler has looked once more
		enqueueJobs(t, s, job(id))
		await(t, id, runs)
	}
	if n := len(entered); n > 0 {
		t.Errorf("%d deliveries at once, want %d", most+n, most)
	}
	release <- struct{}{}
	await(t, "a delivery behind the one that has ended", entered)

	defer dispatch(t, other, handle("other"))()
	full := 0
	for n := range most {
		if await(t, fmt.Sprintf("delivery %d of the other replica", n+1), entered) != "other" {
			full++
		}
	}
	if full > 0 {
		t.Errorf("%d deliveries were claimed by the replica that has no room", full)
	}
	close(release)
}

// heldSweep is a database on which looking at the whole table takes until the test ends, or is given up.
type heldSweep struct {
	querier
	held    <-chan struct{}
	begun   chan<- bool
	givenUp *atomic.Bool
}

func (q heldSweep) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if sql == sqlFindDue {
		select {
		case q.begun <- true:
		default:
		}
		select {
		case <-q.held:
		case <-ctx.Done():
			q.givenUp.Store(true)
		}
	}
	return q.querier.Query(ctx, sql, args...)
}

// TestSweepHoldsUpNoJob has jobs claimed and handled while the whole table is being looked at, which takes long where
// many wait.
func TestSweepHoldsUpNoJob(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t), jobSettings{noRiver: true})
	db, err := s.dispatchPool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	held, begun, handled := make(chan struct{}), make(chan bool, 1), make(chan string, 1)
	var givenUp atomic.Bool
	d := newScheduler(s, heldSweep{db, held, begun, &givenUp}, func(_ context.Context, j approvals.Job) error {
		handled <- j.ID
		return nil
	})
	s.jobs.listen(d.told)
	defer s.jobs.leave(d.told)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.run(ctx) })
	defer running.Wait()
	defer cancel()
	defer close(held)
	await(t, "the sweep", begun)
	for _, id := range []string{"run_1", "run_2"} {
		enqueueJobs(t, s, job(id))
		await(t, id, handled)
	}
	if givenUp.Load() {
		t.Error("the jobs waited until the sweep was given up")
	}
}

// TestDrainWaits: while a scheduler ends it starts nothing, so that what has become due has it wait for its handlers
// all the same, and not ask again and again.
func TestDrainWaits(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t), jobSettings{})
	d := newScheduler(s, s.work, nil)
	now := time.Now()
	past := now.Add(-time.Second)
	d.all, d.sweep, d.look[jobKey{"T1", approvals.JobRun, "run_1"}] = true, past, true
	d.soon.add(soonJob{at: past})
	if at := d.next(now); at.After(now) {
		t.Errorf("control: there is nothing to do for %v", at.Sub(now))
	}
	if at := d.nextOfDrain(now, past); !at.After(now) {
		t.Error("it does not wait although no handler is at work")
	}
	d.busy[1], d.renew, d.lapses = &handling{}, now.Add(time.Second), now.Add(2*time.Second)
	if at := d.nextOfDrain(now, time.Time{}); !at.Equal(d.renew) {
		t.Errorf("it waits for %v, want until the claim is prolonged", at.Sub(now))
	}
}
