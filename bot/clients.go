package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/approvals"
)

// ErrNotInstalled is returned for a workspace in which the app is not installed, or not any more.
var ErrNotInstalled = errors.New("the app is not installed in this workspace")

// Clients has a Client for each workspace in which the app is installed. It is an approvals.Directory that asks each
// workspace with its own token about its own people, and safe for concurrent use.
type Clients struct {
	cfg ClientConfig

	mu sync.RWMutex
	of map[approvals.WorkspaceID]*Client
}

var _ approvals.Directory = (*Clients)(nil)

// NewClients returns the clients of these installations, but for those that have ended. ClientConfig.Token is not used.
func NewClients(cfg ClientConfig, all []*approvals.Installation) (*Clients, error) {
	cs := &Clients{cfg: cfg.withDefaults(), of: map[approvals.WorkspaceID]*Client{}}
	for _, i := range all {
		if !i.Live() {
			continue
		}
		c, err := cs.make(i)
		if err != nil {
			return nil, err
		}
		cs.of[i.Workspace] = c
	}
	return cs, nil
}

// make returns a client with the token of the installation.
func (cs *Clients) make(i *approvals.Installation) (*Client, error) {
	cfg := cs.cfg
	cfg.Token = i.Token.Reveal()
	if cfg.Logger != nil {
		cfg.Logger = cfg.Logger.With("workspace", i.Workspace)
	}
	c, err := NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("installation in %s: %w", i.Workspace, err)
	}
	c.holder = "the installation in " + string(i.Workspace)
	return c, nil
}

// Workspaces lists those in which the app is installed.
func (cs *Clients) Workspaces() []approvals.WorkspaceID {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	var all []approvals.WorkspaceID
	for ws := range cs.of {
		all = append(all, ws)
	}
	slices.Sort(all)
	return all
}

// client returns the client of the workspace, or ErrNotInstalled.
func (cs *Clients) client(ws approvals.WorkspaceID) (*Client, error) {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	if c := cs.of[ws]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%s: %w", ws, ErrNotInstalled)
}

// put makes c the client of the workspace; nil: there is none from now on.
func (cs *Clients) put(ws approvals.WorkspaceID, c *Client) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c == nil {
		delete(cs.of, ws)
		return
	}
	cs.of[ws] = c
}

// Person is part of approvals.Directory, as are the methods that follow.
func (cs *Clients) Person(ctx context.Context, u approvals.UserID, since time.Time) (approvals.Person, error) {
	c, err := cs.client(u.Workspace())
	if err != nil {
		return approvals.Person{}, err
	}
	return c.Person(ctx, u, since)
}

// Members returns the people of a user group.
func (cs *Clients) Members(
	ctx context.Context, ws approvals.WorkspaceID, group string, since time.Time,
) ([]approvals.UserID, error) {
	c, err := cs.client(ws)
	if err != nil {
		return nil, err
	}
	return c.Members(ctx, ws, group, since)
}

// ChannelMembers returns the people in a channel.
func (cs *Clients) ChannelMembers(
	ctx context.Context, ws approvals.WorkspaceID, channel string,
) ([]approvals.UserID, error) {
	c, err := cs.client(ws)
	if err != nil {
		return nil, err
	}
	return c.ChannelMembers(ctx, ws, channel)
}

// InChannel reports whether the person is in the channel.
func (cs *Clients) InChannel(
	ctx context.Context, ws approvals.WorkspaceID, channel string, u approvals.UserID, since time.Time,
) (bool, error) {
	c, err := cs.client(ws)
	if err != nil {
		return false, err
	}
	return c.InChannel(ctx, ws, channel, u, since)
}

// GroupsOf returns the user groups that the person is in.
func (cs *Clients) GroupsOf(ctx context.Context, u approvals.UserID, since time.Time) ([]string, error) {
	c, err := cs.client(u.Workspace())
	if err != nil {
		return nil, err
	}
	return c.GroupsOf(ctx, u, since)
}

// Channel returns what a channel is.
func (cs *Clients) Channel(
	ctx context.Context, ws approvals.WorkspaceID, channel string, since time.Time,
) (approvals.Channel, error) {
	c, err := cs.client(ws)
	if err != nil {
		return approvals.Channel{}, err
	}
	return c.Channel(ctx, ws, channel, since)
}
