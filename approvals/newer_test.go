package approvals_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestStateOfNewerVersion: a run that a newer version of the program has saved does not fail at a replica of this one.
// It waits for the newer one, people are told why once, and the call that was approved runs once.
func TestStateOfNewerVersion(t *testing.T) {
	t.Parallel()
	b, r := asked(t, lenient())
	b.must(r, bob, approvals.Approve, "")
	read := func() (head json.RawMessage) {
		err := b.store.View(t.Context(), func(tx approvals.Tx) (err error) {
			head, _, err = tx.State(ws, r.Run)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return head
	}
	write := func(head json.RawMessage) {
		err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
			return tx.PutState(ws, r.Run, agent.Delta{Head: head})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	own := read()
	write(json.RawMessage(`{"version":99,"of_tomorrow":true}`))
	step := b.step()
	for n := range 6 {
		job := runJob(r.Run)
		job.Attempts = n
		if err := step(job); !errors.Is(err, approvals.ErrNewer) {
			t.Fatalf("attempt %d: %v", n, err)
		}
	}
	if got := b.run(r.Run); got.Status != approvals.RunQueued || !strings.Contains(got.Waits, "newer version") {
		t.Errorf("the run is %s, %q %q", got.Status, got.Waits, got.Failure)
	}
	if got := string(read()); !strings.Contains(got, "of_tomorrow") {
		t.Errorf("its state was overwritten: %s", got)
	}
	write(own) // the newer version would go on; here the state is one that this program reads
	if err := step(runJob(r.Run)); err != nil {
		t.Fatal(err)
	}
	if got := b.run(r.Run); got.Status != approvals.RunDone || len(b.effects.all()) != 1 {
		t.Errorf("the run is %s, effects %v", got.Status, b.effects.all())
	}
}

// TestJobKindOfNewerVersion: a job of a kind that this program does not know is not done, and not lost.
func TestJobKindOfNewerVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.step()(approvals.Job{Workspace: ws, Kind: "tomorrow", ID: "1"}); !errors.Is(err, approvals.ErrNewer) {
		t.Errorf("it counts as done: %v", err)
	}
}
