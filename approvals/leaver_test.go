package approvals_test

import (
	"errors"
	"strings"
	"testing"

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
