package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// HistoryQuery selects requests that wait no longer, for a viewer.
type HistoryQuery struct {
	Workspace WorkspaceID
	// Viewer sees only what they asked for, may or could decide, or whose channel they are in.
	Viewer UserID
	// Mine leaves out what the viewer neither asked for nor answered.
	Mine  bool
	After RequestID // continue behind this one: with older requests
	Limit int       // at most; 20 when zero, 100 at most
}

// HistoryPage is a part of the history.
type HistoryPage struct {
	Requests []*RequestHead // without what they ask about
	// Next is where to go on (HistoryQuery.After) when there may be more, else empty: a page can be short, or empty,
	// and yet not be the last, because one call looks at a bounded number of requests.
	Next RequestID
	// Unjudged is how many requests were left out because it cannot be found out now whether the viewer may see them.
	Unjudged int
}

// History lists requests that wait no longer, the newest first. The cost is bounded, however many there are.
func (s *Service) History(ctx context.Context, q HistoryQuery) (HistoryPage, error) {
	h := &past{
		people: &listing{service: s, people: map[Place]*gatherer{}}, query: q, limit: min(q.Limit, maxPage),
	}
	if h.limit <= 0 {
		h.limit = defaultPage
	}
	if err := h.collect(ctx); err != nil {
		return HistoryPage{}, fmt.Errorf("history of requests: %w", err)
	}
	return h.page, nil
}

// past is one call of History. people keeps what is known of the people of conversations.
type past struct {
	people *listing
	query  HistoryQuery
	limit  int
	page   HistoryPage
}

// looksOfStore is how many requests a store is taken to have looked at for a page that is not full.
const looksOfStore = 1000

// collect fills the page.
func (h *past) collect(ctx context.Context) error {
	q := RequestQuery{
		Workspace: h.query.Workspace, Settled: true, Newest: true, After: h.query.After, Limit: h.limit + 1,
	}
	if h.query.Mine {
		q.Person = h.query.Viewer
	}
	for scanned := 0; scanned < maxScan; {
		heads, next, now, err := h.read(ctx, q)
		if err != nil {
			return err
		}
		for i, r := range heads {
			if err := h.consider(ctx, r, now); err != nil {
				return err
			}
			if len(h.page.Requests) == h.limit {
				if i < len(heads)-1 || next != "" {
					h.page.Next = r.ID
				}
				return nil
			}
		}
		if next == "" {
			return nil
		}
		q.After = next
		if scanned += len(heads); len(heads) < q.Limit {
			scanned += looksOfStore - len(heads)
		}
		q.Limit = maxPage
	}
	h.page.Next = q.After
	return nil
}

func (h *past) read(ctx context.Context, q RequestQuery) (
	heads []*RequestHead, next RequestID, now time.Time, err error,
) {
	err = h.people.service.store.View(WithOneRead(ctx, true), func(tx Tx) error {
		heads, next, err = tx.QueryRequests(q)
		now = tx.Now()
		return err
	})
	return heads, next, now, err
}

// consider adds the request to the page when the viewer may see it. What cannot be judged is counted.
func (h *past) consider(ctx context.Context, r *RequestHead, now time.Time) error {
	err := h.people.gatherer(r).maySee(ctx, r, h.query.Viewer, now)
	switch {
	case err == nil:
		h.page.Requests = append(h.page.Requests, r)
	case errors.Is(err, ErrUnavailable):
		h.page.Unjudged++
	case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrConflict):
	default:
		return err
	}
	return ctx.Err()
}
