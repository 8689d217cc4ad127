package agent

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
)

// touching lets calls of an execution that touch the same things run one after the other, in the order in which they
// came. The zero value is ready to use.
type touching struct {
	mu    sync.Mutex
	turns []*turnOf // in the order in which they came; those that are over are taken out
}

// turnOf is the turn of one call: what it touches, and when it is over.
type turnOf struct {
	things []string
	over   chan struct{}
}

// enter waits for the calls that came before and touch one of the things. The caller calls leave when it is done. The
// error is the context's, and there is nothing to leave then.
func (t *touching) enter(ctx context.Context, things []string) (leave func(), err error) {
	own := &turnOf{things: things, over: make(chan struct{})}
	t.mu.Lock()
	var before []*turnOf
	for _, other := range t.turns {
		if overlap(own.things, other.things) {
			before = append(before, other)
		}
	}
	t.turns = append(t.turns, own)
	t.mu.Unlock()
	leave = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.turns = slices.DeleteFunc(t.turns, func(other *turnOf) bool { return other == own })
		close(own.over)
	}
	for _, other := range before { // each waits for earlier ones alone, so no two wait for each other
		select {
		case <-other.over:
		case <-ctx.Done():
			leave()
			return nil, stopped(ctx)
		}
	}
	return leave, nil
}

// overlap reports whether a thing of one list is, or is inside, one of the other, or the other way round.
func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if within(x, y) || within(y, x) {
				return true
			}
		}
	}
	return false
}

func within(thing, of string) bool {
	if !strings.HasSuffix(of, "/") {
		of += "/"
	}
	return strings.HasPrefix(thing+"/", of)
}

// things are what a call must have to itself while it runs. What a tool without Touches depends on is known to nobody,
// so it has all calls of its name run one at a time.
func (t *Tool) things(call *ToolCall) []string {
	switch {
	case t.Touches != nil:
		var things []string
		for _, name := range t.Touches(call) {
			things = append(things, path.Clean("/"+name))
		}
		return things
	case t.Preconditions != nil:
		return []string{"tool:" + t.Name} // no path begins like this
	}
	return nil
}
