package pgstore

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

// querier is what both a pool and a transaction offer.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// announcements tell a scheduler which jobs this process has committed. They are hints: the table has the truth.
type announcements struct {
	mu   sync.Mutex
	jobs []foundJob
	came chan struct{}
}

func newAnnouncements() *announcements { return &announcements{came: make(chan struct{}, 1)} }

func (a *announcements) add(jobs []foundJob) {
	a.mu.Lock()
	a.jobs = append(a.jobs, jobs...)
	a.mu.Unlock()
	select {
	case a.came <- struct{}{}:
	default:
	}
}

// take returns what was announced since the last time.
func (a *announcements) take() []foundJob {
	a.mu.Lock()
	defer a.mu.Unlock()
	jobs := a.jobs
	a.jobs = nil
	return jobs
}

// dispatching is what a store knows of those who hand out its jobs.
type dispatching struct {
	set     jobSettings
	workers int
	log     *slog.Logger

	mu      sync.Mutex
	here    []*announcements // of the Dispatches of this process
	telling bool             // a goroutine tells others that there is work
	again   bool             // it has to do so once more
	notify  func(context.Context) error
	told    sync.WaitGroup
}

func (j *dispatching) listen(a *announcements) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.here = append(j.here, a)
}

func (j *dispatching) leave(a *announcements) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.here = slices.DeleteFunc(j.here, func(o *announcements) bool { return o == a })
}

// committed passes on which jobs a transaction has enqueued that was committed.
func (j *dispatching) committed(ctx context.Context, jobs []foundJob) {
	j.mu.Lock()
	var here []*announcements
	if !j.set.noLocal {
		here = slices.Clone(j.here)
	}
	j.mu.Unlock()
	for _, a := range here {
		a.add(jobs)
	}
	if len(here) == 0 {
		j.tell(ctx)
	}
}

// tellPatience bounds the attempt to tell others. When it fails they find out by themselves.
const tellPatience = 5 * time.Second

// tell tells the other processes that there are reminders to fetch, without waiting for it. What comes up meanwhile is
// told once: a notification holds up all other commits of the database for a moment.
func (j *dispatching) tell(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if j.set.noRiver {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.telling {
		j.again = true
		return
	}
	j.telling = true
	j.told.Go(func() {
		for more := true; more; {
			telling, cancel := context.WithTimeout(ctx, tellPatience)
			if err := j.notify(telling); err != nil {
				j.log.Debug("others not told of jobs; they will look", "error", err)
			}
			cancel()
			j.mu.Lock()
			more, j.again = j.again, false
			j.telling = more
			j.mu.Unlock()
		}
	})
}

var _ approvals.JobTx = (*tx)(nil)
