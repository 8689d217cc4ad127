package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// The server's codes that are told apart.
const (
	codeDivisionByZero = "22012"
	codeSerialization  = "40001"
	codeDeadlock       = "40P01"
	codeUnique         = "23505"
	codeCheck          = "23514"
	codeStaleStatement = "26000"
	codeFeature        = "0A000" // also: a cached plan must not change its result type
	codeCancelled      = "57014"
	codeProtocol       = "08P01" // a pooler: unsupported startup parameter
	codeReadOnly       = "25006"
	codeLocked         = "55P03" // others have locked it for longer than lock_timeout
	codeNoSetting      = "42704" // of a session
	codeBadSetting     = "22023"
)

// isCode reports whether the server has refused something with the code.
func isCode(err error, code string) bool {
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refusal.Code == code
}

// again says whether, and for how long, a transaction that was not committed is tried again.
type again int

const (
	never     again = iota
	patiently       // others were in the way: until the caller's context ends
	briefly         // the server was: it may be back soon
)

// outage is how long a server may be away before callers are told.
const outage = 10 * time.Second

// classify says whether a transaction that ended with err, and is not committed, is tried again.
func classify(err error) again {
	if err == nil {
		return never
	}
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if lost(err) || errors.Is(err, errKeysChanged) {
			return briefly
		}
		return never
	}
	switch refusal.Code {
	case codeSerialization, codeDeadlock, codeUnique:
		// Whether a row is there is asked by the statements that insert it, so that only somebody who committed in the
		// meantime can make a key be taken.
		return patiently
	case codeStaleStatement, codeFeature,
		"57P01", "57P02", "57P03", "57P05", // it stops, has crashed, starts; the connection was idle for too long
		"53300",               // too many connections
		"25P03", codeReadOnly: // the transaction stood still for too long; the server takes no writes any more
		return briefly
	}
	if refusal.Code[:2] == "08" { // of the connection
		return briefly
	}
	return never
}

// lost reports whether err says that the connection was lost, or could not be made.
func lost(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return !errors.Is(err, ErrAsync) && !errors.Is(err, ErrPooler) && !isCode(err, codeProtocol)
	}
	return pgconn.SafeToRetry(err) || errors.Is(err, errBroken)
}

// errBroken marks an error after which the connection was closed.
var errBroken = errors.New("connection to PostgreSQL lost")

// attempts counts how often something was tried, and waits in between.
type attempts struct {
	n     int
	since time.Time // of the first of those that failed because the server was away
}

// wait waits before the next attempt; false when there is to be none. The pause grows, and is never the same for two
// who stand in each other's way.
func (a *attempts) wait(ctx context.Context, why again) bool {
	switch why {
	case never:
		return false
	case briefly:
		if a.since.IsZero() {
			a.since = time.Now()
		}
		if time.Since(a.since) > outage {
			return false
		}
	case patiently:
		a.since = time.Time{}
	}
	a.n++
	longest := time.Millisecond << min(a.n, 7)
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(longest))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// explain adds what to do to an error of the server.
func explain(err error) error {
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok && failed.Config != nil {
		return explainConnect(failed, err)
	}
	switch {
	case isCode(err, codeCancelled):
		return fmt.Errorf("%w: a statement took longer than statement_timeout allows, or an operator cancelled it", err)
	case isCode(err, codeProtocol):
		return fmt.Errorf("%w: %w", ErrPooler, err)
	case isCode(err, "53300"):
		return fmt.Errorf("%w: %s", err, moreConnections)
	case isCode(err, "42501"):
		return fmt.Errorf("%w: docs/postgresql.md lists what the role needs", err)
	case isCode(err, "53100"):
		return fmt.Errorf("%w: the database server's disk is full; nothing was changed", err)
	}
	return err
}
