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
			free, err := c.Once(ws, key, c.Now())
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

// turnLease is how long a turn that was begun belongs to the process that began it.
const turnLease = 2 * time.Minute

// beginTurn is takeTurn for what must be done in the end, also when the process that has taken the turn dies in the
// middle: the turn is another's once turnLease is over, until keepTurn says that it is done. Whoever is slower than
// that does not do it alone.
func beginTurn(ctx context.Context, st Store, ws WorkspaceID, keys ...string) (bool, error) {
	if exclusive(st) {
		return true, nil
	}
	err := update(ctx, st, ws, func(c *txn) error {
		for _, key := range keys {
			if err := c.beginTurn(key); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errTurnTaken) {
		return false, nil
	}
	return err == nil, err
}

// What is recorded of a turn stands behind its key.
const (
	turnBegun = " begun"
	turnKept  = " kept"
)

func (c *txn) beginTurn(key string) error {
	about, err := c.Events(c.ws, key, 2)
	if err != nil {
		return err
	}
	for _, e := range about {
		age := c.Now().Sub(e.At)
		switch {
		case e.Key == key+turnKept:
			return errTurnTaken
		case e.Key != key+turnBegun || c.again: // c.again: it was probably this process's own try
		case -turnLease < age && age < turnLease: // a clock that was ahead holds nobody up for longer
			return errTurnTaken
		default:
			if err := c.DeleteEvent(c.ws, e.Key); err != nil {
				return err
			}
		}
	}
	free, err := c.Once(c.ws, key+turnBegun, c.Now())
	if err == nil && !free && !c.again {
		err = errTurnTaken
	}
	return err
}

// keepTurn records that what the keys name is done.
func keepTurn(ctx context.Context, st Store, ws WorkspaceID, keys ...string) error {
	return endTurn(ctx, st, ws, true, keys)
}

// giveTurn gives back a turn that came to nothing, for whoever is next.
func giveTurn(ctx context.Context, st Store, ws WorkspaceID, keys ...string) error {
	return endTurn(ctx, st, ws, false, keys)
}

func endTurn(ctx context.Context, st Store, ws WorkspaceID, kept bool, keys []string) error {
	if exclusive(st) {
		return nil
	}
	return update(ctx, st, ws, func(c *txn) error {
		for _, key := range keys {
			if kept {
				if _, err := c.Once(ws, key+turnKept, c.Now()); err != nil {
					return err
				}
			}
			if err := c.DeleteEvent(ws, key+turnBegun); err != nil {
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
