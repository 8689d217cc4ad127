package boltstore

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

// TestFrozenRunsGoOn decides everything that waits in a store which an earlier version of the program wrote, by the
// people of that time: every run ends, each call has run as often as it should, and the audit chains go on.
func TestFrozenRunsGoOn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"format2", "format3.first", "format4.first"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := frozenFile(t, name)
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(48 * time.Hour) // it is January 2000 in a bubble; the last entry of the file is an hour old
				frozenRunsGoOn(t, openFrozen(t, path, frozenConfig(t, name)))
			})
		})
	}
}

func frozenRunsGoOn(t *testing.T, s *Store) {
	defer s.Close()
	w := newFrozenWorld(t)
	svc, stop := w.start(t, s)
	for answered := -1; answered != 0; {
		calm()
		answered = answerAll(t, svc)
	}
	stop()
	report, err := svc.VerifyAudit(t.Context())
	if err := errors.Join(err, s.Check(t.Context())); err != nil {
		t.Errorf("%+v: %v", report, err)
	}
	for id, status := range runStatuses(t, s) {
		if want := frozenEnds(status); status != want {
			t.Errorf("run %s is %s", id, status)
		}
	}
	want := map[string]int{"pay": 4, "wire": 1, "restart": 4, "drop": 2, "tune": 1}
	if d := cmp.Diff(want, w.ran); d != "" {
		t.Errorf("executions by tool (-want +got):\n%s", d)
	}
	if n := w.posts; n == 0 {
		t.Error("nothing was posted")
	}
}

// calm waits until nothing is under way that needs less than a few seconds.
func calm() {
	for range 50 {
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
	}
}

// answerAll answers what waits, in the affirmative, and returns how much that was.
func answerAll(t *testing.T, svc *approvals.Service) (n int) {
	t.Helper()
	for _, ws := range []approvals.WorkspaceID{"T1", "T2"} {
		page, err := svc.Pending(t.Context(), approvals.PendingQuery{Workspace: ws, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Requests {
			d := approvals.Decision{Workspace: ws, Request: r.ID, By: approvals.NewUserID(ws, "UCARA"),
				Verdict: approvals.Approve, Digest: r.Digest, Via: "button"}
			if r.Place.Direct {
				d.By = r.Requester
			}
			switch r.Kind {
			case agent.OutcomeUnknown:
				d.Verdict, d.Reason = approvals.MarkDone, "I looked: it happened"
			case agent.ExternalResult:
				d.Verdict, d.Reason = approvals.ProvideResult, "deployed by hand"
			}
			if _, err := svc.Decide(t.Context(), d); err != nil {
				t.Errorf("decide %s of %s: %v", r.ID, r.Tool.Name, err)
				return 0
			}
			n++
		}
	}
	return n
}

func runStatuses(t *testing.T, s *Store) map[string]approvals.RunStatus {
	t.Helper()
	statuses := make(map[string]approvals.RunStatus)
	err := s.view(t.Context(), func(tx *tx) error {
		return tx.scan(bucketRuns, nil, nil, func(k, v []byte) (bool, error) {
			if countParts(k) != 2 {
				return true, nil
			}
			r := new(approvals.Run)
			err := tx.decode(bucketRuns, k, v, r)
			statuses[fmt.Sprint(r.Workspace, " ", r.ID, " of ", r.Agent)] = r.Status
			return true, err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return statuses
}

// frozenEnds returns how a run of that status should have ended: done, unless it failed or was cancelled already.
func frozenEnds(status approvals.RunStatus) approvals.RunStatus {
	if status == approvals.RunFailed || status == approvals.RunCancelled {
		return status
	}
	return approvals.RunDone
}
