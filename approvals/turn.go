package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errTurnTaken rolls a turn back that somebody else has taken.
var errTurnTaken = errors.New("another process does it")

// takeTurn reports whether it is this process that does what the keys name, for workspace ws: of several processes on
// one store exactly one is told so, unless the store cannot say what it has committed. All keys have to be free. Where
// this process alone works on the store it always is. The keys are forgotten as those of events are.
func takeTurn(ctx context.Context, st Store, ws WorkspaceID, keys ...string) (bool, error) {
	if exclusive(st) {
		return true, nil
	}
	err := update(ctx, st, ws, func(c *txn) error {
		for _, key := range keys {
			free, err := c.Once(ws, key, c.now)
			switch {
			case err != nil:
				return err
			case !free && !c.again: // else it was probably this process's own try that was committed
				return errTurnTaken
			}
		}
		return nil
	})
	if errors.Is(err, errTurnTaken) {
		return false, nil
	}
	return err == nil, err
}

// giveTurn gives back a turn that came to nothing, for whoever is next.
func giveTurn(ctx context.Context, st Store, ws WorkspaceID, keys ...string) error {
	if exclusive(st) {
		return nil
	}
	return update(ctx, st, ws, func(c *txn) error {
		for _, key := range keys {
			if err := c.DeleteEvent(ws, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// turnOf is the key of what is done once in every period of a length, for the period that the instant is in.
func turnOf(what string, at time.Time, every time.Duration) string {
	return fmt.Sprintf("turn %s %d", what, at.UnixNano()/int64(max(every, 1)))
}
