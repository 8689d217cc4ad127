package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ShowAgain has the messages brought up to date that show what waits in a channel: who reads them there has changed.
func (s *Service) ShowAgain(ctx context.Context, ws WorkspaceID, channel string) error {
	query := RequestQuery{Workspace: ws, Status: RequestPending, Channel: channel, Limit: maxPage}
	for {
		var next RequestID
		err := update(ctx, s.store, ws, func(c *txn) error {
			page, more, err := c.QueryRequests(query)
			if err != nil {
				return err
			}
			for _, r := range page {
				c.show(c.keepRequest(r))
			}
			for _, n := range c.dirty.notes {
				n.Anew = true
			}
			next = more
			return nil
		})
		if err != nil {
			return fmt.Errorf("show what waits in %s again: %w", channel, err)
		}
		if next == "" {
			return nil
		}
		query.After = next
	}
}

// ShownAtHome notes that a page that u alone sees lists the requests: it is a copy of each that waits, and is brought
// up to date with them.
func (s *Service) ShownAtHome(ctx context.Context, u UserID, ids ...RequestID) error {
	copyOf := Copy(copyHome + u.Local())
	err := update(ctx, s.store, u.Workspace(), func(c *txn) error {
		for _, id := range ids {
			r, err := c.request(id)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if r.Status != RequestPending { // since the page was made
				c.showCopy(r, copyOf, c.Now())
			} else if len(r.Called.Copies) < mostCopies && !slices.Contains(r.Called.Copies, copyOf) {
				r.Called.Copies = append(r.Called.Copies, copyOf)
				c.touched(r)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("note what %s was shown: %w", u, err)
	}
	return nil
}
