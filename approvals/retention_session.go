package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/agent"
)

// Keys of what a sweep puts into the memory of a place. Those of runs begin otherwise.
const (
	seenKey      = "retention/seen"
	forgottenKey = "retention/forgotten"
)

// forgottenText begins the sentence that a model reads where the memory of a place was deleted.
const forgottenText = "Earlier messages of this conversation were deleted"

// deleteSessions deletes the memory of places to which nothing was added since before the instant.
func (s *oldSweep) deleteSessions(ctx context.Context, before time.Time) error {
	for after := (Place{}); ; {
		var page, idle []Place
		err := s.view(ctx, func(tx Tx) (err error) {
			idle = nil
			if page, err = tx.Sessions(s.ws, after, maxPage); err != nil {
				return err
			}
			for _, p := range page {
				at, err := tx.SessionAppended(s.ws, p)
				if err != nil {
					return err
				}
				if at.Before(before) {
					idle = append(idle, p)
				}
			}
			return nil
		})
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1]
		err = each(ctx, s, idle, &s.count.sessions, func(c *txn, p Place) (fate, error) {
			return c.deleteOldSession(p, before, s.rules.Sessions)
		})
		if err != nil {
			return err
		}
	}
}

// deleteOldSession deletes the memory of a place in which no run is under way. A sentence stays that says so, until the
// place is as old again. Memory of which no time is known, because an earlier version wrote it, counts from now on.
func (c *txn) deleteOldSession(p Place, before time.Time, kept time.Duration) (fate, error) {
	at, err := c.SessionAppended(c.ws, p)
	switch {
	case errors.Is(err, ErrNotFound):
		return fateKept, nil
	case err != nil:
		return fateKept, err
	case at.IsZero():
		return fateKept, c.AppendSession(c.ws, p, seenKey, json.RawMessage("[]"))
	case !at.Before(before):
		return fateKept, nil
	}
	switch _, err := c.ActiveRun(c.ws, p); {
	case err == nil:
		return fateKept, nil
	case !errors.Is(err, ErrNotFound):
		return fateKept, err
	}
	chunks, older, err := c.SessionTail(c.ws, p, 0)
	if err != nil {
		return fateKept, err
	}
	if err := c.DeleteSession(c.ws, p); err != nil {
		return fateKept, err
	}
	if older == 0 && len(chunks) == 1 && forgotten(chunks) {
		return fateGone, nil // all that was left: the trail has told of it
	}
	if err := c.leaveWord(p, kept); err != nil {
		return fateKept, err
	}
	return fateGone, c.audit(entry{Action: AuditSessionDeleted, Actor: system, Data: auditData{
		Before: stamp(before), Place: p.Key(), Why: whyRetention,
	}})
}

// leaveWord has the next run of the place know that there was something.
func (c *txn) leaveWord(p Place, kept time.Duration) error {
	chunk, err := json.Marshal([]agent.Item{{
		Type: agent.ItemMessage, Role: agent.RoleDeveloper,
		Text: fmt.Sprintf("%s %s after the last of them. Nothing of them is known.", forgottenText, days(kept)),
	}})
	if err != nil {
		return fmt.Errorf("memory of %s: %w", p.Key(), err)
	}
	return c.AppendSession(c.ws, p, forgottenKey, chunk)
}

// days writes a duration in days where it has whole ones.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == day:
		return "1 day"
	case d%day == 0:
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}

// forgotten reports whether the newest of the chunks says that all before it was deleted: no run has ended since.
func forgotten(chunks []json.RawMessage) bool {
	if len(chunks) == 0 {
		return false
	}
	items, _, err := readChunk(chunks[len(chunks)-1])
	return err == nil && len(items) == 1 && items[0].Role == agent.RoleDeveloper &&
		strings.HasPrefix(items[0].Text, forgottenText)
}

// tellForgotten tells the people of the place, once, that the run begins without its earlier messages.
func (x *execution) tellForgotten(ctx context.Context) error {
	return x.write(ctx, func(c *txn, r *Run) error {
		c.say(r, wordsMessagesDeleted)
		return c.AppendSession(c.ws, r.Place, "retention/told/"+string(r.ID), json.RawMessage("[]"))
	})
}

// deleteEvents forgets the events that were heard of before the instant.
func (s *oldSweep) deleteEvents(ctx context.Context, before time.Time) error {
	for after := ""; ; {
		var page []Event
		err := s.view(ctx, func(tx Tx) (err error) {
			page, err = tx.Events(s.ws, after, auditPage)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1].Key
		var old []string
		for _, e := range page {
			if e.At.Before(before) {
				old = append(old, e.Key)
			}
		}
		err = each(ctx, s, old, &s.count.events, func(c *txn, key string) (fate, error) {
			return fateGone, c.DeleteEvent(c.ws, key)
		})
		if err != nil {
			return err
		}
	}
}
