package approvals_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// TestRetentionKeepsWhatIsStartedAgain: the new run is told which calls of the old one were carried out. So the old one
// stays while the other waits for its turn, and until it has ended.
func TestRetentionKeepsWhatIsStartedAgain(t *testing.T) {
	t.Parallel()
	b, m, first := retriedBench(t)
	active := b.submit()
	question := b.question(active)
	if receipt, err := b.retry(first, bob); err != nil || receipt.Outcome != approvals.SubmitQueued {
		t.Fatalf("%+v, %v", receipt, err)
	}
	there := func() bool {
		_, err := b.service.Run(t.Context(), ws, first)
		if err != nil && !errors.Is(err, approvals.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	if b.sweep(approvals.Retention{Runs: old}); !there() {
		t.Error("it is gone while its words wait for their turn")
	}
	b.must(question, cara, approvals.Approve, "")
	b.reaches(active, approvals.RunDone)
	b.until("the run that it became", func() bool { return len(m.first(2)) > 0 })
	if told := m.first(2); !strings.Contains(told[len(told)-2].Text, "note (ran)") {
		t.Errorf("the model was told %q", told[len(told)-2].Text)
	}
	next, err := b.active()
	if err != nil {
		t.Fatal(err)
	}
	if b.sweep(approvals.Retention{Runs: old}); !there() {
		t.Error("it is gone while the other run is under way")
	}
	b.must(b.question(next.ID), cara, approvals.Approve, "")
	b.reaches(next.ID, approvals.RunDone)
	b.stop()
	if b.sweep(approvals.Retention{Runs: old}); there() { // the control
		t.Error("it is never deleted")
	}
	b.trail()
}

// TestLateCallbackWithoutItsRun: the run was deleted, and its request is kept for longer. What a system reports then is
// refused and told as ever.
func TestLateCallbackWithoutItsRun(t *testing.T) {
	t.Parallel()
	b, _, r := deploying(t)
	token := b.token(r, bob)
	if _, err := b.service.CancelRun(t.Context(), ws, r.Run, ann, ""); err != nil {
		t.Fatal(err)
	}
	b.until("the end of the run", func() bool { return b.run(r.Run).Status.Ended() })
	b.sweep(approvals.Retention{Runs: old})
	b.expectThere(r, false, true, false)
	if err := b.provide(r, token, "green"); !errors.Is(err, approvals.ErrConflict) {
		t.Fatalf("late: %v, want ErrConflict", err)
	}
	b.until("the late result to be told", func() bool {
		return slices.ContainsFunc(b.surface.texts(approvals.NotifyNotice), func(s string) bool {
			return strings.Contains(s, `It says: "green"`)
		})
	})
	b.sweep(approvals.Retention{Requests: old})
	b.expectThere(r, false, false, false)
	if err := b.provide(r, token, "green"); !errors.Is(err, approvals.ErrUnauthorized) {
		t.Errorf("when the request is gone too: %v, want ErrUnauthorized", err)
	}
}

// TestExportNamesWhatWasPutBack: a request that the trail says was deleted is not as the trail says.
func TestExportNamesWhatWasPutBack(t *testing.T) {
	t.Parallel()
	b, r := paid(t)
	b.sweep(approvals.Retention{Runs: old, Requests: old})
	if all := b.exportedOf(time.Time{}, time.Time{}); len(all) != 0 {
		t.Fatalf("control: %+v", all[0])
	}
	if err := b.store.Update(t.Context(), func(tx approvals.Tx) error { return tx.PutRequest(r) }); err != nil {
		t.Fatal(err)
	}
	all := b.exportedOf(time.Time{}, time.Time{})
	if len(all) != 1 || !strings.Contains(all[0].Audit, "it was deleted") {
		t.Errorf("%+v", all[0])
	}
}

// TestExportJudgesAsVerify: of a trail of an earlier version nobody can tell which call under a standing answer became
// what, once the run is deleted. Neither says then that a request differs.
func TestExportJudgesAsVerify(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	r := b.question(b.submit())
	b.must(r, bob, approvals.AlwaysApprove, "")
	b.reaches(r.Run, approvals.RunDone)
	b.stop()
	b.forge(r.ID, func(r *approvals.Request) { r.Outcome = approvals.OutcomeNotRun })
	if all := b.exportedOf(time.Time{}, time.Time{}); !strings.Contains(all[0].Audit, "what became of its call") {
		t.Errorf("control: %+v", all[0])
	}
	b.sweep(approvals.Retention{Runs: old})
	if _, err := b.service.VerifyAudit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := b.exportedOf(time.Time{}, time.Time{}); all[0].Audit != approvals.AuditAgrees {
		t.Errorf("%+v", all[0])
	}
}

// TestVerifyDoubtsDeletionsOfWhatHadNotEnded: somebody has deleted what waits, and added entries that say so.
func TestVerifyDoubtsDeletionsOfWhatHadNotEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer bool
		want   string
	}{
		"request": {false, "none that it was settled before"},
		"run":     {true, "none that it had ended before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.start()
			r := b.question(b.submit())
			b.stop()
			if c.answer {
				b.must(r, bob, approvals.Approve, "")
			}
			b.trail()
			err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
				return errors.Join(tx.DeleteRequest(ws, r.ID), tx.DeleteRun(ws, r.Run))
			})
			if err := errors.Join(err, approvals.TellDeletion(t.Context(), b.store, &r.RequestHead)); err != nil {
				t.Fatal(err)
			}
			_, err = b.service.VerifyAudit(t.Context())
			if _, bad := errors.AsType[*approvals.AuditError](err); !bad || !strings.Contains(err.Error(), c.want) {
				t.Errorf("verify: %v, want %q", err, c.want)
			}
		})
	}
}
