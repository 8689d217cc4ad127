package approvals

import (
	"context"
	"errors"
	"fmt"
)

const (
	defaultPage = 20
	maxPage     = 100
	maxScan     = 10_000 // requests that one call of Pending looks at
)

// Pending lists pending requests by id. When there may be more, next is where to go on (PendingQuery.After), else it is
// empty: a page can be short, or empty, and yet not be the last, because one call looks at a bounded number of requests.
// The cost depends on the page and on how many pending requests the viewer may not see, never on how many were decided.
func (s *Service) Pending(ctx context.Context, q PendingQuery) (page []*Request, next RequestID, err error) {
	limit := min(q.Limit, maxPage)
	if limit <= 0 {
		limit = defaultPage
	}
	p := newPeople(s.directory)
	now := clock()
	for scanned := 0; scanned < maxScan; {
		batch, err := s.pendingAfter(ctx, q.Workspace, q.After, limit+1)
		if err != nil {
			return nil, "", fmt.Errorf("pending requests: %w", err)
		}
		for i, r := range batch {
			q.After = r.ID
			visible, err := s.lists(ctx, p, q, r)
			if err != nil {
				return nil, "", fmt.Errorf("pending requests: %w", err)
			}
			if !visible || r.overdue(now) {
				continue
			}
			page = append(page, r)
			if len(page) == limit && i == len(batch)-1 && len(batch) <= limit {
				return page, "", nil
			}
			if len(page) == limit {
				return page, r.ID, nil
			}
		}
		if scanned += len(batch); len(batch) <= limit {
			return page, "", nil
		}
	}
	return page, q.After, nil
}

func (s *Service) pendingAfter(ctx context.Context, ws WorkspaceID, after RequestID, limit int) (batch []*Request, err error) {
	err = s.store.View(ctx, func(tx Tx) error {
		batch, err = tx.PendingRequests(ws, after, limit)
		return err
	})
	return batch, err
}

// lists reports whether the query's viewer sees r in their list.
func (s *Service) lists(ctx context.Context, p *people, q PendingQuery, r *Request) (bool, error) {
	var err error
	switch {
	case q.Viewer == "":
		return true, nil
	case q.Mine && r.Requester == q.Viewer:
		return true, nil
	case q.Mine:
		err = s.mayDecide(ctx, p, r, q.Viewer)
	default:
		err = s.maySee(ctx, p, r, q.Viewer)
	}
	if err == nil || errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrConflict) || errors.Is(err, errPolicy) {
		return err == nil, nil
	}
	return false, err
}
