package approvals_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/store/boltstore"
)

// team is a directory in which everybody is a regular member of every channel.
type team []approvals.UserID

func (t team) Person(_ context.Context, u approvals.UserID, _ time.Time) (approvals.Person, error) {
	return approvals.Person{ID: u, Regular: true}, nil
}

func (t team) Members(context.Context, approvals.WorkspaceID, string, time.Time) ([]approvals.UserID, error) {
	return t, nil
}

func (t team) ChannelMembers(context.Context, approvals.WorkspaceID, string) ([]approvals.UserID, error) {
	return t, nil
}

func (t team) InChannel(
	_ context.Context, _ approvals.WorkspaceID, _ string, u approvals.UserID, _ time.Time,
) (bool, error) {
	return slices.Contains(t, u), nil
}

func (t team) GroupsOf(context.Context, approvals.UserID, time.Time) ([]string, error) {
	return nil, approvals.ErrNotFound
}

func (t team) Channel(context.Context, approvals.WorkspaceID, string, time.Time) (approvals.Channel, error) {
	return approvals.Channel{}, approvals.ErrNotFound
}

// anotherMember demands one member of the channel who is not the requester.
type anotherMember struct{}

func (anotherMember) Requirement(
	context.Context, *approvals.Request, approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return approvals.Requirement{Policy: "default",
		Seats: approvals.Quorum(1, approvals.Approvers{ChannelMembers: true}), DenyQuorum: 1}, nil
}

// roster knows the agents by name.
type roster map[string]approvals.AgentConfig

func (r roster) Agent(name string) (approvals.AgentConfig, error) {
	if c, ok := r[name]; ok {
		return c, nil
	}
	return approvals.AgentConfig{}, approvals.ErrNotFound
}

// terminal is a surface that prints; whoever sits there agrees to everything.
type terminal struct {
	service *approvals.Service
	done    context.CancelFunc
}

func (t *terminal) Notify(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	var err error
	switch {
	case n.Kind == approvals.NotifyAnswer:
		fmt.Println("answer:", n.Text)
		t.done()
	case n.Kind == approvals.NotifyCard && n.Card.Status == approvals.RequestPending:
		fmt.Printf("%s %s? It takes %s.\n", n.Card.Tool.Name, n.Card.Arguments, n.Card.Requirement.Describe())
		_, err = t.service.Decide(ctx, approvals.Decision{
			Workspace: n.Workspace, Request: n.Request, By: approvals.NewUserID("T1", "bob"),
			Verdict: approvals.Approve, Digest: n.Card.Digest, Via: "terminal",
		})
	}
	return approvals.Delivery{Channel: n.Place.Channel, Message: "1"}, err
}

// A person asks, an agent wants to pay, another person agrees, the payment happens, the answer arrives. Between any
// two of these the process may end.
func Example() {
	dir, err := os.MkdirTemp("", "countersign")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := boltstore.Open(filepath.Join(dir, "countersign.db"), boltstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	type payment struct {
		Amount int `json:"amount"`
	}
	pay := agent.NewTool("pay", "Pays.", func(_ context.Context, p payment) (string, error) {
		return fmt.Sprintf("paid %d", p.Amount), nil
	})
	pay.NeedsApproval = agent.AlwaysAsk
	script := scripted.New(scripted.Calls(scripted.Call("call_1", "pay", `{"amount":5}`)), scripted.Say("It is paid."))
	agents := roster{"ops": {Agent: &agent.Agent{Name: "ops", Model: script, Tools: []agent.Tool{pay}}}}
	people := team{approvals.NewUserID("T1", "ann"), approvals.NewUserID("T1", "bob")}

	service, err := approvals.NewService(approvals.ServiceConfig{
		Store: store, Policy: anotherMember{}, Directory: people, Agents: agents,
		Requesters: approvals.Approvers{ChannelMembers: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, done := context.WithCancel(context.Background())
	worker, err := approvals.NewWorker(approvals.WorkerConfig{
		Store: store, Policy: anotherMember{}, Directory: people, Agents: agents,
		Notifier: &terminal{service: service, done: done},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = service.Submit(ctx, approvals.Submission{
		Workspace: "T1", Keys: []string{"message 1"},
		Place:     approvals.Place{Surface: "terminal", Channel: "C1", Thread: "1"},
		Requester: people[0], Agent: "ops", Text: "Pay the bill, please.",
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// pay {"amount":5}? It takes 1 member of this channel, not the requester.
	// answer: It is paid.
}
