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
