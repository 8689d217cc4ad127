package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/agent"
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

// collect fills the page.
func (l *listing) collect(ctx context.Context) error {
	after := l.query.After
	for scanned := 0; scanned < maxScan; {
		heads, next, now, err := l.heads(ctx, after)
		if err != nil {
			return err
		}
		for i, r := range heads {
			if err := l.consider(ctx, r, now); err != nil {
				return err
			}
			if len(l.page.Requests) == l.limit {
				if i < len(heads)-1 || next != "" {
					l.page.Next = r.ID
				}
				return nil
			}
		}
		if next == "" {
			return nil
		}
		scanned += max(len(heads), 1)
		after = next
	}
	l.page.Next = after
	return nil
}

// heads reads the next pending requests, without what they ask about.
func (l *listing) heads(
	ctx context.Context, after RequestID,
) (heads []*RequestHead, next RequestID, now time.Time, err error) {
	err = l.service.store.View(ctx, func(tx Tx) error {
		heads, next, err = tx.QueryRequests(RequestQuery{
			Workspace: l.query.Workspace, Status: RequestPending, After: after, Limit: maxPage,
		})
		now = tx.Now()
		return err
	})
	return heads, next, now, err
}

// consider adds the request to the page when the viewer is to see it. What cannot be judged is counted.
func (l *listing) consider(ctx context.Context, head *RequestHead, now time.Time) error {
	if head.overdue(now) {
		return nil
	}
	err := l.mayList(ctx, head, now)
	var r *Request
	if err == nil {
		r, err = l.service.Request(ctx, head.Workspace, head.ID)
	}
	if err == nil && l.query.Viewer != "" && l.query.Mine && head.Requester != l.query.Viewer {
		err = l.mayDecide(ctx, r, now)
	}
	switch {
	case err == nil:
		l.page.Requests = append(l.page.Requests, r)
	case errors.Is(err, ErrUnavailable) && !errors.Is(err, errPolicy):
		l.page.Unjudged++
	case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound),
		errors.Is(err, errPolicy):
	default:
		return err
	}
	return ctx.Err()
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

// MayDecide says whether u could answer r now: nil, ErrUnauthorized with the reason in words, ErrUnavailable when that
// cannot be found out, ErrConflict when r takes no answers or has one of u.
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
	return g.mayDecide(&r.RequestHead, &current, u, now)
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

// neighbours fills in which other waiting requests a standing answer to r would settle, and which a batch may answer
// with it.
func (r *Request) neighbours(tx Tx) error {
	all, err := tx.RequestsOfRun(r.Workspace, r.Run)
	if err != nil {
		return err
	}
	r.Covers, r.Beside = nil, nil
	for _, o := range all {
		if o.ID != r.ID && o.Status == RequestPending && o.yesOrNo() && r.yesOrNo() {
			r.Beside = append(r.Beside, o.ID)
		}
	}
	ids := r.siblings(all)
	if len(ids) == 0 || len(r.Requirement.Always) == 0 {
		return nil
	}
	others, err := tx.Requests(r.Workspace, ids)
	for _, o := range others {
		r.Covers = append(r.Covers, Covered{o.ID, o.Shown()})
	}
	return err
}

// yesOrNo reports whether r asks for no more than yes or no and is, as its policy was then, of no high risk.
func (r *RequestHead) yesOrNo() bool {
	return r.Kind == agent.Confirm && r.Requirement.Risk != RiskHigh
}
