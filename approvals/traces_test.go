package approvals_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent/trace"
	"countersign/approvals"
)

// spans is a tracer that keeps what it is told. The reference to a span is its trace and its number.
type spans struct {
	mu  sync.Mutex
	all []*spanOf
}

type spanOf struct {
	spans   *spans
	trace   string // the number of the span that it begins with
	start   trace.Start
	class   string
	outcome string
	link    string
}

type inSpan struct{}

func (s *spans) StartSpan(ctx context.Context, start trace.Start) (context.Context, trace.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := fmt.Sprint(len(s.all) + 1)
	span := &spanOf{spans: s, trace: own, start: start, outcome: "not ended"}
	if outer, ok := ctx.Value(inSpan{}).(*spanOf); ok {
		span.trace = outer.trace
	}
	if start.Parent != "" {
		span.trace, _, _ = strings.Cut(start.Parent, "/")
	}
	span.link = span.trace + "/" + own
	s.all = append(s.all, span)
	return context.WithValue(ctx, inSpan{}, span), span
}

func (s *spanOf) Link() string { return s.link }

func (s *spanOf) End(class string, attrs ...slog.Attr) {
	s.spans.mu.Lock()
	defer s.spans.mu.Unlock()
	s.class, s.outcome = class, ""
	for _, a := range attrs {
		if a.Key == trace.AttrOutcome {
			s.outcome = a.Value.String()
		}
	}
}

func (s *spanOf) attribute(key string) string {
	i := slices.IndexFunc(s.start.Attrs, func(a slog.Attr) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	return s.start.Attrs[i].Value.String()
}

// of returns the spans of a kind, in the order in which they began.
func (s *spans) of(kind trace.Kind) (found []*spanOf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.all {
		if span.start.Kind == kind {
			found = append(found, span)
		}
	}
	return found
}

// TestTimersAreTraced: what a deadline sets off is a trace of its own, which links to that of the run, and holds what
// comes of it: the reminder, the escalation, and the run that goes on when the request has expired.
func TestTimersAreTraced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, tracer := newBench(t), &spans{}
		b.tracer = tracer
		b.serve(b.mortal)
		q := reminding(approvals.ExpiryReject)
		q.RemindEvery, q.ExpiresIn = 40*time.Minute, time.Hour
		q.Escalation.After, q.Escalation.To.Users = 25*time.Minute, []approvals.UserID{out}
		b.policy.always(q)
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.pending(id)[0]
		asked, work := tracer.of(trace.Submit)[0], tracer.of(trace.Work)[0]
		for _, wait := range []time.Duration{time.Minute, 24 * time.Minute, 15 * time.Minute, 20 * time.Minute} {
			time.Sleep(wait)
			synctest.Wait()
			if err := step(expireJob(r.ID)); err != nil && !isRetry(err) {
				t.Fatal(err)
			}
			for range 2 {
				if err := step(deliverJob(place)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		timers := tracer.of(trace.Timer)
		var did []string
		traces := map[string]string{}
		for _, s := range timers {
			if s.outcome != "nothing" || len(did) == 0 { // the worker looks for lost timers too
				did = append(did, s.outcome)
			}
			traces[s.outcome] = s.trace
			if s.attribute(trace.AttrRequest) != string(r.ID) || s.attribute(trace.AttrRun) != string(id) ||
				s.class != "" {
				t.Errorf("%v, class %q", s.start.Attrs, s.class)
			}
			if s.outcome != "nothing" && (s.trace == work.trace || !slices.Equal(s.start.Links, []string{asked.link})) {
				t.Errorf("%s: trace %s, links to %q, want %q", s.outcome, s.trace, s.start.Links, asked.link)
			}
		}
		if want := []string{"nothing", "escalated", "reminded", "expired"}; !slices.Equal(did, want) {
			t.Fatalf("timers have %q, want %q", did, want)
		}
		in := map[string]bool{}
		for _, s := range tracer.of(trace.Deliver) {
			in[s.trace+" "+s.start.Name] = true
		}
		if !in[traces["escalated"]+" escalation"] {
			t.Errorf("the escalation is not in the trace of its timer: %v", in)
		}
		works := tracer.of(trace.Work)
		if last := works[len(works)-1]; len(works) != 2 || last.trace != traces["expired"] {
			t.Errorf("the run goes on in trace %s, want that of the timer, %s", last.trace, traces["expired"])
		}
		b.stop()
		b.store.Close()
	})
}

// TestSendingIsTraced: handing a call to another system is part of the trace of what woke the run, each try; and the
// callback that reports its result is a decision, in whose trace the run goes on.
func TestSendingIsTraced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, tracer := newBench(t), &spans{}
		b.public, b.tracer, b.trigger = "https://bot.example", tracer, &deploySystem{}
		b.trigger.answer = func(n int) approvals.TriggerAnswer {
			return approvals.TriggerAnswer{Again: n == 1, Taken: n == 2, Text: "busy"}
		}
		b.serve(b.mortal)
		b.agent(model(deploys), external())
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.pending(id)[0]
		for range 2 {
			time.Sleep(time.Hour / 60)
			if err := step(triggerJob(r.ID)); err != nil && !isRetry(err) {
				t.Fatal(err)
			}
		}
		begins := tracer.of(trace.Submit)[0]
		var became []string
		for i, s := range tracer.of(trace.Send) {
			became = append(became, s.outcome)
			if s.trace != begins.trace || s.class != "" || s.start.Name != r.Tool.Name ||
				s.attribute(trace.AttrRequest) != string(r.ID) || s.attribute(trace.AttrRun) != string(id) ||
				s.attribute(trace.AttrDelivery) != fmt.Sprint(i+1) {
				t.Errorf("try %d: trace %s, class %q, %v", i+1, s.trace, s.class, s.start.Attrs)
			}
		}
		want := []string{string(approvals.TriggerPlanned), string(approvals.TriggerSent)}
		if !slices.Equal(became, want) {
			t.Errorf("the tries came to %q, want %q", became, want)
		}
		if err := b.provide(r, b.trigger.all()[1].body.Callback.Token, "green"); err != nil {
			t.Fatal(err)
		}
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		decide, works := tracer.of(trace.Decide), tracer.of(trace.Work)
		if len(decide) != 1 || decide[0].outcome != string(approvals.RequestApproved) ||
			decide[0].attribute(trace.AttrVia) != approvals.ViaCallback || len(works) != 2 ||
			works[1].trace != decide[0].trace {
			t.Errorf("the callback is not traced: %d decisions, %d works", len(decide), len(works))
		}
		for _, s := range tracer.all {
			if s.outcome == "not ended" {
				t.Errorf("%s has not ended", s.start.Kind)
			}
		}
		b.stop()
		b.store.Close()
	})
}
