package approvals

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// startFacts is how much older than a message the answer may be that its author may start runs. Runs that start
	// together share the question: Slack takes some fifty of them in a minute, and people who decide come first.
	startFacts = 10 * time.Second
	// startFactsKept is for how long a run that waits to be started may rely on what was found out when it was asked
	// for.
	startFactsKept = time.Minute
	// rightAgain is how long a run waits at most until it is tried again to find out whether it may start.
	rightAgain = 20 * time.Second
	// mostLate is how many runs that wait for that are known.
	mostLate = 10_000
	// rightTold is for how long a run waits for that before people are told; a crowd has passed by then.
	rightTold = 5 * time.Minute
)

// errStart says that it is not known whether a run may start.
var errStart = errors.New("start")

// late are the runs that this process has put off because nobody could say whether they may start.
type late struct {
	mu   sync.Mutex
	runs map[RunKey]struct{}
}

func (l *late) add(r *Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) >= mostLate {
		clear(l.runs)
	}
	l.runs[RunKey{Workspace: r.Workspace, Run: r.ID}] = struct{}{}
}

// take reports whether the run is one of them, which it is not any more.
func (l *late) take(ws WorkspaceID, id RunID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := RunKey{Workspace: ws, Run: id}
	_, is := l.runs[key]
	delete(l.runs, key)
	return is
}

// awaitRight puts a run off once more for as long as the directory, which is asked too much, does not say whether its
// requester may start it. Nothing is claimed for that, and nothing recorded, unless people are to be told. sure says
// that they may; whatever else comes out is left to the execution.
func (w *Worker) awaitRight(ctx context.Context, job Job) (sure bool, err error) {
	if !w.late.take(job.Workspace, RunID(job.ID)) {
		return false, nil
	}
	var r *Run
	var now time.Time
	err = w.store.View(WithOneRead(ctx, true), func(tx Tx) (err error) {
		r, err = tx.Run(job.Workspace, RunID(job.ID))
		now = tx.Now()
		return err
	})
	if err != nil || r.Status != RunQueued || r.StateItems > 0 {
		return false, nil // the claim says what is wrong, if anything
	}
	if r.Waits == "" && now.Sub(r.Created) > rightTold {
		return false, nil // the execution tells people
	}
	if err = w.mayStart(ctx, r); err == nil {
		return true, nil
	}
	return false, w.putOff(r, err)
}

// putOff returns a *RetryError for one of mayStart's, which comes sooner than the directory has said: meanwhile it may
// have been found out in another way. For any other error it returns nil.
func (w *Worker) putOff(r *Run, err error) error {
	later, ok := errors.AsType[*RetryError](err)
	if !ok {
		return nil
	}
	w.late.add(r)
	return &RetryError{After: min(later.After, rightAgain), Err: err, Uncounted: true}
}

// nowSure notes that the run's requester may start it.
func (c *txn) nowSure(r *Run) {
	if r.Unsure {
		r.Unsure = false
		c.changed(r)
	}
}

// mayStart says whether the run's requester may start it now. The message may have waited for days behind another run,
// and in a crowd it is queued before anything is known of who wrote it.
func (w *Worker) mayStart(ctx context.Context, r *Run) error {
	ctx = WithPatience(ctx, true)
	now := time.Now()
	asked := now
	if r.Created.Before(now) && now.Sub(r.Created) < startFactsKept {
		asked = r.Created
	}
	err := w.mayStartSince(ctx, r, asked.Add(-startFacts), noTime)
	if errors.Is(err, ErrUnauthorized) { // nobody is turned away by old news
		err = w.mayStartSince(ctx, r, now, now)
	}
	return err
}

// mayStartSince is mayStart by what was found out since: of the person, and of the sets of people that they are in.
func (w *Worker) mayStartSince(ctx context.Context, r *Run, person, sets time.Time) error {
	g := newGatherer(w.directory, w.policy, r.conversation(), person)
	if err := g.isRegular(ctx, r.Requester); err != nil || w.requesters == nil {
		return err
	}
	g.since = sets
	return g.mayStart(ctx, w.requesters(r.Workspace), r.Requester)
}
