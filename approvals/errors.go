package approvals

import "errors"

// Facts a caller may branch on, with errors.Is. A Refusal has one of them, and says why.
var (
	// ErrNotFound is returned when no such record exists in the workspace.
	ErrNotFound = errors.New("not found")
	// ErrConflict is returned when a request was settled before, or the person has answered before. The request that
	// comes with it says who decided what.
	ErrConflict = errors.New("already decided")
	// ErrUnauthorized is returned when the person may not do this.
	ErrUnauthorized = errors.New("not authorized")
	// ErrUnavailable is returned when it cannot be found out whether the person may do this. Trying again may help.
	ErrUnavailable = errors.New("authorization unavailable")
	// ErrExpired is returned when the time for an answer has passed.
	ErrExpired = errors.New("expired")
	// ErrStale is returned when what was shown is not what the request holds, or the request has become stale.
	ErrStale = errors.New("stale")
	// ErrInvalid is returned when the call itself is unusable; the Refusal says why.
	ErrInvalid = errors.New("invalid")
	// ErrLimit is returned when a person or channel has too much under way.
	ErrLimit = errors.New("limit reached")
	// ErrEnded is returned when a run has ended already.
	ErrEnded = errors.New("run has ended")
	// ErrRetried is returned when the input of a run was submitted once more already. The Refusal says as which run.
	ErrRetried = errors.New("started again before")
	// ErrFenced is returned when a write carries an epoch that is not the run's: somebody else has claimed it.
	ErrFenced = errors.New("fenced")
	// ErrUndeliverable is wrapped by a Notifier when no attempt can succeed.
	ErrUndeliverable = errors.New("undeliverable")
	// ErrUnreachable comes with ErrUndeliverable when it is the place, or the person, to which nothing can be
	// delivered: another notification would not arrive there either.
	ErrUnreachable = errors.New("nobody is reached there")
	// ErrCommitUnknown is returned by a store's Update that cannot tell whether it was committed. Reading again tells.
	ErrCommitUnknown = errors.New("it is not known whether the transaction was committed")
	// ErrNewer is returned for what a newer version of the program has written in a way that this one cannot read.
	// Nothing is lost: the newer one can.
	ErrNewer = errors.New("written by a newer version of this program")
	// ErrClosed is returned by a store that has been closed.
	ErrClosed = errors.New("store is closed")
)
