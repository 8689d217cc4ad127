package approvals_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"countersign/approvals"
)

func TestSubmitTakesAnEventOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.submission(ann, place, "hello")
	first.Keys = []string{"event-a", "message-a"}
	if _, err := b.service.Submit(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name        string
		keys        []string
		redelivered bool
	}{
		{"the same keys", []string{"event-a", "message-a"}, true},
		{"the event id alone", []string{"event-a"}, true},
		{"another event id", []string{"event-b", "message-a"}, false},
		{"a key learnt on the way", []string{"event-b"}, true},
		{"a known key before a new one", []string{"event-b", "event-c"}, true},
	} {
		again := first
		again.Keys = tt.keys
		got, err := b.service.Submit(t.Context(), again)
		want := approvals.Receipt{Outcome: approvals.SubmitDuplicate, Redelivered: tt.redelivered}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
	other := b.submission(ann, approvals.Place{Surface: "slack", Channel: "C1", Thread: "2"}, "hello")
	if got, err := b.service.Submit(t.Context(), other); err != nil || got.Outcome != approvals.SubmitStarted {
		t.Errorf("control: %+v, %v", got, err)
	}
	if n := b.count(approvals.AuditRunSubmitted); n != 2 {
		t.Errorf("%d runs submitted, want 2", n)
	}
}

func TestSubmitRefusesPeople(t *testing.T) {
	t.Parallel()
	direct := approvals.Place{Surface: "slack", Channel: "D1", Thread: "1", Direct: true}
	tests := []struct {
		name string
		by   approvals.UserID
		at   approvals.Place
		want error
	}{
		{"a member", bob, place, nil},
		{"a guest of the channel", guest, place, approvals.ErrUnauthorized},
		{"a colleague who is not in the channel", out, place, approvals.ErrUnauthorized},
		{"somebody the workspace does not know", user("ghost"), place, approvals.ErrUnauthorized},
		{"a person of another workspace", approvals.NewUserID("T2", "ann"), place, approvals.ErrInvalid},
		{"anybody regular in their own direct conversation", out, direct, nil},
		{"a guest in a direct conversation", guest, direct, approvals.ErrUnauthorized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			in := b.submission(tt.by, tt.at, "hello")
			_, err := b.service.Submit(t.Context(), in)
			if !errors.Is(err, tt.want) {
				t.Fatalf("have %v, want %v", err, tt.want)
			}
			if tt.by == out && err != nil &&
				!strings.Contains(err.Error(), "only members of this channel may ask here") {
				t.Errorf("the words are not for somebody who asks: %v", err)
			}
			refused := errors.Is(tt.want, approvals.ErrUnauthorized)
			if got := b.count(approvals.AuditRunRefused); (got == 1) != refused {
				t.Errorf("%d refusals audited", got)
			}
			if refused { // told once: the event delivered again is a duplicate
				got, err := b.service.Submit(t.Context(), in)
				if err != nil || got.Outcome != approvals.SubmitDuplicate {
					t.Errorf("again: %+v, %v", got, err)
				}
			}
		})
	}
}

// thwarted is a store that takes back what its first Update has written, because of what is written meanwhile.
type thwarted struct {
	approvals.Store
	meanwhile func()
}

func (s *thwarted) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if meanwhile := s.meanwhile; meanwhile != nil {
		s.meanwhile = nil
		refused := errors.New("others were in the way")
		err := s.Store.Update(ctx, func(tx approvals.Tx) error { return cmp.Or(fn(tx), refused) })
		if !errors.Is(err, refused) {
			return err
		}
		meanwhile()
	}
	return s.Store.Update(ctx, fn)
}

// TestSubmitRefusesOnce has two events of one message be refused at once, as of a mention in a channel: the person is
// told by one of them.
func TestSubmitRefusesOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.submission(out, place, "hello")
	st := &thwarted{Store: b.store, meanwhile: func() {
		if _, err := b.service.Submit(t.Context(), in); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("the other event: %v", err)
		}
	}}
	got, err := b.serviceOn(st).Submit(t.Context(), in)
	if err != nil || got.Outcome != approvals.SubmitDuplicate {
		t.Errorf("%+v, %v; want a duplicate", got, err)
	}
	if n := b.count(approvals.AuditRunRefused); n != 1 {
		t.Errorf("%d refusals audited", n)
	}
}

func TestSubmitWithoutDirectoryRecordsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.people.fail(errors.New("no answer"))
	in := b.submission(ann, place, "hello")
	if _, err := b.service.Submit(t.Context(), in); !errors.Is(err, approvals.ErrUnavailable) {
		t.Fatalf("have %v", err)
	}
	if got := b.trail(); len(got) != 0 {
		t.Errorf("recorded %v", got)
	}
	b.people.fail(nil)
	if got, err := b.service.Submit(t.Context(), in); err != nil || got.Outcome != approvals.SubmitStarted {
		t.Errorf("delivered again: %+v, %v", got, err)
	}
}

