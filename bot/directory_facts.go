package bot

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"countersign/approvals"
)

// userObject is what is read of a user object, which is asked for at every click: slack-go's type takes several times
// as long to decode. See https://docs.slack.dev/reference/objects/user-object.
type userObject struct {
	ID       string `json:"id"`
	TeamID   string `json:"team_id"`
	RealName string `json:"real_name"`
	Profile  struct {
		DisplayName string `json:"display_name"`
		RealName    string `json:"real_name"`
		Team        string `json:"team"`
	} `json:"profile"`
	Enterprise struct {
		EnterpriseID string   `json:"enterprise_id"`
		Teams        []string `json:"teams"`
	} `json:"enterprise_user"`

	Deleted           bool `json:"deleted"`
	IsBot             bool `json:"is_bot"`
	IsRestricted      bool `json:"is_restricted"`
	IsUltraRestricted bool `json:"is_ultra_restricted"`
	IsStranger        bool `json:"is_stranger"`
	IsConnectorBot    bool `json:"is_connector_bot"`
	IsWorkflowBot     bool `json:"is_workflow_bot"`
	IsInvitedUser     bool `json:"is_invited_user"`
}

// nameOf is what Slack shows people as: the display name that they have chosen, or their full name.
func nameOf(u *userObject) string {
	return cmp.Or(u.Profile.DisplayName, u.Profile.RealName, u.RealName)
}

// GroupsOf returns the user groups that the person is in. See approvals.Directory. Slack has no method for one person:
// usergroups.list tells of all groups at once who is in them, without those that are switched off. See
// https://docs.slack.dev/reference/methods/usergroups.list.
func (c *Client) GroupsOf(ctx context.Context, u approvals.UserID, since time.Time) ([]string, error) {
	who, err := c.inWorkspace(ctx, u.Workspace())
	if err != nil {
		return nil, err
	}
	groups, err := c.groupsOf.get(ctx, "", since, func(ctx context.Context) (map[string][]string, error) {
		all, err := c.listGroups(ctx, who, url.Values{"include_users": {"true"}})
		if err != nil {
			return nil, err
		}
		of := make(map[string][]string)
		for _, g := range all {
			if n, err := g.Count.Int64(); err == nil && n > int64(len(g.Users)) {
				return nil, fmt.Errorf("list user groups: %s has %d people, and Slack names %d", g.ID, n, len(g.Users))
			}
			for _, id := range g.Users {
				if !slices.Contains(of[id], g.ID) { // a group may be in several workspaces
					of[id] = append(of[id], g.ID)
				}
			}
		}
		return of, nil
	})
	return groups[u.Local()], err
}

// channelObject is what is read of https://docs.slack.dev/reference/objects/conversation-object.
type channelObject struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Private   bool   `json:"is_private"`
	Shared    bool   `json:"is_shared"`
	External  *bool  `json:"is_ext_shared"`
	Org       bool   `json:"is_org_shared"`
	PendingEx bool   `json:"is_pending_ext_shared"`
}

func (ch channelObject) channel() approvals.Channel {
	external := ch.PendingEx || ch.External != nil && *ch.External
	return approvals.Channel{
		Name: ch.Name, Private: ch.Private, Shared: ch.Shared || ch.Org || external,
		External: external || ch.Shared && !ch.Org,
	}
}

// groupName is the handle of a user group, for where a mention would call its people; "a group" when it is not known.
func (c *Client) groupName(ctx context.Context, id string) string {
	if id == "" {
		return ""
	}
	handles, err := c.handles.get(ctx, "", time.Time{}, func(ctx context.Context) (map[string]string, error) {
		who, err := c.identify(ctx)
		if err != nil {
			return nil, err
		}
		all, err := c.listGroups(ctx, who, url.Values{})
		if err != nil {
			return nil, err
		}
		of := make(map[string]string, len(all))
		for _, g := range all {
			of[g.ID] = g.Handle
		}
		return of, nil
	})
	if err != nil || handles[id] == "" {
		return wordsAGroup
	}
	return "@" + label(handles[id], 80)
}
