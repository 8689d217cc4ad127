package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// RevealIn asks for the secret values of a request.
type RevealIn struct {
	Workspace WorkspaceID `json:"workspace"`
	Request   RequestID   `json:"request"`
	By        UserID      `json:"by"`  // who is shown them
	Via       string      `json:"via"` // the way, as of a decision
}

// Revelation is that a person was shown the secret values of a request.
type Revelation struct {
	By UserID    `json:"by"`
	At time.Time `json:"at"`
}

// Reveal returns a pending request with nothing masked, for somebody who may decide it now and has not; Secret is empty
// in what it returns. That they were shown it is in the audit trail before it returns, with the names of the arguments
// and without their values; so is that somebody asked who may not. Errors: ErrNotFound; ErrInvalid where nothing is
// secret; ErrConflict, ErrExpired or ErrStale where the request takes no answer of theirs; ErrUnauthorized;
// ErrUnavailable.
func (s *Service) Reveal(ctx context.Context, in RevealIn) (*Request, error) {
	arrived := time.Now()
	r, err := (*Request)(nil), error(nil)
	for range rounds {
		if r, err = s.revealOnce(ctx, in, arrived); !errors.Is(err, errNotGathered) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reveal request %s: %w", in.Request, err)
	}
	return r, nil
}

func (s *Service) revealOnce(ctx context.Context, in RevealIn, arrived time.Time) (*Request, error) {
	if in.By.Workspace() != in.Workspace || in.By.Local() == "" {
		return nil, refuse(ErrInvalid, wordsNobodyOf(in.By, in.Workspace))
	}
	seen, f, err := s.gatherFor(ctx, in.Workspace, in.Request, in.By, arrived)
	if err != nil {
		return nil, err
	}
	var head *RequestHead
	var refused error
	err = update(ctx, s.store, in.Workspace, func(c *txn) (err error) {
		if head, err = c.request(in.Request); err != nil {
			return err
		}
		if refused = head.mayReveal(f, in.By, c.Now()); refused == nil {
			return c.reveal(head, in)
		}
		if errors.Is(refused, errNotGathered) {
			return nil
		}
		return c.audit(entry{
			Action: AuditRevealRefused, Actor: string(in.By), Run: head.Run, Request: head.ID,
			Data: auditData{Via: in.Via, Why: reason(refused)},
		})
	})
	if err := errors.Join(err, refused); err != nil {
		return nil, err
	}
	whole := *seen
	whole.RequestHead = *head
	whole.Secret, whole.Fields = nil, slices.Clone(seen.Fields)
	for i := range whole.Fields {
		whole.Fields[i].Secret = false
	}
	return &whole, nil
}

// mayReveal returns nil when the person may be shown the secret values of r: they could answer it.
func (r *RequestHead) mayReveal(f *facts, by UserID, now time.Time) error {
	if len(r.Secret) == 0 {
		return refuse(ErrInvalid, wordsNothingSecret)
	}
	if err := r.open(now); err != nil {
		return err
	}
	if r.decidedBy(by) != nil {
		return refuse(ErrConflict, wordsSecretsBefore)
	}
	current, err := look(f.policies, r.ID)
	if err != nil {
		return err
	}
	return f.mayDecide(r, &current, by, now)
}

// reveal records that the person is shown the values.
func (c *txn) reveal(r *RequestHead, in RevealIn) error {
	names, err := json.Marshal(r.Secret)
	if err != nil {
		return fmt.Errorf("names of secret arguments: %w", err)
	}
	if !r.revealedTo(in.By) {
		r.Revelations = append(slices.Clip(r.Revelations), Revelation{in.By, c.Now()})
		c.touched(r)
	}
	return c.audit(entry{
		Action: AuditRequestRevealed, Actor: string(in.By), Run: r.Run, Request: r.ID,
		Data: auditData{Digest: r.Digest, Secret: string(names), Via: in.Via},
	})
}

// revealedTo reports whether the person was shown the secret values.
func (r *RequestHead) revealedTo(u UserID) bool {
	return slices.ContainsFunc(r.Revelations, func(v Revelation) bool { return v.By == u })
}

// RevealFirst reports whether nobody approves r who was not shown its secret values: one of the requirements recorded
// with it is of high risk. The policy of today may demand it too.
func (r *RequestHead) RevealFirst() bool { return r.revealFirst(&r.Requirement) }

func (r *RequestHead) revealFirst(current *Requirement) bool {
	return len(r.Secret) > 0 && slices.ContainsFunc(r.demands(current), func(q *Requirement) bool {
		return q.Risk == RiskHigh
	})
}

// unseen returns ErrInvalid for an answer that has a call of high risk run whose secret values the person was not
// shown.
func (r *RequestHead) unseen(d *Decision, current *Requirement) error {
	if !d.Verdict.starts() || r.revealedTo(d.By) || !r.revealFirst(current) {
		return nil
	}
	return refuse(ErrInvalid, wordsSecretUnseen)
}

// revealedSum stands for the people who were shown secret values, when a request is held against the trail; zero for
// nobody. The order does not count.
func revealedSum(people []UserID) (sum agent.Digest) {
	for _, u := range people {
		combine(&sum, textDigest("revealed to "+string(u)))
	}
	return sum
}

func (r *RequestHead) revealedPeople() []UserID {
	people := make([]UserID, 0, len(r.Revelations))
	for _, v := range r.Revelations {
		people = append(people, v.By)
	}
	return people
}
