package control

import (
	"errors"

	"countersign/approvals"
)

// codes are the facts that survive the way through the socket, by their name there.
var codes = map[string]error{
	"not_found":    approvals.ErrNotFound,
	"conflict":     approvals.ErrConflict,
	"unauthorized": approvals.ErrUnauthorized,
	"unavailable":  approvals.ErrUnavailable,
	"expired":      approvals.ErrExpired,
	"stale":        approvals.ErrStale,
	"invalid":      approvals.ErrInvalid,
	"limit":        approvals.ErrLimit,
	"ended":        approvals.ErrEnded,
	"retried":      approvals.ErrRetried,
	"no_operator":  ErrNoOperator,
}

// failure is an error on its way through the socket.
type failure struct {
	Code    string                `json:"code,omitempty"`
	Message string                `json:"message"`
	Audit   *approvals.AuditError `json:"audit,omitempty"`
}

func newFailure(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Message: err.Error()}
	for code, target := range codes {
		if errors.Is(err, target) {
			f.Code = code
		}
	}
	if broken, ok := errors.AsType[*approvals.AuditError](err); ok {
		f.Audit = broken
	}
	return f
}

// err returns the error that was sent, or nil.
func (f *failure) err() error {
	switch {
	case f == nil:
		return nil
	case f.Audit != nil:
		return &remoteError{f.Message, f.Audit}
	}
	return &remoteError{f.Message, codes[f.Code]}
}

// remoteError has the text of an error of the bot and is the fact that it was.
type remoteError struct {
	message string
	fact    error
}

func (e *remoteError) Error() string { return e.message }

func (e *remoteError) Unwrap() error { return e.fact }
