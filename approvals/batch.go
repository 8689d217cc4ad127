package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/agent"
)

// maxBatch is how many requests one Batch may name.
const maxBatch = 100

// ErrNotBatched comes with ErrInvalid for a request that a Batch leaves out: it has to be answered by itself.
var ErrNotBatched = errors.New("not answered together with others")

var errNotBatched = fmt.Errorf("%w, %w", ErrInvalid, ErrNotBatched)

// Batch is one person's answer to several requests at once.
type Batch struct {
	// ID makes the call repeatable: each request's decision has an id that follows from it. Empty: Service makes one.
	ID        DecisionID  `json:"id"`
	Workspace WorkspaceID `json:"workspace"`
	By        UserID      `json:"by"`
	// Verdict is Approve or Reject.
	Verdict Verdict `json:"verdict"`
	// Reason is the person's text for all of them, at most 2,000 characters.
	Reason   string      `json:"reason,omitempty"`
	Via      string      `json:"via"`
	Requests []BatchItem `json:"requests"`
}

// BatchItem is one request of a batch.
type BatchItem struct {
	Request RequestID `json:"request"`
	// Digest is the digest of what the person was shown.
	Digest agent.Digest `json:"digest"`
	// Partly says that the person was not shown the whole call.
	Partly bool `json:"partly,omitempty"`
}

// BatchAnswer is what came of one request of a batch.
type BatchAnswer struct {
	ID RequestID
	// Request is the request as it then stands; nil when it could not be read.
	Request *Request
	// Err is nil when the decision is recorded, else why it is not, as Decide says it; ErrNotBatched with ErrInvalid
	// for a request that the batch leaves out.
	Err error
}

// DecideAll records one person's answer to several requests, each with a decision of its own and as Decide would: a
// batch decides nothing that the same person could not decide by answering the requests one after the other. Where two
// people are needed, the answer counts as one. What is refused for one request keeps back none of the others. The
// answers are in the order of the requests, each of which counts once. Calling it again with the same Batch.ID and
// requests returns the same. Errors: ErrInvalid for a batch that no request could take; then nothing is decided.
func (s *Service) DecideAll(ctx context.Context, b Batch) ([]BatchAnswer, error) {
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("decide a batch: %w", err)
	}
	now := time.Now()
	if b.ID == "" {
		b.ID = NewDecisionID(now)
	}
	ctx = ArrivedAt(ctx, Arrival(ctx, now)) // together, so that they share what is asked about the person
	answers := make([]BatchAnswer, 0, len(b.Requests))
	seen := make(map[RequestID]bool, len(b.Requests))
	for _, item := range b.Requests {
		if !seen[item.Request] {
			seen[item.Request] = true
			answers = append(answers, s.decideItem(ctx, &b, item))
		}
	}
	return answers, nil
}

func (b *Batch) check() error {
	switch {
	case b.Verdict != Approve && b.Verdict != Reject:
		return refuse(ErrInvalid, wordsBatchVerdict(b.Verdict))
	case len(b.Requests) == 0:
		return refuse(ErrInvalid, wordsBatchEmpty)
	case len(b.Requests) > maxBatch:
		return refuse(ErrInvalid, wordsBatchTooLong(maxBatch, len(b.Requests)))
	}
	sample := b.decision(b.Requests[0])
	sample.Request = "any"
	return sample.check()
}

// decision is the batch's answer to one of its requests.
func (b *Batch) decision(item BatchItem) Decision {
	return Decision{
		ID: DecisionID(string(b.ID) + "/" + string(item.Request)), Workspace: b.Workspace,
		Request: item.Request, By: b.By, Verdict: b.Verdict, Reason: b.Reason, Digest: item.Digest, Via: b.Via,
	}
}

func (s *Service) decideItem(ctx context.Context, b *Batch, item BatchItem) BatchAnswer {
	a := BatchAnswer{ID: item.Request}
	var r *Request
	err := s.store.View(WithOneRead(ctx, true), func(tx Tx) (err error) {
		r, err = tx.Request(b.Workspace, item.Request)
		return err
	})
	if err == nil {
		a.Request = r
		err = r.batchable(item.Partly, s.risky(ctx, r))
	}
	if err != nil {
		a.Err = fmt.Errorf("decide request %s: %w", item.Request, err)
		return a
	}
	decided, err := s.Decide(ctx, b.decision(item))
	if decided != nil {
		a.Request = decided
	}
	a.Err = err
	return a
}

// batchable returns nil for a request that a batch may answer. The others are refused with ErrNotBatched: they ask for
// something else than yes or no, or deserve to be looked at by themselves.
func (r *Request) batchable(partly, risky bool) error {
	why := ""
	switch {
	case r.Kind == agent.OutcomeUnknown:
		why = wordsAloneOutcome
	case r.IsQuestion():
		why = wordsAloneQuestion
	case r.Kind == agent.ExternalResult:
		why = wordsAloneResult
	case r.Kind != agent.Confirm:
		why = wordsAloneMore
	case risky:
		why = wordsAloneRisk
	case partly:
		why = wordsAlonePart
	default:
		return nil
	}
	return refuse(errNotBatched, why)
}

// risky reports whether r is of high risk as its policy was when it was asked, or is now. Where the policy fails now,
// nobody can decide about r anyway.
func (s *Service) risky(ctx context.Context, r *Request) bool {
	if r.Requirement.Risk == RiskHigh || r.Status != RequestPending {
		return r.Requirement.Risk == RiskHigh
	}
	q, err := newGatherer(s.directory, s.policy, r.conversation(), time.Now()).demand(ctx, r)
	return err == nil && q.Risk == RiskHigh
}
