package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/boltstore"
)

// TestRestoredCallsThatAreCarriedOut: of the approved calls that had not begun, those are counted that the next start
// carries out, or has another system carry out, and none that people are asked about next.
func TestRestoredCallsThatAreCarriedOut(t *testing.T) {
	t.Parallel()
	st, err := boltstore.Open(filepath.Join(t.TempDir(), "countersign.db"), boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	request := func(id approvals.RequestID, change func(*approvals.Request)) *approvals.Request {
		r := &approvals.Request{RequestHead: approvals.RequestHead{
			Workspace: "T1", ID: id, Run: "run_1", Kind: agent.Confirm, Status: approvals.RequestApproved,
			Created: time.Now(),
		}}
		change(r)
		return r
	}
	var got restored
	err = st.Update(t.Context(), func(tx approvals.Tx) error {
		run := &approvals.Run{Workspace: "T1", ID: "run_1", Status: approvals.RunQueued, Created: time.Now()}
		if err := tx.PutRun(run); err != nil {
			return err
		}
		for _, r := range []*approvals.Request{
			request("req_1", func(*approvals.Request) {}),
			request("req_2", func(r *approvals.Request) { r.Kind, r.SupersededBy = agent.FieldsRequired, "req_3" }),
			request("req_4", func(r *approvals.Request) { r.Tool.Kind = agent.KindExternal }),
			request("req_5", func(r *approvals.Request) { r.Outcome = approvals.OutcomeRan }),
		} {
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.View(t.Context(), got.countRuns); err != nil {
		t.Fatal(err)
	}
	if got.queued != 1 || got.approved != 2 {
		t.Errorf("%d runs and %d calls go on, want 1 and 2", got.queued, got.approved)
	}
}

// TestRestoredTriggers: an external call that waits to be sent is sent by the next start, whatever was sent since.
func TestRestoredTriggers(t *testing.T) {
	t.Parallel()
	st, err := boltstore.Open(filepath.Join(t.TempDir(), "countersign.db"), boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var got restored
	err = st.Update(t.Context(), func(tx approvals.Tx) error {
		for id, status := range map[approvals.RequestID]approvals.TriggerStatus{
			"req_1": approvals.TriggerPlanned, "req_2": approvals.TriggerSent, "req_3": "",
		} {
			r := &approvals.Request{RequestHead: approvals.RequestHead{
				Workspace: "T1", ID: id, Run: "run_1", Kind: agent.ExternalResult, Status: approvals.RequestPending,
				Created: time.Now(),
			}}
			if status != "" {
				r.Trigger = &approvals.TriggerState{Status: status, At: time.Now()}
			}
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.View(t.Context(), func(tx approvals.Tx) error { return got.count(tx, "T1") }); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(got.lines(), "\n")
	for _, want := range []string{
		"\n  1 call waits to be sent to the system that carries it out: it is, also if it was since\n",
		"\n  3 requests wait for people",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
}

// TestRestoredMessages: what waits to be sent is under way too.
func TestRestoredMessages(t *testing.T) {
	t.Parallel()
	st, err := boltstore.Open(filepath.Join(t.TempDir(), "countersign.db"), boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var got restored
	err = st.Update(t.Context(), func(tx approvals.Tx) error {
		for _, n := range []*approvals.Notification{
			{Workspace: "T1", ID: "ntf_1", Created: time.Now()},
			{Workspace: "T2", ID: "ntf_1", Created: time.Now()},
			{Workspace: "T2", ID: "ntf_2", Created: time.Now(), Dead: time.Now()},
		} {
			if err := tx.PutNotification(n); err != nil {
				return err
			}
		}
		return got.countMessages(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "\n  2 messages, or changes of some, wait to be sent: they are, also if they were since\n"
	said := strings.Join(got.lines(), "\n")
	if strings.Contains(said, "Nothing was under way") || !strings.Contains(said, want) {
		t.Errorf("it says:\n%s", said)
	}
}