func TestSubmitRefusesUnusable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, spoil := range map[string]func(*approvals.Submission){
		"no workspace":  func(s *approvals.Submission) { s.Workspace = "" },
		"no keys":       func(s *approvals.Submission) { s.Keys = nil },
		"no text":       func(s *approvals.Submission) { s.Text = " \n" },
		"huge text":     func(s *approvals.Submission) { s.Text = strings.Repeat("x", 200<<10) },
		"broken text":   func(s *approvals.Submission) { s.Text = "\xff" },
		"unknown agent": func(s *approvals.Submission) { s.Agent = "nobody" },
		"nowhere":       func(s *approvals.Submission) { s.Place.Thread = "" },
		"nobody":        func(s *approvals.Submission) { s.Requester = approvals.NewUserID(ws, "") },
	} {
		in := b.submission(ann, place, "hello")
		spoil(&in)
		if _, err := b.service.Submit(t.Context(), in); !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("%s: have %v", name, err)
		}
	}
	if got := b.trail(); len(got) != 0 {
		t.Errorf("recorded %v", got)
	}
}

func TestSubmitLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.limits = approvals.Limits{RunsPerPerson: 2, RunsPerChannel: 3}
	b.serve(b.mortal)
	try := func(by approvals.UserID, thread string) error {
		place := approvals.Place{Surface: "slack", Channel: "C1", Thread: thread}
		_, err := b.service.Submit(t.Context(), b.submission(by, place, "x"))
		return err
	}
	for i, step := range []struct {
		by     approvals.UserID
		thread string
		want   error
	}{
		{ann, "1", nil},
		{ann, "2", nil},
		{ann, "3", approvals.ErrLimit},
		{ann, "1", nil}, // waits behind the run of its thread: no further run
		{bob, "4", nil},
		{cara, "5", approvals.ErrLimit},
	} {
		if err := try(step.by, step.thread); !errors.Is(err, step.want) {
			t.Errorf("step %d: have %v, want %v", i, err, step.want)
		}
	}
	if _, err := b.service.CancelRun(t.Context(), ws, b.activeIn("4"), bob, ""); err != nil {
		t.Fatal(err)
	}
	if err := try(cara, "5"); err != nil {
		t.Errorf("an ended run still counts: %v", err)
	}
}

// TestSubmitBoundsWhatWaits has a conversation fill up behind its run.
func TestSubmitBoundsWhatWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.submit()
	for n := range 51 {
		want := map[bool]error{true: approvals.ErrLimit}[n == 50]
		if _, err := b.service.Submit(t.Context(), b.submission(ann, place, "and this")); !errors.Is(err, want) {
			t.Fatalf("message %d behind the run: %v, want %v", n+1, err, want)
		}
	}
	if n := b.run(id).Queued; n != 50 {
		t.Errorf("%d messages wait", n)
	}
}

// activeIn returns the run under way in a thread of C1.
func (b *bench) activeIn(thread string) (id approvals.RunID) {
	b.Helper()
	err := b.store.View(b.Context(), func(tx approvals.Tx) error {
		r, err := tx.ActiveRun(ws, approvals.Place{Surface: "slack", Channel: "C1", Thread: thread})
		if err == nil {
			id = r.ID
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return id
}

func TestOneRunPerPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	id := b.submit()
	q := b.question(id)
	for ahead, in := range []struct {
		by   approvals.UserID
		text string
	}{{bob, "and this"}, {bob, "and that"}, {cara, "mine too"}} {
		got, err := b.service.Submit(t.Context(), b.submission(in.by, place, in.text))
		if err != nil || got != (approvals.Receipt{Run: id, Outcome: approvals.SubmitQueued, Ahead: ahead}) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	b.must(q, bob, approvals.Reject, "")
	b.reaches(id, approvals.RunDone)
	// Each following run has one requester, so that nobody's words pass as another's.
	for _, want := range []struct {
		by   approvals.UserID
		text string
	}{{bob, "and this\n\nand that"}, {cara, "mine too"}} {
		next := b.run(b.activeIn(place.Thread))
		if next.Requester != want.by || next.Input != want.text {
			t.Fatalf("next run of %s: %q, want %s: %q", next.Requester, next.Input, want.by, want.text)
		}
		b.must(b.question(next.ID), ann, approvals.Reject, "")
		b.reaches(next.ID, approvals.RunDone)
	}
	if got := b.effects.all(); len(got) != 0 {
		t.Errorf("ran %v", got)
	}
}
