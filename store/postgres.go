package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"countersign/approvals"
	"countersign/store/pgstore"
)

// isPostgres reports whether a URL names a PostgreSQL database.
func isPostgres(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	return strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql")
}

func openPostgres(ctx context.Context, url string, cfg Config) (approvals.Store, error) {
	s, err := pgstore.Open(ctx, url, pgstore.Config{
		Logger: cfg.Logger, Workers: cfg.Workers, ReadOnly: cfg.ReadOnly, Keys: cfg.Keys,
	})
	if err != nil {
		return nil, postgresError(err) // never a typed nil
	}
	return s, nil
}

func postgresError(err error) error {
	switch {
	case errors.Is(err, pgstore.ErrURL):
		return fmt.Errorf("%w: %w", ErrURL, err)
	case errors.Is(err, pgstore.ErrAway):
		return err
	case refusedForGood(err), errors.Is(err, pgstore.ErrAsync), errors.Is(err, pgstore.ErrPooler),
		errors.Is(err, pgstore.ErrTLS):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// refusedForGood reports whether the server has answered that it lets nobody in with that URL.
func refusedForGood(err error) bool {
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	const authorization = "28" // the class: wrong password, no such role, no line for it in pg_hba.conf
	const noDatabase, noPrivilege, noSetting, badSetting = "3D000", "42501", "42704", "22023"
	return strings.HasPrefix(refusal.Code, authorization) ||
		slices.Contains([]string{noDatabase, noPrivilege, noSetting, badSetting}, refusal.Code)
}

// Waits reports whether an error of Open may be gone a little later, with nobody doing anything: the server of a
// database starts, or cannot be reached.
func Waits(err error) bool {
	if err == nil || errors.Is(err, ErrRefused) {
		return false
	}
	if errors.Is(err, pgstore.ErrAway) {
		return true
	}
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		const connection, resources, operator = "08", "53", "57" // classes: the server is starting up, for instance
		switch refusal.Code[:2] {
		case connection, resources, operator:
			return true
		}
		return false
	}
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	return unconnected || errors.Is(err, pgstore.ErrStandby)
}

// ErrDamagedRecord says of a record in a database that it is not what was written.
var ErrDamagedRecord = pgstore.ErrDamaged

// Stats are the numbers of a store in a database; see pgstore.Stats.
type Stats = pgstore.Stats

// Errors of Open about a database server that may take writes later: it is a standby, or set to take none.
var (
	ErrStandby       = pgstore.ErrStandby
	ErrTakesNoWrites = pgstore.ErrTakesNoWrites
)

// ErrNoSchema is returned by Examine where the schema is not there and cannot be made.
var ErrNoSchema = pgstore.ErrNoSchema

// Examination is what Examine has found in a PostgreSQL database.
type Examination = pgstore.Examination

// Examine looks at the database that url names, and changes nothing: see pgstore.Examine. A store that is no database
// gives ErrUnsupported.
func Examine(ctx context.Context, url string) (*Examination, error) {
	if !isPostgres(url) {
		return nil, fmt.Errorf("%w: only a database can be examined", ErrUnsupported)
	}
	e, err := pgstore.Examine(ctx, url)
	switch {
	case errors.Is(err, pgstore.ErrNoSchema), errors.Is(err, pgstore.ErrNoRight), errors.Is(err, pgstore.ErrNotOwner):
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil:
		return nil, postgresError(err)
	}
	return e, nil
}
