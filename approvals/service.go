package approvals

import (
	"context"
	"fmt"
	"log/slog"

	"countersign/agent"
	"countersign/agent/trace"
)

// Agents knows the configured agents.
type Agents interface {
	// Agent returns the agent with the name; ErrNotFound when there is none.
	Agent(name string) (AgentConfig, error)
}

// AgentConfig is an agent with what bounds its runs.
type AgentConfig struct {
	Agent *agent.Agent
	// MaxTurns bounds the model calls of a run; zero means agent.DefaultMaxTurns.
	MaxTurns int
	// HistoryTokens bounds how much of the conversation's earlier runs a new run is given; zero means 100,000,
	// negative none. Tokens are estimated as a quarter of the bytes. What the model is shown while the run goes on is
	// bounded by Agent.Shorten.
	HistoryTokens int
	// ProviderConversation has the model's provider keep the conversation of a place: a request holds only what the
	// provider does not have yet. The place's own memory is kept all the same: a provider that has forgotten the
	// conversation is sent what HistoryTokens leaves of it.
	ProviderConversation bool
}

// ServiceConfig is what a Service needs. Logger may be nil; Limits may be zero; a zero Requesters lets nobody start
// runs.
type ServiceConfig struct {
	Store      Store
	Policy     Policy
	Directory  Directory
	Agents     Agents
	Requesters Approvers
	Limits     Limits
	Logger     *slog.Logger
	Tracer     trace.Tracer // follows what is submitted and decided for a tracing system; nil: none
	// PublicURL is where the program is reached from outside, without a slash at its end. Empty: there are no
	// callbacks.
	PublicURL string
}

// Service is what surfaces call. Its methods are safe for concurrent use; what they return without error is committed.
type Service struct {
	store      Store
	policy     Policy
	directory  Directory
	agents     Agents
	requesters Approvers
	limits     Limits
	log        *slog.Logger
	tracer     trace.Tracer
	publicURL  string
	heard      storeTime // when Recorded has read last
}

// NewService returns a Service, or an error that names the missing field.
func NewService(cfg ServiceConfig) (*Service, error) {
	for name, missing := range map[string]bool{
		"Store": cfg.Store == nil, "Policy": cfg.Policy == nil,
		"Directory": cfg.Directory == nil, "Agents": cfg.Agents == nil,
	} {
		if missing {
			return nil, fmt.Errorf("%w: service without %s", ErrInvalid, name)
		}
	}
	return &Service{
		store: cfg.Store, policy: cfg.Policy, directory: cfg.Directory, agents: cfg.Agents,
		requesters: cfg.Requesters, limits: cfg.Limits, log: logger(cfg.Logger),
		publicURL: cfg.PublicURL, tracer: cfg.Tracer,
	}, nil
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// Run returns the run, or ErrNotFound.
func (s *Service) Run(ctx context.Context, ws WorkspaceID, id RunID) (r *Run, err error) {
	err = s.store.View(WithOneRead(ctx, true), func(tx Tx) error {
		r, err = tx.Run(ws, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	return r, nil
}

// Request returns the request, or ErrNotFound. Of a pending one it says what a standing answer would settle too, of a
// stale one what was asked instead.
func (s *Service) Request(ctx context.Context, ws WorkspaceID, id RequestID) (r *Request, err error) {
	err = s.store.View(ctx, func(tx Tx) error {
		if r, err = tx.Request(ws, id); err != nil {
			return err
		}
		return complement(tx, s.publicURL, r)
	})
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	return r, nil
}

// Requests is Request for several at once, in the order of the ids; those that are not there are left out.
func (s *Service) Requests(ctx context.Context, ws WorkspaceID, ids []RequestID) (list []*Request, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = s.store.View(ctx, func(tx Tx) error {
		if list, err = tx.Requests(ws, ids); err != nil {
			return err
		}
		return complement(tx, s.publicURL, list...)
	})
	if err != nil {
		return nil, fmt.Errorf("requests %v: %w", ids, err)
	}
	return list, nil
}

// Recorded returns the request as it is recorded, or ErrNotFound: Request without what is added for people who read it.
func (s *Service) Recorded(ctx context.Context, ws WorkspaceID, id RequestID) (r *Request, err error) {
	err = s.store.View(WithOneRead(ctx, true), func(tx Tx) error {
		if r, err = tx.Request(ws, id); err == nil {
			s.heard.hear(tx.Now())
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	return r, nil
}

// Contents returns the requests of the heads, which are of one workspace, with what they ask about: as Recorded does,
// in the order of the heads. One that was deleted meanwhile has its head alone.
func (s *Service) Contents(ctx context.Context, heads []*RequestHead) ([]*Request, error) {
	if len(heads) == 0 {
		return nil, nil
	}
	ids := make([]RequestID, len(heads))
	for i, r := range heads {
		ids[i] = r.ID
	}
	var there []*Request
	err := s.store.View(WithOneRead(ctx, true), func(tx Tx) (err error) {
		there, err = tx.Requests(heads[0].Workspace, ids)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("requests %v: %w", ids, err)
	}
	list := make([]*Request, len(heads))
	for i, r := range heads {
		if len(there) > 0 && there[0].ID == r.ID {
			list[i], there = there[0], there[1:]
		} else {
			list[i] = &Request{RequestHead: *r}
		}
	}
	return list, nil
}

// VerifyAudit is VerifyAudit on the service's store.
func (s *Service) VerifyAudit(ctx context.Context) (AuditReport, error) {
	return VerifyAudit(ctx, s.store, VerifyOptions{})
}
