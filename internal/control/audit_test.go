package control

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

// TestCheckpointsAreLookedFor by the bot, each as it is; one that does not say so has not.
func TestCheckpointsAreLookedFor(t *testing.T) {
	t.Parallel()
	opts := approvals.VerifyOptions{Head: [32]byte{1}, Checkpoints: []approvals.Checkpoint{
		{Form: "f", Workspace: "T1", Seq: 7, Head: [32]byte{2}, At: time.Unix(1, 5).UTC(), Signature: []byte{1, 2}},
		{Form: "f", Workspace: "T2", Seq: 8},
	}}
	for _, agree := range []int{2, 1, 0} {
		desk := &fakeDesk{found: true, checkpoints: agree}
		_, c := serve(t, desk)
		_, err := c.VerifyAudit(t.Context(), opts)
		if (agree == 2) != (err == nil) || agree != 2 && !errors.Is(err, errOtherVersion) {
			t.Errorf("%d agree: %v", agree, err)
		}
		if diff := cmp.Diff(opts, desk.head); diff != "" {
			t.Errorf("the bot was asked for (-want +have):\n%s", diff)
		}
	}
}

// TestVerifyTellsHowFarItIs, with checkpoints and without, and the answer follows.
func TestVerifyTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	for _, points := range [][]approvals.Checkpoint{nil, {{Form: "f", Workspace: "T1", Seq: 7}}} {
		_, c := serve(t, &fakeDesk{checkpoints: len(points)})
		var read []int
		report, err := c.VerifyAudit(t.Context(), approvals.VerifyOptions{
			Checkpoints: points, Progress: func(n int) { read = append(read, n) },
		})
		if err != nil || len(report.Workspaces) != 1 || report.Workspaces[0].Entries != 7 {
			t.Errorf("%+v, %v", report, err)
		}
		if !slices.Equal(read, []int{1000, 2000}) {
			t.Errorf("told of %d", read)
		}
	}
}
