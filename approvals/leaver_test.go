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
		"left":                          {want: approvals.RunFailed, words: "may not start runs any more"},
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

// TestRunsThatStartTogetherShareTheQuestion: that somebody is still there is known from an answer of the last seconds,
// so that many runs at once do not use up what Slack answers, which people need who decide.
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
			if len(asked) == 0 || asked[0].After(began) || time.Since(asked[0]) > 10*time.Second {
				t.Errorf("%v after the first: wants an answer no older than %v", time.Since(began),
					time.Since(asked[0]))
			}
			time.Sleep(2 * time.Second)
		}
	})
}
