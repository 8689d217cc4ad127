package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
	"countersign/store/boltstore"
)

// newDesk is a desk on a store with the requests.
func newDesk(t *testing.T, requests ...*approvals.Request) *control.Local {
	t.Helper()
	st, err := boltstore.Open(filepath.Join(t.TempDir(), "x.db"), boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	err = st.Update(t.Context(), func(tx approvals.Tx) error {
		if err := tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", Seq: 1, At: tx.Now()}); err != nil {
			return err
		}
		for _, r := range requests {
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &control.Local{Store: st}
}

// capture is a program whose output is kept.
func capture(args ...string) (p Program, out, complaints *strings.Builder) {
	out, complaints = new(strings.Builder), new(strings.Builder)
	return Program{Args: args, Stdout: out, Stderr: complaints}, out, complaints
}

var (
	asked   = time.Date(2026, 11, 2, 15, 0, 0, 0, time.UTC)
	settled = asked.Add(time.Minute)
	became  = asked.Add(2 * time.Minute)
)

// newRequest is a request of T1/U1 for a payment, as the changes leave it.
func newRequest(id string, changes ...func(*approvals.Request)) *approvals.Request {
	r := &approvals.Request{
		RequestHead: approvals.RequestHead{
			Workspace: "T1", ID: approvals.RequestID(id), Run: "run_1", Kind: agent.Confirm, Requester: "T1/U1",
			Agent: "ops", Path: []string{"ops"}, Tool: approvals.ToolSnapshot{Name: "pay", Kind: agent.KindFunction},
			Place: approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}, Status: approvals.RequestPending,
			Requirement: approvals.Requirement{Seats: approvals.Quorum(2, approvals.Approvers{Groups: []string{"S1"}})},
			Created:     asked,
		},
		RequestContent: approvals.RequestContent{Arguments: json.RawMessage(`{"amount":5}`)},
	}
	for _, change := range changes {
		change(r)
	}
	return r
}

// stands gives a request its two facts.
func stands(status approvals.RequestStatus, outcome approvals.Outcome) func(*approvals.Request) {
	return func(r *approvals.Request) {
		r.Status, r.Outcome, r.Settled = status, outcome, settled
		if outcome != approvals.OutcomeNone {
			r.OutcomeAt = became
		}
	}
}

// answered adds a decision of T1/USER.
func answered(user string, v approvals.Verdict, more ...func(*approvals.Decision)) func(*approvals.Request) {
	return func(r *approvals.Request) {
		d := approvals.Decision{ID: approvals.DecisionID("dec_" + user), Workspace: "T1", Request: r.ID,
			By: approvals.NewUserID("T1", user), Verdict: v, Via: "button", At: settled}
		for _, change := range more {
			change(&d)
		}
		r.Decisions = append(r.Decisions, d)
	}
}

func void(why string) func(*approvals.Decision) {
	return func(d *approvals.Decision) { d.Void = why }
}

func following(id approvals.RequestID) func(*approvals.Decision) {
	return func(d *approvals.Decision) { d.Standing = &approvals.StandingAnswer{Request: id, Decision: "dec_x"} }
}

func of(kind agent.InterruptionKind) func(*approvals.Request) {
	return func(r *approvals.Request) { r.Kind = kind }
}
