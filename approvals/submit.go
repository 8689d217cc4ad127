package approvals

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"countersign/internal/fault"
)

const (
	maxText  = 100 << 10 // bytes of a submission's text
	maxQueue = 50        // messages that wait for the run of their place
)

// Submit records a mention and queues its run. While a run of the place is under way the text waits for its end.
// Errors: ErrInvalid, ErrUnauthorized for people who may not start runs, ErrUnavailable when that cannot be found out
// (nothing is recorded then, so that the event may be delivered again), ErrLimit.
func (s *Service) Submit(ctx context.Context, in Submission) (Receipt, error) {
	if err := s.check(in); err != nil {
		return Receipt{}, fmt.Errorf("submit: %w", err)
	}
	refusal := s.mayStart(ctx, in)
	if refusal != nil && !errors.Is(refusal, ErrUnauthorized) {
		return Receipt{}, fmt.Errorf("submit: %w", refusal)
	}
	fault.Point("event.before_store")
	var receipt Receipt
	var refused error
	err := update(ctx, s.store, in.Workspace, func(c *change) error {
		receipt, refused = Receipt{}, refusal
		fresh, err := c.fresh(in.Keys)
		if err != nil {
			return err
		}
		if !fresh {
			receipt.Outcome, refused = SubmitDuplicate, nil
			return nil
		}
		if refused == nil {
			receipt, refused, err = s.admit(c, in)
		}
		if err != nil || refused == nil {
			return err
		}
		return c.audit(entry{Action: AuditRunRefused, Actor: string(in.Requester), Facts: map[string]any{"why": reason(refused)}})
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("submit: %w", err)
	}
	fault.Point("event.after_store")
	return receipt, nil
}

func (s *Service) check(in Submission) error {
	switch {
	case in.Workspace == "" || in.Requester.Workspace() != in.Workspace || in.Requester.Local() == "":
		return fmt.Errorf("%w: requester %q of workspace %q", ErrInvalid, in.Requester, in.Workspace)
	case len(in.Keys) == 0:
		return fmt.Errorf("%w: no event keys", ErrInvalid)
	case in.Place.Surface == "" || in.Place.Channel == "" || in.Place.Thread == "":
		return fmt.Errorf("%w: incomplete place", ErrInvalid)
	case strings.TrimSpace(in.Text) == "":
		return fmt.Errorf("%w: no text", ErrInvalid)
	case len(in.Text) > maxText:
		return fmt.Errorf("%w: text of %d bytes, at most %d", ErrInvalid, len(in.Text), maxText)
	case !utf8.ValidString(in.Text):
		return fmt.Errorf("%w: text is not UTF-8", ErrInvalid)
	}
	if _, err := s.agents.Agent(in.Agent); err != nil {
		return fmt.Errorf("%w: agent %q: %w", ErrInvalid, in.Agent, err)
	}
	return nil
}

// mayStart says whether the requester may start runs in the place.
func (s *Service) mayStart(ctx context.Context, in Submission) error {
	p := newPeople(s.directory)
	if err := p.regular(ctx, in.Workspace, in.Requester); err != nil {
		return err
	}
	at := conversation{ws: in.Workspace, place: in.Place, requester: in.Requester}
	ok, err := p.in(ctx, s.requesters, at, in.Requester)
	switch {
	case err != nil:
		return err
	case ok:
		return nil
	case (Requirement{Approvers: s.requesters}).onlyChannel():
		return fmt.Errorf("%w: only members of this channel may ask here", ErrUnauthorized)
	}
	return fmt.Errorf("%w: not among the people who may ask here", ErrUnauthorized)
}

// fresh records all keys of an event and reports whether none was seen before.
func (c *change) fresh(keys []string) (bool, error) {
	fresh := true
	for _, key := range keys {
		isNew, err := c.Once(c.ws, key, c.now)
		if err != nil {
			return false, err
		}
		fresh = fresh && isNew
	}
	return fresh, nil
}

// admit queues the text behind the run of the place, or starts a run. refused is ErrLimit.
func (s *Service) admit(c *change, in Submission) (receipt Receipt, refused, err error) {
	active, err := c.ActiveRun(in.Workspace, in.Place)
	if err == nil {
		return c.wait(active, in)
	}
	if !errors.Is(err, ErrNotFound) {
		return Receipt{}, nil, err
	}
	if refused, err := s.limits.check(c, in); refused != nil || err != nil {
		return Receipt{}, refused, err
	}
	r := &Run{
		Workspace: in.Workspace, ID: RunID(c.newID("run_")), Place: in.Place, Agent: in.Agent,
		Requester: in.Requester, Input: in.Text, Created: c.now,
	}
	return Receipt{Run: r.ID, Outcome: SubmitStarted}, nil, c.start(r, map[string]any{"agent": in.Agent})
}

// start puts a new run and wakes it.
func (c *change) start(r *Run, facts map[string]any) error {
	if err := c.moveRun(r, RunQueued, string(r.Requester), facts); err != nil {
		return err
	}
	if err := c.putRun(r); err != nil {
		return err
	}
	return c.wake(r)
}

// wait puts the text behind the run that is under way.
func (c *change) wait(active *Run, in Submission) (receipt Receipt, refused, err error) {
	if len(active.Queue) >= maxQueue {
		return Receipt{}, fmt.Errorf("%w: %d messages wait here already", ErrLimit, maxQueue), nil
	}
	active.Queue = append(active.Queue, QueuedInput{By: in.Requester, Text: in.Text, At: c.now, Message: in.Message})
	if err := c.audit(entry{Action: AuditInputQueued, Actor: string(in.Requester), Run: active.ID}); err != nil {
		return Receipt{}, nil, err
	}
	return Receipt{Run: active.ID, Outcome: SubmitQueued}, nil, c.putRun(active)
}

// check returns ErrLimit as refused when the person or the channel has too much under way.
func (l Limits) check(c *change, in Submission) (refused, err error) {
	for _, bound := range []struct {
		max       int
		requester UserID
		channel   string
		what      string
	}{
		{l.RunsPerPerson, in.Requester, "", "per person"},
		{l.RunsPerChannel, "", in.Place.Channel, "in one channel"},
	} {
		if bound.max == 0 {
			continue
		}
		n, err := c.ActiveRuns(in.Workspace, bound.requester, bound.channel)
		if err != nil {
			return nil, err
		}
		if n >= bound.max {
			return fmt.Errorf("%w: %d runs %s at a time", ErrLimit, bound.max, bound.what), nil
		}
	}
	return nil, nil
}
