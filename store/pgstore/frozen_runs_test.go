package pgstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
)

const (
	frozenAnn   approvals.UserID = "T4/UANN"
	frozenBob   approvals.UserID = "T4/UBOB"
	frozenCarol approvals.UserID = "T4/UCAROL"
)

// frozenOffice is that of testdata/frozen/freeze_test.go.txt. Names, descriptions and schemas of its tools are parts of
// the digests in the dumps: whoever changes one of them makes the request that waits there stale.
type frozenOffice struct {
	office
	agents map[string]*agent.Agent
	paid   map[string]*atomic.Int32 // by tool: how often it ran
	told   chan *approvals.Notification
}

func (o *frozenOffice) Agent(name string) (approvals.AgentConfig, error) {
	if a := o.agents[name]; a != nil {
		return approvals.AgentConfig{Agent: a}, nil
	}
	return approvals.AgentConfig{}, approvals.ErrNotFound
}

func (*frozenOffice) Requirement(
	_ context.Context, r *approvals.Request, _ approvals.PolicyFacts,
) (approvals.Requirement, error) {
	people := approvals.Approvers{Users: []approvals.UserID{frozenBob, frozenCarol}}
	q := approvals.Requirement{Policy: "default_policy", DenyQuorum: 1, ExpiresIn: 70 * 365 * 24 * time.Hour,
		OnExpiry: approvals.ExpiryReject, ValidFor: time.Hour, RemindEvery: 24 * time.Hour,
		Always: []approvals.Scope{approvals.ScopeThread, approvals.ScopeWorkspace}, MaxTTL: 70 * 365 * 24 * time.Hour,
		Seats: approvals.Quorum(1, people)}
	if r.Tool.Name == "wire" {
		q.Policy, q.Seats = "two_people", approvals.Quorum(2, people)
	}
	return q, nil
}

func (o *frozenOffice) Notify(_ context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	if n.Workspace == "T4" && (n.Kind == approvals.NotifyCard || n.Kind == approvals.NotifyAnswer) {
		o.told <- n
	}
	return approvals.Delivery{Channel: n.Place.Channel, Message: string(n.ID)}, nil
}

// await returns the next notification about which the function says yes.
func (o *frozenOffice) await(t *testing.T, what string, yes func(*approvals.Notification) bool) {
	t.Helper()
	for !yes(await(t, what, o.told)) {
	}
}

func newFrozenOffice(t *testing.T) *frozenOffice {
	o := &frozenOffice{agents: map[string]*agent.Agent{}, paid: map[string]*atomic.Int32{},
		told: make(chan *approvals.Notification, 1000)}
	var tools []agent.Tool
	for _, name := range []string{"pay", "wire"} {
		ran := new(atomic.Int32)
		o.paid[name] = ran
		tool := agent.NewTool(name, "Pay somebody.", func(_ context.Context, in struct {
			To     string  `json:"to"`
			Amount float64 `json:"amount"`
		}) (string, error) {
			ran.Add(1)
			return "paid " + in.To, nil
		})
		tool.NeedsApproval = agent.AlwaysAsk
		tools = append(tools, tool)
	}
	for name, script := range map[string][]string{
		"payer": {`call c1 pay {"to":"acme","amount":5}`, "say Paid."},
		"wirer": {`call c1 wire {"to":"acme","amount":5000}`, "say Wired.",
			`call c2 pay {"to":"bolt","amount":1}`},
	} {
		model, err := scripted.Parse(script...)
		if err != nil {
			t.Fatal(err)
		}
		o.agents[name] = &agent.Agent{Name: name, Model: model, Tools: tools}
	}
	return o
}

// TestFrozenRunsGoOn: in a schema of every version that had jobs, a request that has one of two votes takes the second
// one, its run goes on to its end, the message that waited behind it begins the next run, and what was granted is not
// asked about.
func TestFrozenRunsGoOn(t *testing.T) {
	t.Parallel()
	forEachVersion(t, func(t *testing.T, version int) {
		if version == 1 {
			t.Skip("no run of it waits: there were no jobs")
		}
		s, o := openStore(t, frozenURL(t, version), Config{}), newFrozenOffice(t)
		limits := approvals.Limits{RunsPerPerson: 90, RunsPerChannel: 90, PendingPerPerson: 90}
		service, err1 := approvals.NewService(approvals.ServiceConfig{Store: s, Policy: o, Directory: o, Agents: o,
			Requesters: approvals.Approvers{ChannelMembers: true}, Limits: limits})
		worker, err2 := approvals.NewWorker(approvals.WorkerConfig{Store: s, Policy: o, Directory: o, Agents: o,
			Notifier: o, Limits: limits})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		defer working.Wait()
		defer stop()
		working.Go(func() { worker.Run(ctx) })
		page, err := service.Pending(t.Context(), approvals.PendingQuery{Workspace: "T4", Limit: 10})
		if err != nil || len(page.Requests) != 1 {
			t.Fatalf("%d requests wait: %v", len(page.Requests), err)
		}
		r := page.Requests[0]
		if _, err = service.Decide(t.Context(), approvals.Decision{Workspace: "T4", Request: r.ID, By: frozenBob,
			Verdict: approvals.Approve, Digest: r.Digest, Via: "button"}); err != nil {
			t.Fatal(err)
		}
		o.await(t, "the answer of the run", func(n *approvals.Notification) bool {
			return n.Kind == approvals.NotifyAnswer && n.Run == r.Run
		})
		o.await(t, "the card of the next run", func(n *approvals.Notification) bool {
			return n.Kind == approvals.NotifyCard && n.Run != r.Run && n.Card.Status == approvals.RequestPending
		})
		granted, err := service.Submit(t.Context(), approvals.Submission{Workspace: "T4", Keys: []string{"new"},
			Requester: frozenAnn, Agent: "payer", Text: "pay", Message: "1",
			Place: approvals.Place{Surface: "slack", Channel: "C1", Thread: "1700000000.000900"}})
		if err != nil {
			t.Fatal(err)
		}
		o.await(t, "the answer of the run under the grant", func(n *approvals.Notification) bool {
			return n.Kind == approvals.NotifyAnswer && n.Run == granted.Run
		})
		if wired, paid := o.paid["wire"].Load(), o.paid["pay"].Load(); wired != 1 || paid != 1 {
			t.Errorf("the call that was approved ran %d times, the one that was granted %d times", wired, paid)
		}
		stop()
		working.Wait()
		report, err := approvals.VerifyAudit(t.Context(), s, approvals.VerifyOptions{})
		bad, _ := errors.AsType[*approvals.AuditError](err) // nobody wrote a trail beside the records of T3
		if err != nil && (bad == nil || bad.Workspace != "T3" || bad.Kind != approvals.FaultMissing) {
			t.Errorf("%+v: %v", report, err)
		}
	})
}
