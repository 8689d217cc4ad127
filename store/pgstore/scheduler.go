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

type scheduling struct{}

func (scheduling) Enqueue(...approvals.Job) error { return errors.ErrUnsupported }

func (scheduling) DeleteJob(approvals.WorkspaceID, approvals.JobKind, string) error {
	return errors.ErrUnsupported
}
