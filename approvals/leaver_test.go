package approvals_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// TestMessageOfSomebodyWhoLeft waits behind a run for so long that its author is not a member any more when its turn
// comes. Without an answer of the directory it waits on.
func TestMessageOfSomebodyWhoLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		regular bool
		err     error
		want    approvals.RunStatus
		words   string
	}{
		"left":                          {want: approvals.RunFailed, words: "may not start runs here"},
		"still there":                   {regular: true, want: approvals.RunWaiting},
		"the directory does not answer": {regular: true, err: errors.New("no line"), want: approvals.RunQueued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			step := b.step()
			first := b.submit()
			if err := step(runJob(first)); err != nil {
				t.Fatal(err)
			}
			got, err := b.service.Submit(t.Context(), b.submission(bob, place, "and this for me"))
			if err != nil || got.Outcome != approvals.SubmitQueued {
				t.Fatalf("%+v, %v", got, err)
			}
			if _, err := b.service.CancelRun(t.Context(), ws, first, ann, ""); err != nil {
				t.Fatal(err)
			}
			var next *approvals.Run
			err = b.store.View(t.Context(), func(tx approvals.Tx) (err error) {
				next, err = tx.ActiveRun(ws, place)
				return err
			})
			if err != nil || next.Requester != bob {
				t.Fatalf("the next run is %+v, %v", next, err)
			}
			b.people.mu.Lock()
			b.people.persons[bob] = approvals.Person{ID: bob, Regular: c.regular, Why: "deactivated"}
			b.people.err = c.err
			b.people.mu.Unlock()
			if err := step(runJob(next.ID)); (err != nil) != (c.err != nil) {
				t.Error(err)
			}
			if r := b.run(next.ID); r.Status != c.want || !strings.Contains(r.Failure, c.words) {
				t.Errorf("it is %s: %q", r.Status, r.Failure)
			}
		})
	}
}

// TestRunsThatStartTogetherShareTheQuestion: that somebody is still there is known from an answer of about when the run
// was asked for, or of the last seconds where that is long ago, so that many runs at once do not use up what Slack
// answers, which people need who decide.
func TestRunsThatStartTogetherShareTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		step := b.step()
		var runs []approvals.RunID
		for i := range 5 {
			at := approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprintf("%d.1", i)}
			runs = append(runs, b.submitAt(at))
		}
		began := time.Now()
		for _, id := range runs {
			b.people.mu.Lock()
			b.people.asksPeople = nil
			b.people.mu.Unlock()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			b.people.mu.Lock()
			asked := slices.DeleteFunc(slices.Clone(b.people.asksPeople), time.Time.IsZero)
			b.people.mu.Unlock()
			least := began
			if time.Since(began) > time.Minute {
				least = time.Now()
			}
			if len(asked) == 0 || asked[0].After(began) == (least == began) || least.Sub(asked[0]) > 10*time.Second {
				t.Errorf("%v after the first: wants an answer no older than %v", time.Since(began),
					time.Since(asked[0]))
			}
			time.Sleep(20 * time.Second)
		}
	})
}

// TestMentionsInACrowdAreQueued: while the directory is asked too much, a mention that Slack delivers is recorded all
// the same, and nothing runs until it is known whether its author may start runs. Who waits at a button is told at
// once.
func TestMentionsInACrowdAreQueued(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by      approvals.UserID
		regular bool
		want    approvals.RunStatus
	}{
		"a member":                 {ann, true, approvals.RunWaiting},
		"a guest":                  {ann, false, approvals.RunFailed},
		"somebody who is not here": {out, true, approvals.RunFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.worker.Requesters = func(approvals.WorkspaceID) approvals.Approvers {
				return approvals.Approvers{ChannelMembers: true}
			}
			step := b.step()
			crowd := &approvals.RetryError{After: time.Hour, Err: errors.New("asked too much")}
			b.people.fail(crowd)
			_, err := b.service.Submit(t.Context(), b.submission(c.by, place, "please"))
			if !errors.Is(err, approvals.ErrUnavailable) {
				t.Errorf("somebody who waits for the answer is told %v", err)
			}
			unhurried := approvals.WithoutHurry(t.Context())
			in := b.submission(c.by, place, "please")
			got, err := b.service.Submit(unhurried, in)
			if err != nil || got.Outcome != approvals.SubmitStarted {
				t.Fatalf("the mention: %+v, %v", got, err)
			}
			if again, err := b.service.Submit(unhurried, in); err != nil || again.Outcome != approvals.SubmitDuplicate {
				t.Errorf("delivered again: %+v, %v", again, err)
			}
			var once []approvals.AuditAction
			for range 3 {
				err := step(runJob(got.Run))
				later, ok := errors.AsType[*approvals.RetryError](err)
				if !ok || later.After > 30*time.Second {
					t.Errorf("its job comes to %v", err)
				}
				trail := b.trail()
				r, more := b.run(got.Run), once != nil && len(trail) != len(once)
				if r.Status != approvals.RunQueued || r.Turns > 0 || more {
					t.Errorf("it is %s after %d turns; the trail is %v", r.Status, r.Turns, trail)
				}
				once = trail // which says once that it was put back
			}
			// Behind a run that is not theirs for certain nobody's words are queued without being looked at.
			other := b.submission(c.by, place, "and this")
			if _, err := b.service.Submit(unhurried, other); !errors.Is(err, approvals.ErrUnavailable) {
				t.Errorf("behind another run: %v", err)
			}
			b.people.fail(nil)
			b.people.mu.Lock()
			b.people.persons[c.by] = approvals.Person{ID: c.by, Regular: c.regular, Why: "guest"}
			b.people.mu.Unlock()
			if err := step(runJob(got.Run)); err != nil {
				t.Error(err)
			}
			if r := b.run(got.Run); r.Status != c.want {
				t.Errorf("it is %s: %q", r.Status, r.Failure)
			} else if c.want == approvals.RunFailed && (!strings.Contains(r.Failure, "may not start") || r.Turns != 0) {
				t.Errorf("after %d turns: %q", r.Turns, r.Failure)
			}
			if queued, err := b.service.Submit(unhurried, other); c.want == approvals.RunWaiting &&
				(err != nil || queued.Outcome != approvals.SubmitQueued) {
				t.Errorf("delivered again behind it: %+v, %v", queued, err)
			}
		})
	}
}

