package pgstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
)

const (
	asks     approvals.UserID = "T1/UASKS"
	approves approvals.UserID = "T1/UAPPROVES"
)

// office is a workspace of two people in one channel, and the agents and policies of a bot in it.
type office struct {
	agent   *agent.Agent
	service *approvals.Service
	ended   chan approvals.RunID
}

func (o *office) Agent(string) (approvals.AgentConfig, error) {
	return approvals.AgentConfig{Agent: o.agent}, nil
}

func (*office) Requirement(
	context.Context, *approvals.Request, approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return approvals.Requirement{Policy: "default_policy", DenyQuorum: 1, ExpiresIn: time.Hour,
		OnExpiry: approvals.ExpiryReject, ValidFor: time.Hour,
		Seats: approvals.Quorum(1, approvals.Approvers{Users: []approvals.UserID{approves}})}, nil
}

func (*office) Person(_ context.Context, u approvals.UserID, _ time.Time) (approvals.Person, error) {
	return approvals.Person{ID: u, Regular: true}, nil
}
func (*office) Members(context.Context, approvals.WorkspaceID, string, time.Time) ([]approvals.UserID, error) {
	return nil, nil
}
func (*office) ChannelMembers(context.Context, approvals.WorkspaceID, string) ([]approvals.UserID, error) {
	return []approvals.UserID{asks, approves}, nil
}
func (*office) InChannel(
	context.Context, approvals.WorkspaceID, string, approvals.UserID, time.Time,
) (bool, error) {
	return true, nil
}
func (*office) GroupsOf(context.Context, approvals.UserID, time.Time) ([]string, error) {
	return nil, approvals.ErrNotFound
}
func (*office) Channel(context.Context, approvals.WorkspaceID, string, time.Time) (approvals.Channel, error) {
	return approvals.Channel{}, approvals.ErrNotFound
}

// Notify approves what is asked.
func (o *office) Notify(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	at := approvals.Delivery{Channel: n.Place.Channel, Message: string(n.ID)}
	switch {
	case n.Kind == approvals.NotifyAnswer:
		o.ended <- n.Run
	case n.Kind == approvals.NotifyNotice:
		o.ended <- approvals.RunID(n.Text) // which is no run
	case n.Kind == approvals.NotifyCard && n.Card.Status == approvals.RequestPending:
		_, err := o.service.Decide(ctx, approvals.Decision{Workspace: n.Workspace, Request: n.Request, By: approves,
			Verdict: approvals.Approve, Digest: n.Card.Digest, Via: "button"})
		if !errors.Is(err, approvals.ErrConflict) {
			return at, err
		}
	}
	return at, nil
}

// belongsToRun is the key under which a context is marked as that of something that belongs to a run, as what looks
// after the store does not.
type belongsToRun struct{}

func mark(ctx context.Context) context.Context { return context.WithValue(ctx, belongsToRun{}, true) }

// marking is a store that marks what handlers of jobs do, and counts what they write.
type marking struct {
	*Store
	writes *atomic.Int64
}

func (s marking) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	return s.Store.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error { return handle(mark(ctx), j) })
}

func (s marking) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if ctx.Value(belongsToRun{}) != nil {
		s.writes.Add(1)
	}
	return s.Store.Update(ctx, fn)
}

// TestWholeRunIsShared: no transaction of a run between mention and answer is one that its closure must have for
// itself.
func TestWholeRunIsShared(t *testing.T) {
	t.Parallel()
	var left, writes atomic.Int64 // transactions of runs that their closures had for themselves, and all that write
	s := openStore(t, newURL(t), Config{always: true, leaves: func(ctx context.Context) {
		if ctx.Value(belongsToRun{}) != nil {
			left.Add(1)
		}
	}})
	model, err := scripted.Parse("call c1 pay {}", "say done", "call c2 pay {}", "say done")
	if err != nil {
		t.Fatal(err)
	}
	o := &office{ended: make(chan approvals.RunID, 1)}
	pay := agent.NewTool("pay", "Pay somebody.", func(context.Context, struct{}) (string, error) { return "paid", nil })
	pay.NeedsApproval = agent.AlwaysAsk
	o.agent = &agent.Agent{Name: "ops", Model: model, Tools: []agent.Tool{pay}}
	var err1, err2 error
	o.service, err1 = approvals.NewService(approvals.ServiceConfig{Store: s, Policy: o, Directory: o, Agents: o,
		Requesters: approvals.Approvers{ChannelMembers: true},
		Limits:     approvals.Limits{RunsPerPerson: 9, RunsPerChannel: 9, PendingPerPerson: 9}})
	worker, err2 := approvals.NewWorker(approvals.WorkerConfig{
		Store: marking{s, &writes}, Policy: o, Directory: o, Agents: o, Notifier: o,
		Limits: approvals.Limits{RunsPerPerson: 9, RunsPerChannel: 9, PendingPerPerson: 9}})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	working.Go(func() { worker.Run(ctx) })
	for i := range 2 { // the second one of the place remembers the first
		receipt, err := o.service.Submit(mark(approvals.WithoutHurry(t.Context())), approvals.Submission{
			Workspace: "T1", Keys: []string{strconv.Itoa(i)}, Requester: asks, Agent: "ops", Text: "pay",
			Message: strconv.Itoa(i), Place: listedAt})
		if err != nil {
			t.Fatal(err)
		}
		if id := <-o.ended; id != receipt.Run {
			t.Errorf("run %s has ended, not %s", id, receipt.Run)
		}
	}
	stop()
	working.Wait()
	if n := left.Load(); n > 0 || writes.Load() < 10 {
		t.Errorf("%d transactions had to be the closure's own, and %d wrote at all", n, writes.Load())
	}
	if err := s.update(mark(approvals.WithoutHurry(t.Context())), func(tx *tx) error { // the control
		_, err := tx.Grants("T1", "", 1)
		return err
	}); err != nil || left.Load() != 1 {
		t.Errorf("a list without a name has %d transactions of its own: %v", left.Load(), err)
	}
}
