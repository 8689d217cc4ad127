package boltstore

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// readScripts reads a file of scripts, each under a line "agent NAME".
func readScripts(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scripts, name := make(map[string]string), ""
	for line := range strings.Lines(string(data)) {
		if next, ok := strings.CutPrefix(line, "agent "); ok {
			name = strings.TrimSpace(next)
			continue
		}
		scripts[name] += line
	}
	return scripts
}

// frozenWorld is what the frozen file's runs depend on outside the store: agents, policy, people and the surface.
type frozenWorld struct {
	agents map[string]*agent.Agent

	mu    sync.Mutex
	ran   map[string]int // executions by tool
	posts int
}

func newFrozenWorld(t *testing.T) *frozenWorld {
	w := &frozenWorld{ran: make(map[string]int)}
	w.agents = frozenAgents(t, func(tool string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ran[tool]++
	})
	return w
}

// start makes a service and runs a worker until the returned function is called.
func (w *frozenWorld) start(t *testing.T, s approvals.Store) (svc *approvals.Service, stop func()) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	svc, err := approvals.NewService(approvals.ServiceConfig{Store: s, Policy: w, Directory: w, Agents: w,
		Requesters: approvals.Approvers{ChannelMembers: true}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := approvals.NewWorker(approvals.WorkerConfig{Store: s, Agents: w, Notifier: w, Policy: w, Directory: w,
		Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	return svc, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func (w *frozenWorld) Agent(name string) (approvals.AgentConfig, error) {
	a := w.agents[name]
	if a == nil {
		return approvals.AgentConfig{}, approvals.ErrNotFound
	}
	return approvals.AgentConfig{Agent: a}, nil
}

// Requirement is the policy of the frozen file: its requests wait for a hundred years, but for those of quick.
func (w *frozenWorld) Requirement(
	_ context.Context, r *approvals.Request, _ approvals.PolicyFacts,
) (approvals.Requirement, error) {
	q := approvals.Requirement{
		Policy: "default_policy", Seats: approvals.Quorum(1, approvals.Approvers{ChannelMembers: true}), DenyQuorum: 1,
		SelfApproval: true, ExpiresIn: 100 * 365 * 24 * time.Hour, OnExpiry: approvals.ExpiryReject,
		Always: []approvals.Scope{approvals.ScopeRun},
	}
	switch r.Tool.Name {
	case "wire":
		q.Policy, q.DenyQuorum, q.SelfApproval, q.Always = "money", 2, false, nil
		q.Seats = approvals.Quorum(2, approvals.Approvers{
			Users: []approvals.UserID{"T1/UCARA"}, Groups: []string{"SFINANCE"}})
	case "quick":
		q.Policy, q.ExpiresIn = "quick", time.Second
	}
	return q, nil
}

func (w *frozenWorld) Person(_ context.Context, u approvals.UserID, _ time.Time) (approvals.Person, error) {
	return approvals.Person{ID: u, Regular: true}, nil
}

func (w *frozenWorld) Members(
	_ context.Context, _ approvals.WorkspaceID, group string, _ time.Time,
) ([]approvals.UserID, error) {
	if group != "SFINANCE" {
		return nil, approvals.ErrNotFound
	}
	return []approvals.UserID{"T1/UBOB", "T1/UDAN"}, nil
}

var frozenPeople = []string{"UANN", "UBOB", "UCARA", "UDAN"}

func (w *frozenWorld) ChannelMembers(
	_ context.Context, ws approvals.WorkspaceID, _ string,
) (all []approvals.UserID, err error) {
	for _, name := range frozenPeople {
		all = append(all, approvals.NewUserID(ws, name))
	}
	return all, nil
}

func (w *frozenWorld) InChannel(
	_ context.Context, ws approvals.WorkspaceID, _ string, u approvals.UserID, _ time.Time,
) (bool, error) {
	return u.Workspace() == ws && slices.Contains(frozenPeople, u.Local()), nil
}

func (*frozenWorld) GroupsOf(context.Context, approvals.UserID, time.Time) ([]string, error) {
	return nil, approvals.ErrNotFound
}

func (*frozenWorld) Channel(context.Context, approvals.WorkspaceID, string, time.Time) (approvals.Channel, error) {
	return approvals.Channel{}, approvals.ErrNotFound
}

func (w *frozenWorld) Notify(_ context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	if n.Kind == approvals.NotifyCard && len(n.Card.Cards) > 0 {
		at := n.Card.Cards[0]
		return approvals.Delivery{Channel: at.Channel, Message: at.Message, List: at.List, Bare: at.Bare}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts++
	return approvals.Delivery{Channel: n.Place.Channel, Message: fmt.Sprintf("946857600.%06d", w.posts)}, nil
}
