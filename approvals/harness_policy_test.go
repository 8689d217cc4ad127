package approvals_test

import (
	"context"
	"sync"
	"time"

	"countersign/approvals"
)

// policy is a Policy that tests change on the way.
type policy struct {
	mu    sync.Mutex
	rule  func(*approvals.Request) (approvals.Requirement, error)
	away  []approvals.Delegation
	glass approvals.Emergency
	// informed, if set, answers instead of rule once the facts that it reads were asked for.
	informed func(*approvals.Request, approvals.PolicyFacts) (approvals.Requirement, error)
	reads    []approvals.Fact
}

func (p *policy) Emergency(approvals.WorkspaceID) approvals.Emergency { return p.glass }

func (p *policy) Delegations(approvals.WorkspaceID) []approvals.Delegation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.away
}

// delegates replaces who decides for whom.
func (p *policy) delegates(all ...approvals.Delegation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = all
}

func (p *policy) Requirement(
	_ context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if missing := known.Missing(p.reads); missing != nil {
		return approvals.Requirement{}, &approvals.MissingFactsError{Facts: missing}
	}
	if p.informed != nil {
		return p.informed(r, known)
	}
	return p.rule(r)
}

func (p *policy) set(rule func(*approvals.Request) (approvals.Requirement, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// always makes every request need q.
func (p *policy) always(q approvals.Requirement) {
	p.set(func(*approvals.Request) (approvals.Requirement, error) { return q, nil })
}

// lenient is what most tests demand: one member of the channel, the requester too.
func lenient() approvals.Requirement {
	return approvals.Requirement{
		Policy: "default", Seats: approvals.Quorum(1, approvals.Approvers{ChannelMembers: true}), DenyQuorum: 1,
		SelfApproval: true, ExpiresIn: time.Hour, OnExpiry: approvals.ExpiryReject, ValidFor: time.Hour,
		Always: []approvals.Scope{approvals.ScopeRun},
	}
}

// quorum makes q ask for n people of the same set, askOf as many people of another.
func quorum(q *approvals.Requirement, n int) {
	set, _ := q.Uniform()
	q.Seats = approvals.Quorum(n, set)
}

func askOf(q *approvals.Requirement, set approvals.Approvers) {
	q.Seats = approvals.Quorum(max(1, len(q.Seats)), set)
}
