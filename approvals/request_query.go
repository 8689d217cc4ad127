package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	defaultPage = 20
	maxPage     = 100
	maxScan     = 10_000 // requests that one call of Pending looks at
)

// PendingPage is a part of the list of pending requests.
type PendingPage struct {
	Requests []*Request
	// Next is where to go on (PendingQuery.After) when there may be more, else empty: a page can be short, or empty,
	// and yet not be the last, because one call looks at a bounded number of requests.
	Next RequestID
	// Unjudged is how many requests were left out because it cannot be found out now whether the viewer may see them,
	// or decide them.
	Unjudged int
}

// Pending lists pending requests by id. The cost depends on the page and on how many pending requests the viewer may
// not see, never on how many were decided.
func (s *Service) Pending(ctx context.Context, q PendingQuery) (PendingPage, error) {
	l := &listing{service: s, query: q, limit: min(q.Limit, maxPage), people: map[Place]*gatherer{}}
	if l.limit <= 0 {
		l.limit = defaultPage
	}
	if err := l.collect(ctx); err != nil {
		return PendingPage{}, fmt.Errorf("pending requests: %w", err)
	}
	return l.page, nil
}

// listing is one call of Pending.
type listing struct {
	service *Service
	query   PendingQuery
	limit   int
	people  map[Place]*gatherer // by conversation
	page    PendingPage
}

// collect fills the page. Requests are read together, as many as the page has room for.
func (l *listing) collect(ctx context.Context) error {
	after, most := l.query.After, l.limit+1
	for scanned := 0; scanned < maxScan; {
		heads, next, now, err := l.heads(ctx, after, most)
		if err != nil {
			return err
		}
		scanned, most = scanned+max(len(heads), 1), maxPage
		for left := heads; len(left) > 0; {
			var some []*RequestHead
			if some, left, err = l.choose(ctx, left, now); err != nil {
				return err
			}
			if err := l.add(ctx, some, now); err != nil {
				return err
			}
			if len(l.page.Requests) < l.limit {
				continue
			}
			if len(left) > 0 || next != "" {
				l.page.Next = l.page.Requests[l.limit-1].ID
			}
			return nil
		}
		if after = next; next == "" {
			return nil
		}
	}
	l.page.Next = after
	return nil
}

// heads reads the next pending requests, without what they ask about.
func (l *listing) heads(
	ctx context.Context, after RequestID, most int,
) (heads []*RequestHead, next RequestID, now time.Time, err error) {
	err = l.service.store.View(WithOneRead(ctx, true), func(tx Tx) error {
		heads, next, err = tx.QueryRequests(RequestQuery{
			Workspace: l.query.Workspace, Status: RequestPending, After: after, Limit: most,
		})
		now = tx.Now()
		return err
	})
	return heads, next, now, err
}

// choose takes from heads as many requests as the page still has room for, of those that the viewer is to see by what
// can be said without their contents. left are the heads behind them.
func (l *listing) choose(
	ctx context.Context, heads []*RequestHead, now time.Time,
) (some, left []*RequestHead, err error) {
	for i, r := range heads {
		if len(l.page.Requests)+len(some) == l.limit {
			return some, heads[i:], nil
		}
		if r.overdue(now) {
			continue
		}
		listed, err := l.judged(l.mayList(ctx, r, now))
		if err != nil {
			return nil, nil, err
		}
		if listed {
			some = append(some, r)
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	return some, nil, nil
}

// add reads the requests and adds to the page those that wait still and that the viewer is to see.
func (l *listing) add(ctx context.Context, heads []*RequestHead, now time.Time) error {
	ids := make([]RequestID, len(heads))
	for i, r := range heads {
		ids[i] = r.ID
	}
	whole, err := l.service.Requests(ctx, l.query.Workspace, ids)
	if err != nil {
		return err
	}
	for _, r := range whole {
		listed := r.Status == RequestPending
		if listed && l.query.Viewer != "" && l.query.Mine && r.Requester != l.query.Viewer {
			if listed, err = l.judged(l.mayDecide(ctx, r, now)); err != nil {
				return err
			}
		}
		if listed {
			l.page.Requests = append(l.page.Requests, r)
		}
	}
	return ctx.Err()
}

// judged reports whether a request is to be listed of which err says whether the viewer may see it, or decide it. Where
// that cannot be found out the request is counted.
func (l *listing) judged(err error) (listed bool, failed error) {
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrUnavailable) && !errors.Is(err, errPolicy):
		l.page.Unjudged++
	case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound),
		errors.Is(err, errPolicy):
	default:
		return false, err
	}
	return false, nil
}

