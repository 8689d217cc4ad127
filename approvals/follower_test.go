package approvals_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"countersign/approvals"
)

// notes is a follower that writes down what it is told, a line for each execution, and begins a stream in each, before
// that goes on: it may be over otherwise.
type notes struct {
	b *bench

	mu    sync.Mutex
	lines []string
	runs  []approvals.FollowedRun
	begun []int
	done  sync.WaitGroup
}

func (n *notes) Follow(r approvals.FollowedRun, f *approvals.Feed) bool {
	number, err := n.b.service.BeginStream(n.b.Context(), ws, r.Run, r.Epoch)
	n.done.Go(func() {
		var told []string
		for u := range f.C() {
			if u.Kind == approvals.UpdateCall {
				told = append(told, u.Tool+" "+string(u.State))
			} else {
				told = append(told, u.Text)
			}
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if err != nil {
			told = append(told, err.Error())
		}
		n.lines = append(n.lines, strings.Join(append(told, string(f.End())), ", "))
		n.runs, n.begun = append(n.runs, r), append(n.begun, number)
	})
	return true
}

func (n *notes) told() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.lines...)
}

// TestFollowerIsToldWhatTheRecordsSay: calls run, wait and end when that is recorded; notifications say how many
// streams the run has had.
func TestFollowerIsToldWhatTheRecordsSay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := &notes{b: b}
	b.model(asks(call("c1", "note", `{}`), call("c2", "pay", `{"amount":5}`)))
	b.worker.Follower = n
	streams := make(chan int, 100)
	b.surface.intercept = func(one *approvals.Notification) error {
		if one.Kind == approvals.NotifyAnswer {
			streams <- one.Streams
		}
		return nil
	}
	b.start()
	id := b.submit()
	q := b.question(id)
	b.until("the first execution", func() bool { return len(n.told()) == 1 })
	if got := n.told()[0]; got != "note running, note ran, pay waiting, waiting" {
		t.Errorf("first: %s", got)
	}
	first := n.runs[0]
	b.must(q, bob, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
	b.until("the second execution", func() bool { return len(n.told()) == 2 })
	if got := n.told()[1]; got != "pay pending, pay running, pay ran, answered" {
		t.Errorf("second: %s", got)
	}
	if first.Resumed || !n.runs[1].Resumed || n.begun[0] != 1 || n.begun[1] != 2 || b.run(id).Streams != 2 {
		t.Errorf("%+v, %v", n.runs, n.begun)
	}
	if got := <-streams; got != 2 {
		t.Errorf("the answer says %d streams", got)
	}
	for _, epoch := range []int64{first.Epoch, n.runs[1].Epoch} {
		_, err := b.service.BeginStream(t.Context(), ws, id, epoch)
		if !errors.Is(err, approvals.ErrFenced) {
			t.Errorf("a stream begins under a claim that is over: %v", err)
		}
	}
	n.done.Wait()
}

// TestFollowerIsToldOfRefusals: a call that people refuse is not run, and a run that nobody follows goes the same way.
func TestFollowerIsToldOfRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := &notes{b: b}
	b.worker.Follower = n
	b.start()
	id := b.submit()
	b.must(b.question(id), bob, approvals.Reject, "no")
	b.reaches(id, approvals.RunDone)
	b.until("both executions", func() bool { return len(n.told()) == 2 })
	if got := n.told()[1]; got != "pay not run, answered" {
		t.Errorf("told: %s", got)
	}
	n.done.Wait()
}
