package invariant_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/invariant"
	"countersign/store/storetest"
)

const ws = approvals.WorkspaceID("T1")

var (
	ann = approvals.NewUserID(ws, "ann") // asks
	ben = approvals.NewUserID(ws, "ben") // decides
)

// story is a true history: a payment that was approved and made, one that was rejected, one that waits, and the world's
// view of it. It plays the parts of the directory, the policy, the agents, the surface and the model.
type story struct {
	store approvals.Store
	mu    sync.Mutex
	world invariant.World
	cards map[approvals.RequestID]*approvals.Request
}

func (s *story) Person(_ context.Context, u approvals.UserID, _ time.Time) (approvals.Person, error) {
	return approvals.Person{ID: u, Regular: true}, nil
}

func (s *story) Members(context.Context, approvals.WorkspaceID, string, time.Time) ([]approvals.UserID, error) {
	return nil, nil
}

func (s *story) ChannelMembers(context.Context, approvals.WorkspaceID, string) ([]approvals.UserID, error) {
	return []approvals.UserID{ann, ben}, nil
}

func (s *story) InChannel(
	context.Context, approvals.WorkspaceID, string, approvals.UserID, time.Time,
) (bool, error) {
	return true, nil
}

func (s *story) GroupsOf(context.Context, approvals.UserID, time.Time) ([]string, error) {
	return nil, nil
}

func (s *story) Channel(context.Context, approvals.WorkspaceID, string, time.Time) (approvals.Channel, error) {
	return approvals.Channel{}, nil
}

func (s *story) Requirement(
	context.Context, *approvals.Request, approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return approvals.Requirement{Policy: "default", DenyQuorum: 1, ExpiresIn: 24 * time.Hour, ValidFor: time.Hour,
		Seats: approvals.Quorum(1, approvals.Approvers{ChannelMembers: true})}, nil
}

func (s *story) Agent(string) (approvals.AgentConfig, error) {
	pay := agent.Tool{Name: "pay", Parameters: json.RawMessage(`{"type":"object"}`), NeedsApproval: agent.AlwaysAsk,
		Validate: func(json.RawMessage) error { return nil },
		Invoke: func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.world.Effects = append(s.world.Effects,
				invariant.Effect{Key: c.EffectID, Tool: c.Tool, Arguments: string(c.Arguments)})
			return agent.ToolOutput{Text: "paid"}, nil
		}}
	return approvals.AgentConfig{Agent: &agent.Agent{Name: "ops", Model: s, Tools: []agent.Tool{pay}}}, nil
}

// Respond asks for one payment and then answers.
func (s *story) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	time.Sleep(time.Second)
	s.mu.Lock()
	s.world.Asked = append(s.world.Asked, append([]agent.Item(nil), req.Items...))
	call := fmt.Sprint("c", len(s.world.Asked))
	s.mu.Unlock()
	items := []agent.Item{agent.AssistantMessage("That is all.")}
	if req.Items[len(req.Items)-1].Type != agent.ItemFunctionCallOutput {
		items = []agent.Item{{Type: agent.ItemFunctionCall, CallID: call, Name: "pay",
			Arguments: `{"amount":5,"memo":"for-ben"}`}}
	}
	return &agent.ModelResponse{Items: items}, nil
}

func (s *story) Notify(_ context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n.Kind {
	case approvals.NotifyCard:
		s.cards[n.Request] = n.Card
	case approvals.NotifyAnswer:
		s.world.Answers = append(s.world.Answers, invariant.Answer{Channel: n.Place.Channel, Thread: n.Place.Thread,
			Text: n.Text})
	}
	return approvals.Delivery{Channel: n.Place.Channel, Message: string(n.ID)}, nil
}

// tell plays the story. It has to be called in a bubble.
func tell(t *testing.T) *story {
	t.Helper()
	s := &story{store: storetest.NewMemory().Open(), cards: map[approvals.RequestID]*approvals.Request{},
		world: invariant.World{Workspaces: []approvals.WorkspaceID{ws}, CardsSeen: true, AnswersSeen: true,
			Delivered: true, Deciders: []approvals.UserID{ben}, Secrets: []string{"xoxb-canary"},
			Hidden: []string{"for-ben"}, Held: map[string]string{"file": `{"amount":5,"memo":"for-ben"}`},
			Told:      map[string]string{"log": "started"},
			Resources: []invariant.Resource{{Name: "goroutines", Before: 4, After: 5, Slack: 2}}}}
	service, err := approvals.NewService(approvals.ServiceConfig{Store: s.store, Policy: s, Directory: s, Agents: s,
		Requesters: approvals.Approvers{ChannelMembers: true}})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := approvals.NewWorker(approvals.WorkerConfig{Store: s.store, Agents: s, Notifier: s, Policy: s,
		Directory: s})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	for i, verdict := range []approvals.Verdict{approvals.Approve, approvals.Reject, ""} {
		place := approvals.Place{Surface: "slack", Channel: "C1", Thread: string(rune('1' + i))}
		_, err := service.Submit(ctx, approvals.Submission{Workspace: ws, Keys: []string{place.Thread}, Place: place,
			Requester: ann, Agent: "ops", Text: "please", Message: place.Thread})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		page, err := service.Pending(ctx, approvals.PendingQuery{Workspace: ws, Viewer: ben, Limit: 10})
		if err != nil || len(page.Requests) != 1 {
			t.Fatal(len(page.Requests), err)
		}
		if r := page.Requests[0]; verdict != "" {
			_, err := service.Decide(ctx, approvals.Decision{Workspace: ws, Request: r.ID, By: ben, Verdict: verdict,
				Digest: r.Digest, Via: "button"})
			if err != nil {
				t.Fatal(err)
			}
			s.world.Clicks = append(s.world.Clicks, invariant.Click{Request: r.ID, By: ben, Verdict: verdict})
		}
		time.Sleep(time.Minute)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for id, r := range s.cards {
		shown := map[approvals.RequestStatus]string{approvals.RequestApproved: "Approved by ben",
			approvals.RequestRejected: "Rejected by ben", approvals.RequestPending: "pay?"}[r.Status]
		s.world.Cards = append(s.world.Cards, invariant.Card{Request: id, Where: "C1", Shown: shown,
			Decides: r.Status == approvals.RequestPending})
	}
	return s
}
