package pgstore

import (
	"context"
	"fmt"
	"testing"
	"time"

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
// at once: the others are not claimed, and keep no memory, until one has ended or another replica has room for them.
// Jobs of other kinds are handled meanwhile.
func TestDeliveriesWaitInTheTable(t *testing.T) {
	t.Parallel()
	most := approvals.JobDeliver.AtOnce()
	entered, runs, release := make(chan string, 3*most), make(chan string, 1), make(chan struct{})
	handle := func(replica string) func(context.Context, approvals.Job) error {
		return func(_ context.Context, j approvals.Job) error {
			if j.Kind == approvals.JobDeliver {
				entered <- replica
				<-release
			} else {
				runs <- j.ID
			}
			return nil
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
