package lineage

import (
	"errors"
	"fmt"
)

var (
	// ErrDescendant is wrapped by the error about a process that a tool has started.
	ErrDescendant = errors.New("this process was started by a tool of the bot")
	// ErrUnknown is wrapped when it cannot be told where a process comes from.
	ErrUnknown = errors.New("it cannot be told what has started this process")
)

// descendant says what shows that it is one, and what an operator does instead.
func descendant(why string) error {
	return fmt.Errorf("%w (%s); use a shell that is not one of the bot's tools", ErrDescendant, why)
}

const limitIsLowered = "its limit of file locks is lowered"

// unlimited is the limit of a process that no bot has started, unless the administrator has set another one.
const unlimited = ^uint64(0)

// highest is the limit that the bot gives itself where it has found none. It fits the width of limits on this machine.
// A bot that finds it, or one a little lower, was started by a tool of another bot.
const highest = ^uint(0)/4 + 1

// nested bounds how many bots may descend from each other.
const nested = 1 << 16

// lowered is the mark of a bot that has found the limit.
func lowered(found uint64) (uint64, error) {
	switch found {
	case unlimited:
		return uint64(highest), nil
	case 0:
		return 0, errors.New("it is zero")
	}
	return found - 1, nil
}

// isMark reports whether a limit is one that a bot has given itself, and not one of an administrator.
func isMark(limit uint64) bool {
	return limit <= uint64(highest) && limit > uint64(highest)-nested
}

// Mark is what one start of the bot knows about the processes that descend from it.
type Mark struct {
	pid   int
	found uint64 // the hard limit before it was lowered; zero when it cannot be read
}

// Inherited reports whether this bot was itself started by a tool of another one. Nobody is an operator of it.
func (m *Mark) Inherited() bool { return isMark(m.found) }

// judge says what the facts about a process mean: nil for an operator's.
func (m *Mark) judge(limit uint64, ancestors []int) error {
	switch {
	case m.Inherited():
		return descendant("the bot itself was started by a tool of another bot")
	case limit < m.found, isMark(limit):
		return descendant(limitIsLowered)
	}
	for _, pid := range ancestors {
		if pid == m.pid {
			return descendant("the bot is among its ancestors")
		}
	}
	return nil
}
