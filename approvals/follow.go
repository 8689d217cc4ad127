package approvals

import (
	"context"
	"fmt"

	"countersign/agent"
)

// UpdateKind says what a RunUpdate tells.
type UpdateKind string

// The kinds of updates.
const (
	UpdateText UpdateKind = "text" // more of what the agent writes
	UpdateCall UpdateKind = "call" // how a call stands
)

// CallState is how a call stands while its run is under way.
type CallState string

// The states of calls. Running, ran and failed are told when the records say so, waiting when people have been asked.
const (
	CallPending CallState = "pending" // the agent has made it, or people have allowed it; it has not begun
	CallRunning CallState = "running"
	CallWaiting CallState = "waiting" // people are asked
	CallRan     CallState = "ran"
	CallFailed  CallState = "failed"
	CallNotRun  CallState = "not run" // refused, or withdrawn
)

// RunUpdate is something that happens in a run between its records. It holds no argument of a call and no output.
type RunUpdate struct {
	Kind UpdateKind
	// Text is appended to what the agent writes; Item tells its texts apart. It is what a model wrote: never markup,
	// and not yet the answer, which only the outbox has.
	Text string
	Item string
	// Call is the interruption that the call has, or would have, and tells calls apart. Agent made it, under Path.
	Call  string
	Tool  string
	Path  []string
	State CallState
}

// FollowedRun is a run that a worker has begun to work on.
type FollowedRun struct {
	Workspace WorkspaceID
	Run       RunID
	Place     Place
	Requester UserID
	// Epoch names the claim; see Service.BeginStream.
	Epoch int64
	// Resumed says that the run was at work before.
	Resumed bool
	// Silent says that no text will be told, because a guardrail may refuse it.
	Silent bool
}

// FollowEnd says why there are no more updates.
type FollowEnd string

// The ends of progress.
const (
	FollowAnswered FollowEnd = "answered" // the run is done, and its answer is in the outbox
	FollowWaiting  FollowEnd = "waiting"  // people are asked
	FollowOver     FollowEnd = "over"     // it goes no further, or later, perhaps elsewhere
)

// Follower shows runs while they are under way. What it is told is beside the records and may be lost: nothing may
// rest on it. The way is one: a sink has no say in the run.
type Follower interface {
	// Follow is called when a worker begins with a run, and returns at once whether the sink reads what the feed
	// brings. If it does, it reads until the feed is closed, which is when the worker leaves the run.
	Follow(r FollowedRun, f *Feed) bool
}

// feedSize bounds how much a sink may be behind.
const feedSize = 256

// Feed brings the progress of a run to a sink. Sending never waits: what a sink does not take in time is lost. Of a
// text of which something was lost nothing more is told, so that what is told of it is its beginning.
type Feed struct {
	c      chan RunUpdate
	silent bool
	lost   map[string]bool // texts, by item
	end    FollowEnd       // set before c is closed
}

// NewFeed returns a feed and how to bring something to it: send, and over, which is called once, at the end. Neither
// waits, and both belong to one goroutine.
func NewFeed() (f *Feed, send func(RunUpdate), over func(FollowEnd)) {
	f = newFeed(false)
	return f, f.send, f.over
}

func newFeed(silent bool) *Feed {
	return &Feed{c: make(chan RunUpdate, feedSize), silent: silent, end: FollowOver}
}

// C returns what is read from. It is closed at the end.
func (f *Feed) C() <-chan RunUpdate { return f.c }

// End says why nothing more comes. It is there once C is closed.
func (f *Feed) End() FollowEnd { return f.end }

func (f *Feed) send(p RunUpdate) {
	if p.Kind == UpdateText && (f.silent || f.lost[p.Item]) {
		return
	}
	select {
	case f.c <- p:
	default:
		if p.Kind == UpdateText {
			if f.lost == nil {
				f.lost = map[string]bool{}
			}
			f.lost[p.Item] = true
		}
	}
}

func (f *Feed) over(end FollowEnd) {
	f.end = end
	close(f.c)
}

// BeginStream records that a message which shows the run's progress is about to appear, and returns its number, from 1.
// Whoever delivers what the run comes to learns from Notification.Streams that there are such messages, also when the
// process that showed them is gone. ErrFenced: the claim of that epoch is over, and nothing may be shown.
func (s *Service) BeginStream(ctx context.Context, ws WorkspaceID, id RunID, epoch int64) (number int, err error) {
	err = update(ctx, s.store, ws, func(c *txn) error {
		r, err := c.run(id)
		if err != nil {
			return err
		}
		if r.Status != RunRunning || r.Epoch != epoch {
			return fmt.Errorf("epoch %d: %w", epoch, ErrFenced)
		}
		r.Streams++
		number = r.Streams
		c.changed(r)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("begin a stream of run %s: %w", id, err)
	}
	return number, nil
}

// ActiveRun returns the run of the place that has not ended, or ErrNotFound.
func (s *Service) ActiveRun(ctx context.Context, ws WorkspaceID, p Place) (r *Run, err error) {
	err = s.store.View(ctx, func(tx Tx) error {
		r, err = tx.ActiveRun(ws, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("run of %s: %w", p.Channel, err)
	}
	return r, nil
}

// guarded reports whether a guardrail may refuse what the agent, or one that it hands over to, writes; or whether what
// it writes is data rather than words.
func guarded(a *agent.Agent, seen map[*agent.Agent]bool) bool {
	if a == nil || seen[a] {
		return false
	}
	seen[a] = true
	if len(a.InputGuardrails)+len(a.OutputGuardrails) > 0 || a.Output != nil {
		return true
	}
	for _, h := range a.Handoffs {
		if guarded(h.Agent, seen) {
			return true
		}
	}
	return false
}
