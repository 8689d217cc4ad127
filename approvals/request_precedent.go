package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// mostPrecedents is how many approved requests about a tool are looked at for one that a viewer may see.
const mostPrecedents = 20

// Precedent is the call of a tool that people approved last before another one is asked about, and how the two differ.
type Precedent struct {
	Request *RequestHead
	// Changes are from that call's arguments to the other one's, in the order of the schema. Secret values are masked.
	Changes []Change
	// Parts names what differs of the tool itself: its description, version, binding; empty where nothing is known to.
	Parts []string
}

// Precedent returns the call of the tool of r that people approved last before it, in any run, as far as the viewer may
// see that; nil where none of the newest twenty is theirs to see. The cost is bounded, however many there are.
func (s *Service) Precedent(ctx context.Context, r *Request, viewer UserID) (*Precedent, error) {
	h := &past{people: &listing{service: s, people: map[Place]*gatherer{}}, query: HistoryQuery{Viewer: viewer}}
	heads, _, now, err := h.read(ctx, RequestQuery{
		Workspace: r.Workspace, Tool: r.Tool.Name, Status: RequestApproved, Newest: true, After: r.ID,
		Limit: mostPrecedents,
	})
	if err != nil {
		return nil, fmt.Errorf("precedent of %s: %w", r.ID, err)
	}
	for _, head := range heads {
		if head.Kind != r.Kind || head.Tool.Kind != r.Tool.Kind {
			continue
		}
		switch err := h.people.gatherer(head).maySee(ctx, head, viewer, now); {
		case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrConflict), errors.Is(err, ErrUnavailable):
			continue
		case err != nil:
			return nil, err
		}
		before, err := s.Recorded(ctx, head.Workspace, head.ID)
		if errors.Is(err, ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		return r.comparedWith(before), nil
	}
	return nil, nil
}

// comparedWith says how r differs from an earlier call of the tool. A value that is secret in either stays masked.
func (r *Request) comparedWith(before *Request) *Precedent {
	p := &Precedent{Request: &before.RequestHead}
	was, is := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if json.Unmarshal(before.Arguments, &was) != nil || json.Unmarshal(r.Arguments, &is) != nil {
		return p
	}
	secret := slices.Concat(r.Secret, before.Secret)
	shown := func(arguments json.RawMessage) (masked map[string]json.RawMessage) {
		m := Request{RequestContent: RequestContent{Arguments: arguments}}
		m.Secret = secret
		_ = json.Unmarshal(m.Mask().Arguments, &masked) // which an object stays
		return masked
	}
	maskedWas, maskedIs := shown(before.Arguments), shown(r.Arguments)
	names := slices.Collect(maps.Keys(was))
	for name := range is {
		if _, both := was[name]; !both {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, r.byOrder)
	for _, name := range names {
		if !bytes.Equal(was[name], is[name]) {
			p.Changes = append(p.Changes, Change{name, maskedWas[name], maskedIs[name], slices.Contains(secret, name)})
		}
	}
	for _, part := range []struct {
		name    string
		differs bool
	}{
		{"its description", before.Tool.Description != r.Tool.Description},
		{"its version", before.Tool.Version != r.Tool.Version},
		{"what it is bound to", !slices.Equal(before.Tool.Binding, r.Tool.Binding)},
		{"what it takes", !bytes.Equal(compact(before.Schema), compact(r.Schema))},
	} {
		if part.differs {
			p.Parts = append(p.Parts, part.name)
		}
	}
	if len(p.Parts) == 0 && before.Definition != r.Definition {
		p.Parts = []string{"its definition"}
	}
	return p
}
