package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Session is a conversation's memory across runs. The runner reads it when a run starts and appends what is new, the
// input and finished items, each exactly once and in the order of the conversation: at every pause, at the end, and
// when the run ends with an error. Every call in it has its output. At a pause a call that waits, and what follows it,
// is saved later, together with its output.
//
// A run that ends with an error is saved as far as it got: a call without an output gets a sentence that says what is
// known of it, so that the next run on the session does not carry it out once more in good faith, and so does a call
// that a provider was told to carry out and has not answered. The caller then either resumes the state, or starts anew
// with the session; not both. When the state is resumed after all, a call that was closed by a sentence and gets an
// output stands in the session once more, as a call of its own with that output. Nothing is saved of an answer that
// was refused, of a run that has nothing else beyond its input, and when Checkpoint failed: such a run goes on from
// its last checkpoint, which knows nothing of what would be saved.
//
// What a crash between Append and the checkpoint after it leaves open is appended again; where that matters, both are
// kept in one transaction.
type Session interface {
	Items(ctx context.Context) ([]Item, error)
	Append(ctx context.Context, items ...Item) error
}

// MemorySession is a Session in memory. The zero value is empty and ready for use, also from several goroutines.
type MemorySession struct {
	mu    sync.Mutex
	items []Item
}

var _ Session = (*MemorySession)(nil)

// Items returns a copy of what the session holds, oldest first. It never fails.
func (m *MemorySession) Items(context.Context) ([]Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.items), nil
}

// Append adds the items. It never fails.
func (m *MemorySession) Append(_ context.Context, items ...Item) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items = append(m.items, items...)
	return nil
}

// sessionMark is what a state knows about the session: all items before Saved are in it, but for those at the indexes
// in Held, which wait for the outputs of their calls. Only states of earlier releases have such.
type sessionMark struct {
	Saved int   `json:"saved"`
	Held  []int `json:"held,omitempty"`
	// The calls that the session has without the run's own output, by index: Closed with the sentence that they were
	// not carried out, Doubted with one that they may have been, Answered with the output that will be an item later.
	Closed   []int `json:"closed,omitempty"`
	Doubted  []int `json:"doubted,omitempty"`
	Answered []int `json:"answered,omitempty"`
}

// save appends to the session what it does not hold yet and may hold now. failed says that the run ends with an error.
func (x *execution) save(ctx context.Context, failed bool) error {
	if x.Session == nil {
		return nil
	}
	ready, mark := x.state.unsaved(failed)
	if len(ready) > 0 {
		if err := x.Session.Append(ctx, ready...); err != nil {
			return fmt.Errorf("append to session: %w", err)
		}
	}
	x.state.session = mark
	if len(ready) > 0 {
		return x.checkpoint(ctx) // so that a run that goes on from here does not append them again
	}
	return nil
}

// saveFailed saves what a run did that ends with the error, also when it was cancelled. It returns the error, and what
// went wrong with saving.
func (x *execution) saveFailed(ctx context.Context, err error) error {
	f := x.state.frame
	if x.Session == nil || f.accepted() <= f.input || x.checkpointFailed {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if unsaved := x.save(ctx, true); unsaved != nil {
		return errors.Join(err, unsaved)
	}
	return err
}

// unsaved returns the items to append to the session and the mark that holds afterwards. When the run ends with an
// error, nothing waits.
func (s *RunState) unsaved(failed bool) ([]Item, sessionMark) {
	f := s.frame
	w := sessionWriter{frame: f, mark: sessionMark{
		Saved: max(s.session.Saved, f.accepted()), Closed: slices.Clone(s.session.Closed),
		Doubted: slices.Clone(s.session.Doubted), Answered: slices.Clone(s.session.Answered),
	}}
	candidates := slices.Clone(s.session.Held)
	for i := s.session.Saved; i < w.mark.Saved; i++ {
		if !f.copied(i) {
			candidates = append(candidates, i)
		}
	}
	ready := len(candidates)
	if !failed {
		ready = f.waiting(candidates)
	}
	for _, i := range candidates[:ready] {
		w.add(i)
	}
	for _, i := range candidates[ready:] {
		if i >= s.session.Saved {
			w.mark.Saved = i
			break
		}
		w.mark.Held = append(w.mark.Held, i)
	}
	if failed {
		w.closeCalls()
		w.doubtApprovals()
	}
	return w.ready, w.mark
}

// waiting returns from where on the items at the indexes wait: from the first call that has no output, or whose output
// comes behind such a call. A session keeps the order of the conversation, and no call is in it without its output.
func (f *frame) waiting(indexes []int) int {
	end := 0
	for end < len(indexes) && !f.held(indexes[end:]) {
		end++
	}
	for {
		n := f.unanswered(indexes[:end])
		if n < 0 {
			return end
		}
		for n > 0 && indexes[n-1] == indexes[n]-1 && f.items[indexes[n-1]].Type == ItemReasoning {
			n--
		}
		end = n
	}
}

// unanswered returns the position of the run's first call at the indexes whose output is not at one of them, or -1.
func (f *frame) unanswered(indexes []int) int {
	answered := make(map[string]bool)
	for _, i := range indexes {
		if it := &f.items[i]; it.IsOutput() {
			answered[it.CallID] = true
		}
	}
	return slices.IndexFunc(indexes, func(i int) bool {
		it := &f.items[i]
		return it.IsCall() && i >= f.input && !answered[it.CallID]
	})
}
