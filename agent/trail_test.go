package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"countersign/agent/trace"
)

// trail is a Tracer that remembers its spans.
type trail struct {
	link   string
	panics bool

	mu    sync.Mutex
	spans []*step
}

// step is a span of a trail.
type step struct {
	trail  *trail
	parent *step
	start  trace.Start
	class  string
	attrs  []slog.Attr
	ended  int  // how often
	open   int  // spans inside that have not ended
	early  bool // it ended before one inside it
}

type stepKey struct{}

func newTrail(link string) *trail { return &trail{link: link} }

func (tr *trail) StartSpan(ctx context.Context, s trace.Start) (context.Context, trace.Span) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	st := &step{trail: tr, start: s}
	if st.parent, _ = ctx.Value(stepKey{}).(*step); st.parent != nil {
		st.parent.open++
	}
	tr.spans = append(tr.spans, st)
	return context.WithValue(ctx, stepKey{}, st), st
}

func (s *step) Link() string {
	if s.trail.panics {
		panic("no link")
	}
	return s.trail.link
}

func (s *step) End(class string, attrs ...slog.Attr) {
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	s.class, s.attrs = class, attrs
	s.ended++
	s.early = s.open > 0
	if s.parent != nil {
		s.parent.open--
	}
	if s.trail.panics {
		panic("it does not end")
	}
}

// check reports spans that did not end exactly once, and those that ended before one inside them.
func (tr *trail) check(t *testing.T) {
	t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, s := range tr.spans {
		if s.ended != 1 || s.early {
			t.Errorf("%s %q has ended %d times, before one inside: %v", s.start.Kind, s.start.Name, s.ended, s.early)
		}
		if s.start.Kind != trace.Run && s.parent == nil {
			t.Errorf("%s %q lies in no run", s.start.Kind, s.start.Name)
		}
		seen := make(map[string]bool)
		for _, a := range slices.Concat(s.start.Attrs, s.attrs) {
			if seen[a.Key] {
				t.Errorf("%s %q has %q twice", s.start.Kind, s.start.Name, a.Key)
			}
			seen[a.Key] = true
		}
	}
}

// tree draws the spans, those inside others indented, in the order in which they began.
func (tr *trail) tree() string {
	var b strings.Builder
	var draw func(parent *step, indent string)
	draw = func(parent *step, indent string) {
		for _, s := range tr.spans {
			if s.parent != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s %s", indent, s.start.Kind, s.start.Name)
			for _, a := range slices.Concat(s.start.Attrs, s.attrs) {
				if a.Key != trace.AttrAgent && a.Key != trace.AttrInterruption {
					fmt.Fprintf(&b, " %s", a)
				}
			}
			if s.class != "" {
				fmt.Fprintf(&b, " !%s", s.class)
			}
			if s.start.Links != nil {
				fmt.Fprintf(&b, " <- %s", s.start.Links)
			}
			b.WriteString("\n")
			draw(s, indent+"  ")
		}
	}
	draw(nil, "")
	return b.String()
}

// kinds returns the classes of the spans of a kind, in the order in which they began.
func (tr *trail) classes(kind trace.Kind) []string {
	var all []string
	for _, s := range tr.spans {
		if s.start.Kind == kind {
			all = append(all, s.class)
		}
	}
	return all
}

// hostile is a Tracer that panics instead of beginning a span.
type hostile struct{}

func (hostile) StartSpan(context.Context, trace.Start) (context.Context, trace.Span) {
	panic("no span")
}
