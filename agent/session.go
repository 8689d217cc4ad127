package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Session is a conversation's memory across runs. The runner reads it when a run starts and appends what is new: the
// input and finished items, at every pause and at the end, each exactly once and in the order of the conversation. A
// call that waits is saved with its output, and what follows it with it, so no orphan call is ever in a session. What a
// crash between Append and the checkpoint after it leaves open is appended again; where that matters, both are kept in
// one transaction.
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
}

// save appends to the session what it does not hold yet and may hold now.
func (x *execution) save(ctx context.Context) error {
	if x.Session == nil {
		return nil
	}
	ready, mark := x.state.unsaved()
	if len(ready) > 0 {
		if err := x.Session.Append(ctx, ready...); err != nil {
			return fmt.Errorf("append to session: %w", err)
		}
	}
	x.state.session.Saved, x.state.session.Held = mark.Saved, mark.Held
	if len(ready) > 0 {
		return x.checkpoint(ctx) // so that a run that goes on from here does not append them again
	}
	return nil
}

// unsaved returns the items to append to the session and the mark that holds afterwards.
func (s *RunState) unsaved() ([]Item, sessionMark) {
	f := s.frame
	mark := sessionMark{Saved: len(f.items)}
	candidates := slices.Clone(s.session.Held)
	for i := s.session.Saved; i < len(f.items); i++ {
		if !f.copied(i) {
			candidates = append(candidates, i)
		}
	}
	var ready []Item
	for n, i := range candidates {
		if !f.held(candidates[n:]) {
			ready = append(ready, f.items[i])
			continue
		}
		for _, i := range candidates[n:] { // everything after it waits too: a session keeps the order of the conversation
			if i >= s.session.Saved {
				mark.Saved = i
				break
			}
			mark.Held = append(mark.Held, i)
		}
		break
	}
	return ready, mark
}