// gatherer returns what is known of the people of a conversation.
func (l *listing) gatherer(r *RequestHead) *gatherer {
	key := r.Place
	key.Thread = "" // one conversation of people for all threads
	g := l.people[key]
	if g == nil {
		g = newGatherer(l.service.directory, l.service.policy, r.conversation(), noTime)
		l.people[key] = g
	}
	if g.at.requester != r.Requester {
		g.told = PolicyFacts{} // of somebody else
	}
	g.at = r.conversation()
	return g
}

// mayList applies what can be said without the content of the request.
func (l *listing) mayList(ctx context.Context, r *RequestHead, now time.Time) error {
	u := l.query.Viewer
	switch {
	case u == "":
		return nil
	case r.Requester == u:
		return l.gatherer(r).isRegular(ctx, u)
	case l.query.Mine && r.decidedBy(u) != nil:
		return refuse(ErrConflict, wordsAnswered(u.Local()))
	case l.query.Mine:
		g := l.gatherer(r)
		g.asOf(now).rights(ctx, []UserID{u}, r.demands(&r.Requirement)...)
		return g.mayDecide(r, &r.Requirement, u, now)
	}
	return l.gatherer(r).maySee(ctx, r, u, now)
}

// mayDecide asks the policy of today, which may depend on what the request asks about.
func (l *listing) mayDecide(ctx context.Context, r *Request, now time.Time) error {
	g := l.gatherer(&r.RequestHead)
	current, err := g.demand(ctx, r)
	if err != nil {
		return err
	}
	g.asOf(now).rights(ctx, []UserID{l.query.Viewer}, &r.Requirement, &current)
	return g.mayDecide(&r.RequestHead, &current, l.query.Viewer, now)
}

// isRegular returns ErrUnauthorized unless u is a full, active member of the workspace.
func (g *gatherer) isRegular(ctx context.Context, u UserID) error {
	if u.Workspace() == g.at.ws {
		g.person(ctx, u)
	}
	return g.regular(u)
}

// maySee says whether u may see what r holds: its requester, the people of its channel, and who may decide it. Seeing
// is not deciding: the requirement recorded with r says who may.
func (g *gatherer) maySee(ctx context.Context, r *RequestHead, u UserID, now time.Time) error {
	if u.Workspace() == g.at.ws {
		g.askUntilKnown(ctx, func(open openQuestions) {
			if who := open.person(u); u != r.Requester && (who == nil || who.Regular) {
				open.channelOf(u)
			}
		})
	}
	if err := g.regular(u); err != nil || u == r.Requester {
		return err
	}
	var unknown error
	if !g.at.place.Direct {
		member, err := g.inItsChannel(ctx, u)
		if member {
			return nil
		}
		unknown = err
	}
	g.asOf(now).rights(ctx, []UserID{u}, &r.Requirement)
	if err := g.mayDecide(r, &r.Requirement, u, now); err == nil || unknown == nil {
		return err
	}
	return unknown
}

// MayDecide says whether u could answer r now, without a word for whom: nil, ErrUnauthorized with the reason in words,
// ErrUnavailable when that cannot be found out, ErrConflict when r takes no answers or has one of u.
func (s *Service) MayDecide(ctx context.Context, r *Request, u UserID) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	if err := r.open(now); err != nil {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	if r.decidedBy(u) != nil {
		return refuse(ErrConflict, wordsAnswered(u.Local()))
	}
	g := newGatherer(s.directory, s.policy, r.conversation(), noTime).asOf(now)
	current, err := g.demand(ctx, r)
	if err != nil {
		return err
	}
	g.rights(ctx, []UserID{u}, r.demands(&current)...)
	_, err = g.stands(&r.RequestHead, &current, &Decision{By: u}, now)
	return err
}

// MaySee says whether u may see the content of r: nil for the requester, the people of the channel and those who may
// decide it; else ErrUnauthorized, or ErrUnavailable when that cannot be found out.
func (s *Service) MaySee(ctx context.Context, r *Request, u UserID) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	g := newGatherer(s.directory, s.policy, r.conversation(), noTime)
	if err := g.maySee(ctx, &r.RequestHead, u, now); err == nil || errors.Is(err, ErrUnavailable) {
		return err
	}
	current, err := g.demand(ctx, r)
	if err != nil {
		current = r.Requirement // a failing policy hides nothing from those it was shown to
	}
	g.rights(ctx, []UserID{u}, &current)
	today := r.RequestHead
	today.Requirement = current
	return g.mayDecide(&today, &current, u, now)
}

// now returns the store's time.
func (s *Service) now(ctx context.Context) (now time.Time, err error) {
	if t, ok := s.store.(Timed); ok {
		return t.Now(), nil
	}
	err = s.store.View(ctx, func(tx Tx) error {
		now = tx.Now()
		return nil
	})
	return now, err
}
