package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"countersign/approvals"
)

// DeadLetter is a notification that was given up, without what it says.
type DeadLetter struct {
	ID        approvals.NotificationID   `json:"id"`
	Workspace approvals.WorkspaceID      `json:"workspace"`
	Kind      approvals.NotificationKind `json:"kind"`
	Created   time.Time                  `json:"created"`
	Since     time.Time                  `json:"since"` // when it was given up
	Why       string                     `json:"why"`
	Run       approvals.RunID            `json:"run"`
	Request   approvals.RequestID        `json:"request"`
	Place     approvals.Place            `json:"place"`
	Copy      approvals.Copy             `json:"copy"`
}

func newDeadLetter(n *approvals.Notification) *DeadLetter {
	return &DeadLetter{
		ID: n.ID, Workspace: n.Workspace, Kind: n.Kind, Created: n.Created, Since: n.Dead, Why: n.Why, Run: n.Run,
		Request: n.Request, Place: n.Place, Copy: n.Copy,
	}
}

// CursorAtLetter returns the place behind the dead letter.
func CursorAtLetter(d *DeadLetter) Cursor { return Cursor{d.Workspace, string(d.ID)} }

// DeadLetters is part of Desk.
func (l *Local) DeadLetters(ctx context.Context, after Cursor, limit int) (
	page []*DeadLetter, more bool, err error,
) {
	read := func(ws approvals.WorkspaceID, behind string, limit int) (found []*DeadLetter, next string, err error) {
		limit = min(limit, letterPage)
		letters, err := approvals.DeadLetters(ctx, l.Store, ws, approvals.NotificationID(behind), limit)
		for _, n := range letters {
			found = append(found, newDeadLetter(n))
		}
		if len(letters) == limit {
			next = string(letters[limit-1].ID)
		}
		return found, next, err
	}
	return readPage(ctx, l.Store, after, limit, read)
}

// letterPage is how many dead letters are read at once: as many as approvals.DeadLetters gives.
const letterPage = 100

// Replay is part of Desk.
func (l *Local) Replay(ctx context.Context, ids ...approvals.NotificationID) (
	replayed []approvals.NotificationID, err error,
) {
	byWorkspace, err := l.find(ctx, ids)
	if err != nil {
		return nil, err
	}
	for ws, found := range byWorkspace {
		if _, err := approvals.Replay(ctx, l.Store, ws, found...); err != nil {
			return replayed, err
		}
		replayed = append(replayed, found...)
	}
	return replayed, nil
}

// find returns those of the ids that are dead letters.
func (l *Local) find(ctx context.Context, ids []approvals.NotificationID) (
	found map[approvals.WorkspaceID][]approvals.NotificationID, err error,
) {
	found = make(map[approvals.WorkspaceID][]approvals.NotificationID)
	var cursor Cursor
	for more := true; more; {
		var page []*DeadLetter
		if page, more, err = l.DeadLetters(ctx, cursor, maxPage); err != nil {
			return nil, fmt.Errorf("look for dead letters: %w", err)
		}
		for _, d := range page {
			if cursor = CursorAtLetter(d); slices.Contains(ids, d.ID) {
				found[d.Workspace] = append(found[d.Workspace], d.ID)
			}
		}
	}
	return found, nil
}
