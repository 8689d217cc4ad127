package pgstore

import (
	"context"
	"errors"

	"countersign/approvals"
)

// Dispatch is not there yet.
func (s *Store) Dispatch(context.Context, func(context.Context, approvals.Job) error) error {
	return errors.ErrUnsupported
}
