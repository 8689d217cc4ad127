package app

import (
	"context"
	"sync/atomic"

	"countersign/approvals"
	"countersign/internal/catalog"
)

// live is the catalog in force, which a reload replaces. Runs under way go on with what replaces it: a call that has
// become another one is asked about again.
type live struct{ current atomic.Pointer[inForce] }

// inForce is a catalog, and the service that lets runs of a workspace start by its requesters and limits.
type inForce struct {
	*catalog.Catalog
	submitter func(approvals.WorkspaceID) *approvals.Service
}

var (
	_ approvals.Agents = (*live)(nil)
	_ approvals.Policy = (*live)(nil)

	_ approvals.Triggers = (*live)(nil)

	_ approvals.Delegator = (*live)(nil)

	_ approvals.EmergencyPolicy = (*live)(nil)
)

// Agent is part of approvals.Agents.
func (l *live) Agent(name string) (approvals.AgentConfig, error) { return l.current.Load().Agent(name) }

// Requirement is part of approvals.Policy.
func (l *live) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return l.current.Load().Requirement(ctx, r, known)
}

// Trigger is part of approvals.Triggers.
func (l *live) Trigger(agentName, tool string) approvals.Trigger {
	return l.current.Load().Trigger(agentName, tool)
}

// Requesters are the people who may start runs in the workspace, by the catalog in force.
func (l *live) Requesters(ws approvals.WorkspaceID) approvals.Approvers {
	return l.current.Load().Requesters(ws)
}

// Retention says for how long records are kept, by the catalog in force.
func (l *live) Retention() approvals.Retention { return l.current.Load().Retention() }

// Delegations is part of approvals.Delegator.
func (l *live) Delegations(ws approvals.WorkspaceID) []approvals.Delegation {
	return l.current.Load().Delegations(ws)
}

// Emergency is part of approvals.EmergencyPolicy.
func (l *live) Emergency(ws approvals.WorkspaceID) approvals.Emergency {
	return l.current.Load().Emergency(ws)
}

// service is approvals.Service as the bot and the control socket call it: with the catalog in force, and measured.
// What it embeds reads agents and policy through live, so a reload does not replace it.
type service struct {
	*approvals.Service
	live    *live
	metrics *metrics
	newer   *newer
}

// Submit starts a run of the agent that the catalog in force names for the channel, if its requesters and limits allow.
func (s *service) Submit(ctx context.Context, in approvals.Submission) (approvals.Receipt, error) {
	now := s.live.current.Load()
	in.Agent = now.File.AgentFor(in.Place.Channel)
	receipt, err := now.submitter(in.Workspace).Submit(ctx, in)
	s.metrics.submitted(receipt, err)
	s.newer.noteOf(err)
	return receipt, err
}

// RetryRun starts a run again if the requesters and limits of the catalog in force allow it.
func (s *service) RetryRun(ctx context.Context, v approvals.RunRetry) (approvals.Receipt, error) {
	receipt, err := s.live.current.Load().submitter(v.Workspace).RetryRun(ctx, v)
	s.metrics.submitted(receipt, err)
	s.newer.noteOf(err)
	return receipt, err
}

// Decide measures how long a decision takes.
func (s *service) Decide(ctx context.Context, d approvals.Decision) (*approvals.Request, error) {
	return s.DecideOn(ctx, nil, d)
}

// DecideOn is Decide on what has been read already.
func (s *service) DecideOn(
	ctx context.Context, seen *approvals.Request, d approvals.Decision,
) (*approvals.Request, error) {
	done := s.metrics.deciding(d.Via)
	r, err := s.Service.DecideOn(ctx, seen, d)
	done(err)
	s.newer.noteOf(err)
	return r, err
}

// DecideAll measures the answers of a batch: each has taken until the last of them was recorded, which is for how long
// the person has waited.
func (s *service) DecideAll(ctx context.Context, b approvals.Batch) ([]approvals.BatchAnswer, error) {
	done := s.metrics.deciding(b.Via)
	answers, err := s.Service.DecideAll(ctx, b)
	if err != nil {
		done(err)
	}
	for _, a := range answers {
		done(a.Err)
		s.newer.noteOf(a.Err)
	}
	return answers, err
}
