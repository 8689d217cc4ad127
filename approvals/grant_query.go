package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// GrantView is a grant with how it stands now.
type GrantView struct {
	Grant
	State GrantState `json:"state"`
	// Why says in words why it is inert; empty otherwise.
	Why string `json:"why,omitempty"`
	// Mine says that the viewer gave the grant or may revoke it.
	Mine bool `json:"-"`
}

// Grant returns the grant, or ErrNotFound.
func (s *Service) Grant(ctx context.Context, ws WorkspaceID, id GrantID) (g *Grant, err error) {
	err = s.store.View(ctx, func(tx Tx) error {
		g, err = tx.Grant(ws, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("grant %s: %w", id, err)
	}
	return g, nil
}

// Grants lists the grants of the workspace by id, behind the given one, at most limit, with how they stand: also those
// that nobody can use as people, policies and tools are now. next is where to go on, empty at the end.
func (s *Service) Grants(ctx context.Context, ws WorkspaceID, after GrantID, limit int) (
	page []GrantView, next GrantID, err error,
) {
	all, now, err := grantsOf(ctx, s.store, ws, after, limit)
	if err != nil {
		return nil, "", err
	}
	for _, g := range all {
		page = append(page, s.viewOf(ctx, g, now))
	}
	if len(all) > 0 && len(all) == limit {
		next = all[len(all)-1].ID
	}
	return page, next, nil
}

// viewOf says how the grant stands.
func (s *Service) viewOf(ctx context.Context, g *Grant, now time.Time) GrantView {
	v := GrantView{Grant: *g, State: g.State(now)}
	if v.State == GrantActive {
		if v.Why = s.inert(ctx, g, now); v.Why != "" {
			v.State = GrantInert
		}
	}
	return v
}

// GrantsFor lists the grants of the person's workspace that the person may see: those of a direct conversation are for
// its people alone, others for whoever gave them, could revoke them, or is in the channel where they were given. Nobody
// else learns of them. Those in force come first, inert ones among them, then those that have ended, each from the
// newest on, at most so many in all. However many have ended before, none that is in force is passed over for them;
// more says that there may be others.
func (s *Service) GrantsFor(ctx context.Context, by UserID, most int) (list []GrantView, more bool, err error) {
	var standing, ended []*Grant
	var now time.Time
	for after := GrantID(""); ; {
		var page []*Grant
		if page, now, err = grantsOf(ctx, s.store, by.Workspace(), after, grantsPage); err != nil {
			return nil, false, err
		}
		for _, g := range page {
			if g.State(now) == GrantActive {
				standing = append(standing, g)
			} else {
				ended = append(ended, g)
			}
		}
		if old := len(ended) - most; old > 0 {
			ended, more = slices.Delete(ended, 0, old), true
		}
		if len(page) < grantsPage {
			break
		}
		after = page[len(page)-1].ID
	}
	slices.Reverse(standing)
	slices.Reverse(ended)
	since := time.Now()
	for _, g := range append(standing, ended...) {
		if len(list) == most {
			return list, true, nil
		}
		mine := s.mayRevoke(ctx, g, by, since) == nil
		if mine || s.inPlace(ctx, g, by, since) {
			v := s.viewOf(ctx, g, now)
			v.Mine = mine
			list = append(list, v)
		}
	}
	return list, more, nil
}

// grantsPage is how many grants are read at once.
const grantsPage = 500

// inPlace reports whether the person is a regular member in the channel where the grant was given.
func (s *Service) inPlace(ctx context.Context, g *Grant, by UserID, since time.Time) bool {
	people := newGatherer(s.directory, s.policy, conversation{ws: g.Workspace, place: g.Place}, since)
	if people.isRegular(ctx, by) != nil || g.Place.Direct {
		return false
	}
	in, err := people.inItsChannel(ctx, by)
	return err == nil && in
}

// ListGrants is Service.Grants without policies and people: it never says that a grant is inert.
func ListGrants(ctx context.Context, st Store, ws WorkspaceID, after GrantID, limit int) (
	page []GrantView, next GrantID, err error,
) {
	all, now, err := grantsOf(ctx, st, ws, after, limit)
	for _, g := range all {
		page = append(page, GrantView{Grant: *g, State: g.State(now)})
	}
	if len(all) > 0 && len(all) == limit {
		next = all[len(all)-1].ID
	}
	return page, next, err
}

func grantsOf(ctx context.Context, st Store, ws WorkspaceID, after GrantID, limit int) (
	all []*Grant, now time.Time, err error,
) {
	err = st.View(ctx, func(tx Tx) (err error) {
		all, err = tx.Grants(ws, after, limit)
		now = tx.Now()
		return err
	})
	if err != nil {
		return nil, now, fmt.Errorf("grants: %w", err)
	}
	return all, now, nil
}

// inert says why a grant that is active by its record covers nothing now; empty: as far as can be told without a call,
// it does. Of tools that a server lists nothing is known before it is asked.
func (s *Service) inert(ctx context.Context, g *Grant, now time.Time) string {
	if tool := s.toolOf(g); tool != nil && tool.Digest() != g.Definition {
		return wordsToolHasChanged
	}
	if g.Scope == ScopeRun {
		run, err := s.Run(ctx, g.Workspace, g.Run)
		if errors.Is(err, ErrNotFound) || err == nil && run.Status.Ended() {
			return wordsGrantRunHasEnded
		}
	}
	r, err := s.Request(ctx, g.Workspace, g.Request)
	if errors.Is(err, ErrNotFound) {
		return ""
	}
	if err != nil {
		return wordsRequestUnread
	}
	people := newGatherer(s.directory, s.policy, r.conversation(), noTime)
	_, err = people.upholds(ctx, g, r, now)
	switch {
	case err == nil:
		return ""
	case !errors.Is(err, agent.ErrStale), errors.Is(err, ErrUnavailable):
		return wordsUnsureOfGivers
	}
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return refused.Why
	}
	return wordsGrantCannotBeUsed
}

// toolOf finds the tool of the grant among those that agents have by themselves, or nil.
func (s *Service) toolOf(g *Grant) *agent.Tool {
	c, err := s.agents.Agent(g.Agent)
	if err != nil || c.Agent == nil {
		return nil
	}
	for i := range c.Agent.Tools {
		if t := &c.Agent.Tools[i]; t.Name == g.Tool && t.Wire != agent.WireHosted {
			return t
		}
	}
	return nil
}
