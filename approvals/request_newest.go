package approvals

import (
	"context"
	"fmt"
)

// NewestPending returns the newest pending requests of the workspace, the newest first and limit at most, as they are
// recorded. It is for a process that looks for what others have asked; whom they concern is for the caller to find out.
func (s *Service) NewestPending(ctx context.Context, ws WorkspaceID, limit int) (page []*Request, err error) {
	err = s.store.View(ctx, func(tx Tx) error {
		heads, _, err := tx.QueryRequests(RequestQuery{
			Workspace: ws, Status: RequestPending, Newest: true, Limit: min(limit, maxPage),
		})
		if err != nil {
			return err
		}
		ids := make([]RequestID, len(heads))
		for i, r := range heads {
			ids[i] = r.ID
		}
		page, err = tx.Requests(ws, ids)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("newest requests: %w", err)
	}
	return page, nil
}
