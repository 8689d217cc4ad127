package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Session is a conversation's memory across runs. The runner reads it when a run starts and appends what is new, the
// input and finished items, each exactly once: at every pause, at the end, and when the run ends with an error. Every
// call in it has its output. At a pause, calls that wait are saved later, together with their outputs.
//
// A run that ends with an error is saved as far as it got: a call without an output gets a sentence that says what is
// known of it, so that the next run on the session does not carry it out once more in good faith. The caller then
// either resumes the state, or starts anew with the session; not both. When the state is resumed after all, a call
// that was closed by a sentence and gets an output stands in the session once more, as a call of its own with that
// output. Nothing is saved of an answer that was refused, of a run that has nothing else beyond its input, and when
// Checkpoint failed: such a run goes on from its last checkpoint, which knows nothing of what would be saved.
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
// in Held, which wait there for the outputs of their calls.
type sessionMark struct {
	Saved int   `json:"saved"`
	Held  []int `json:"held,omitempty"`
	// The calls that the session has without the run's own output, by index: Closed with the sentence that they were not
	// carried out, Doubted with one that they may have been, Answered with the output that will be an item later.
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
	for n, i := range candidates {
		if !failed && f.held(candidates[n:]) {
			w.mark.Held = append(w.mark.Held, i)
		} else {
			w.add(i)
		}
	}
	if failed {
		w.closeCalls()
	}
	return w.ready, w.mark
}

// held reports whether the first of the items must wait: a call without its output, or the reasoning that directly
// precedes such a call.
func (f *frame) held(indexes []int) bool {
	for n, i := range indexes {
		it := &f.items[i]
		switch {
		case i != indexes[0]+n:
			return false
		case it.isCall() && i >= f.input:
			return !f.ledger[it.CallID].answered
		case it.Type != ItemReasoning:
			return false
		}
	}
	return false
}
