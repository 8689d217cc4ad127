package lineage

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Set marks everything that this process starts from now on. An error says that it could not: living descendants are
// recognised all the same, orphans are not. The Mark is usable in any case.
func Set() (*Mark, error) {
	m := &Mark{pid: os.Getpid()}
	var err error
	if m.found, err = hardLimit(m.pid); err != nil {
		return m, fmt.Errorf("mark what tools start: %w", err)
	}
	mark, err := lowered(m.found)
	if err == nil {
		err = lower(mark)
	}
	if err != nil {
		return m, fmt.Errorf("mark what tools start: lower the limit of file locks: %w", err)
	}
	if have, err := hardLimit(m.pid); err != nil || have != mark {
		return m, fmt.Errorf("mark what tools start: the limit of file locks is %d, not %d: %w", have, mark, err)
	}
	return m, nil
}

// lower sets the hard limit, and the soft one where it would be higher.
func lower(limit uint64) error {
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &have); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: min(have.Cur, limit), Max: limit})
}

// CheckSelf returns an error that wraps ErrDescendant when this process may have been started by a tool. Without a bot
// to compare with, any limit counts as a mark, also an administrator's.
func CheckSelf() error {
	limit, err := hardLimit(os.Getpid())
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	case limit == unlimited:
		return nil
	case isMark(limit):
		return descendant(limitIsLowered)
	}
	return fmt.Errorf("%w: its limit of file locks is %d, and an operator is known by having none (prlimit --locks); "+
		"start the bot, which compares with its own", ErrUnknown, limit)
}
