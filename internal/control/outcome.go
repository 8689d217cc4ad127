package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/approvals"
)

// ErrOutcomeUnknown is returned by Client.Decide when the bot's answer got lost and the decision is not, or not yet,
// recorded. Deciding again is safe: one person's answer to a request counts once.
var ErrOutcomeUnknown = errors.New("the bot's answer got lost")

// How often and how long the request is read back after an answer got lost. The bot gives a decision up when its client
// is gone, so what is still to be recorded is recorded soon.
const (
	readBackEvery = 100 * time.Millisecond
	readBackFor   = 2 * time.Second
)

// outcome finds out what has become of a decision whose answer got lost. The bot makes its id, so it is known by the
// person and what they said. It is never sent a second time from here.
func (c *Client) outcome(ctx context.Context, d approvals.Decision, lost error) (*approvals.Request, error) {
	if ctx.Err() != nil {
		return nil, interruptedBefore(ctx.Err())
	}
	tick := time.NewTicker(readBackEvery)
	defer tick.Stop()
	for deadline := time.Now().Add(readBackFor); ; {
		r, err := c.Request(ctx, d.Request)
		if err != nil && ctx.Err() != nil {
			return nil, interruptedBefore(ctx.Err())
		}
		if err != nil {
			return nil, fmt.Errorf("%w (%w), and whether the decision is recorded cannot be found out: %w",
				ErrOutcomeUnknown, lost, err)
		}
		if known, err := settled(r, d); known {
			return r, err
		}
		if time.Now().After(deadline) {
			return r, fmt.Errorf("%w, and the decision is not recorded; decide again: %w", ErrOutcomeUnknown, lost)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, interruptedBefore(ctx.Err())
		}
	}
}

// interruptedBefore is the error for somebody who does not wait for what has become of a decision.
func interruptedBefore(err error) error {
	return fmt.Errorf("%w (%w), and whether the decision is recorded is not known; deciding again is safe",
		ErrOutcomeUnknown, err)
}

// fromDesk reports whether a way is one of a desk.
func fromDesk(via string) bool { return via == Via || via == ViaSocket || via == ViaDatabase }

// settled reports whether r says what has become of d: nil when it is recorded, approvals.ErrConflict when it cannot be
// any more.
func settled(r *approvals.Request, d approvals.Decision) (known bool, err error) {
	for _, have := range r.Decisions {
		switch {
		case have.By != d.By:
		case have.Verdict == d.Verdict && have.Reason == d.Reason && fromDesk(have.Via) &&
			slices.Equal(have.Answers, d.Answers) && (d.For == "" || d.For == have.For):
			return true, nil
		default:
			return true, fmt.Errorf("decide request %s: %w: this person has answered: %s", r.ID, approvals.ErrConflict,
				have.Verdict)
		}
	}
	if r.Status != approvals.RequestPending {
		return true, fmt.Errorf("decide request %s: %w: %s", r.ID, approvals.ErrConflict, r.Status)
	}
	return false, nil
}