// TestWordsOfNobodyAreNotRemembered: what was queued before anything was known of its author is in no model's memory of
// the place, unless it turns out that they may start runs.
func TestWordsOfNobodyAreNotRemembered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		regular, cancelled, remembered, known bool
	}{
		"a guest":                       {},
		"cancelled before it was known": {regular: true, cancelled: true},
		"the control: a member":         {regular: true, remembered: true},
		"known from the beginning":      {regular: true, cancelled: true, remembered: true, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			m := &ears{}
			b.model(m)
			step := b.step()
			if !c.known {
				b.people.fail(&approvals.RetryError{After: time.Hour, Err: errors.New("asked too much")})
			}
			in := b.submission(bob, place, "words of bob")
			got, err := b.service.Submit(approvals.WithoutHurry(t.Context()), in)
			if err != nil {
				t.Fatal(err)
			}
			if !c.known {
				if err := step(runJob(got.Run)); err == nil {
					t.Error("it runs, and nobody knows who asked for it")
				}
			}
			b.people.fail(nil)
			b.people.mu.Lock()
			b.people.persons[bob] = approvals.Person{ID: bob, Regular: c.regular, Why: "guest"}
			b.people.mu.Unlock()
			if c.cancelled {
				if _, err := b.service.CancelRun(t.Context(), ws, got.Run, bob, ""); err != nil {
					t.Fatal(err)
				}
			} else if err := step(runJob(got.Run)); err != nil {
				t.Error(err)
			}
			if r := b.run(got.Run); !r.Status.Ended() {
				t.Fatalf("it is %s", r.Status)
			}
			if err := step(runJob(b.submit())); err != nil {
				t.Error(err)
			}
			heard := strings.Join(m.all(), "\n")
			if strings.Contains(heard, "words of bob") != c.remembered || !strings.Contains(heard, "please") {
				t.Errorf("the model has heard %q", heard)
			}
		})
	}
}

// TestRunThatMayNotBeginYetIsTold: people are told once, after a while and no sooner, that a run waits because the
// directory does not say whether it may start, and how to cancel it.
func TestRunThatMayNotBeginYetIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		step := b.step()
		b.people.fail(&approvals.RetryError{After: time.Hour, Err: errors.New("asked too much")})
		got, err := b.service.Submit(approvals.WithoutHurry(t.Context()), b.submission(ann, place, "please"))
		if err != nil {
			t.Fatal(err)
		}
		var trail []approvals.AuditAction
		for began := time.Now(); time.Since(began) < 20*time.Minute; time.Sleep(20 * time.Second) {
			later, ok := errors.AsType[*approvals.RetryError](step(runJob(got.Run)))
			if !ok || !later.Uncounted {
				t.Fatalf("after %v its job comes to %v", time.Since(began), later)
			}
			if err := step(deliverJob(place)); err != nil {
				t.Fatal(err)
			}
			told := 0
			for _, p := range b.surface.all() {
				if strings.Contains(p.text, "has to wait") && strings.Contains(p.text, string(got.Run)) {
					told++
				}
			}
			want := 0
			if time.Since(began) > 5*time.Minute {
				want = 1
			}
			if told != want {
				t.Fatalf("after %v people were told %d times", time.Since(began), told)
			}
			if now := b.trail(); want == 1 && trail != nil && len(now) != len(trail) {
				t.Fatalf("the trail grows: %v", now)
			} else if want == 1 {
				trail = now
			}
		}
		if _, err := b.service.CancelRun(t.Context(), ws, got.Run, ann, ""); err != nil {
			t.Fatal(err)
		}
		if err := step(runJob(got.Run)); err != nil || b.run(got.Run).Status != approvals.RunCancelled {
			t.Errorf("cancelled, it is %s: %v", b.run(got.Run).Status, err)
		}
	})
}
