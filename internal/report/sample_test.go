package report

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// october is the window of the tests.
var october = Window{
	time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
}

// newRequest is a pending request of T1/U1, as the changes leave it.
func newRequest(id string, created time.Time, changes ...func(*approvals.RequestHead)) *approvals.RequestHead {
	r := &approvals.RequestHead{
		Workspace: "T1", ID: approvals.RequestID(id), Run: "run_1", Requester: "T1/U1", Kind: agent.Confirm,
		Agent: "ops", Tool: approvals.ToolSnapshot{Name: "pay"}, Status: approvals.RequestPending, Created: created,
		Requirement: approvals.Requirement{
			Policy: "money", Seats: approvals.Quorum(1, approvals.Approvers{Groups: []string{"S1"}}),
		},
	}
	for _, change := range changes {
		change(r)
	}
	return r
}

// decidedBy has somebody answer the request, so long after it was made, and so settles it.
func decidedBy(by string, v approvals.Verdict, after time.Duration) func(*approvals.RequestHead) {
	return func(r *approvals.RequestHead) {
		r.Settled = r.Created.Add(after)
		r.Decisions = append(r.Decisions, approvals.Decision{
			ID: approvals.DecisionID("dec_" + string(r.ID)), By: approvals.UserID("T1/" + by), Verdict: v,
			Via: "button", At: r.Settled,
		})
		r.Status, r.Outcome = approvals.RequestApproved, approvals.OutcomeRan
		if !v.Affirms() {
			r.Status, r.Outcome = approvals.RequestRejected, approvals.OutcomeNotRun
		}
	}
}

// ended has the request end without an answer.
func ended(status approvals.RequestStatus, after time.Duration) func(*approvals.RequestHead) {
	return func(r *approvals.RequestHead) {
		r.Status, r.Settled, r.Outcome = status, r.Created.Add(after), approvals.OutcomeNotRun
	}
}

// sample is a month of a team, always the same.
func sample() *Report {
	b := New(october)
	draw := rand.New(rand.NewPCG(7, 11))
	tools := []string{"transfer_funds", "deploy", "refund", "delete_branch", "create_user", "rotate_key"}
	for i := range 900 {
		at := october.From.Add(time.Duration(draw.Int64N(int64(31 * 24 * time.Hour)))).Truncate(time.Microsecond)
		if day := at.Weekday(); (day == time.Saturday || day == time.Sunday) && i%5 > 0 {
			at = at.Add(48 * time.Hour)
		}
		tool := tools[min(draw.IntN(9), len(tools)-1)]
		b.Add(newRequest(fmt.Sprintf("req_%04d", i), at, func(r *approvals.RequestHead) {
			r.Tool.Name, r.Agent = tool, []string{"ops", "billing"}[i%2]
			r.Requirement.Policy = []string{"money", "default_policy", ""}[i%3]
			if tool == "transfer_funds" {
				r.Requirement.Risk = approvals.RiskHigh
			}
			happen(r, draw)
		}))
	}
	burst(b)
	for i := range 640 {
		e := &approvals.AuditEntry{Workspace: "T1", Seq: uint64(i + 1),
			At: october.From.Add(time.Duration(i) * time.Hour), Action: approvals.AuditEffectIntent,
			Hash: agent.Digest{0xc0, byte(i), 0x5e, 0x77}}
		switch {
		case i%7 == 0:
			e.Data = json.RawMessage(`{"attempt":1,"grant":"grant_1"}`)
		case i%11 == 0:
			e.Data = json.RawMessage(`{"attempt":1,"review":true}`)
		case i%3 > 0:
			e.Request = "req_0001"
		}
		if err := b.AddEntry(e); err != nil {
			panic(err)
		}
	}
	r := b.Report()
	r.Generated, r.Version = time.Date(2026, 11, 2, 8, 30, 0, 0, time.UTC), "v1.2.0 (0a1b2c3d4e5f, go1.26)"
	return r
}

// happen draws what became of a request.
func happen(r *approvals.RequestHead, draw *rand.Rand) {
	wait := time.Duration(draw.ExpFloat64()*900) * time.Second
	by := []string{"U0ANN", "U0BEN", "U0CLEO", "U0DAN"}[draw.IntN(4)]
	switch n := draw.IntN(100); {
	case n < 4:
	case n < 8:
		ended(approvals.RequestExpired, 24*time.Hour)(r)
	case n < 11:
		ended(approvals.RequestCancelled, wait)(r)
	case n < 12:
		ended(approvals.RequestStale, wait)(r)
	case n < 14:
		ended(approvals.RequestSuperseded, wait)(r)
	case n < 26:
		decidedBy(by, approvals.Reject, wait)(r)
	case n < 29:
		decidedBy(by, approvals.AlwaysApprove, wait)(r)
	case n < 34:
		decidedBy(by, approvals.Approve, wait)(r)
		r.Decisions[0].Standing = &approvals.StandingAnswer{Request: "req_0001"}
	case n == 34:
		decidedBy("U0SEC", approvals.BreakGlass, wait)(r)
		if draw.IntN(2) == 0 {
			r.Review = &approvals.Review{By: "T1/U0ANN", Verdict: approvals.ReviewAccept, At: r.Settled.Add(time.Hour)}
		}
	default:
		decidedBy(by, approvals.Approve, wait)(r)
		if n > 96 {
			r.Outcome = approvals.OutcomeFailed
		}
	}
}

// burst has somebody approve thirty requests in two minutes.
func burst(b *Builder) {
	at := time.Date(2026, 10, 23, 16, 40, 0, 0, time.UTC)
	for i := range 30 {
		r := newRequest(fmt.Sprintf("req_b%03d", i), at.Add(time.Duration(i)*4*time.Second),
			decidedBy("U0EVE", approvals.Approve, 1800*time.Millisecond))
		r.Tool.Name = "deploy"
		b.Add(r)
	}
}
