package bot

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// Person returns who the user is. See approvals.Directory.
func (c *Client) Person(ctx context.Context, u approvals.UserID) (approvals.Person, error) {
	id, err := c.inWorkspace(ctx, u.Workspace())
	if err != nil {
		return approvals.Person{}, err
	}
	if !isUserID(u.Local()) {
		return approvals.Person{}, fmt.Errorf("look up %s: no id of a Slack user: %w", u, approvals.ErrNotFound)
	}
	return c.people.get(ctx, u.Local(), func(ctx context.Context) (approvals.Person, error) {
		user, err := c.api.GetUserInfoContext(ctx, u.Local())
		if word, _ := refusal(err); word == "user_not_found" || word == "user_not_visible" {
			return approvals.Person{}, fmt.Errorf("look up %s: %w", u, approvals.ErrNotFound)
		}
		if err != nil {
			return approvals.Person{}, fmt.Errorf("look up %s: %w", u, err)
		}
		if user.ID != u.Local() {
			return approvals.Person{}, fmt.Errorf("look up %s: Slack answered about somebody else", u)
		}
		why := irregular(user, id)
		return approvals.Person{ID: u, Regular: why == "", Why: why}, nil
	})
}

// irregular says why somebody is not a full, active member of the bot's workspace; empty for members. Slack always says
// of which workspace somebody is; an answer that names none speaks of the one that was asked.
func irregular(u *slack.User, id identity) string {
	switch {
	case u.Deleted:
		return "deactivated"
	case u.IsStranger:
		return "somebody from another organisation"
	case u.IsUltraRestricted:
		return "a guest of one channel"
	case u.IsRestricted:
		return "a guest"
	case u.IsBot, u.IsAppUser, u.IsWorkflowBot, u.IsConnectorBot, u.ID == "USLACKBOT":
		return "a bot"
	case u.IsInvitedUser:
		return "invited, but not yet a member"
	case id.enterprise != "" && u.Enterprise.EnterpriseID != id.enterprise:
		return "a member of another organisation"
	case id.enterprise == "" && cmp.Or(u.TeamID, u.Profile.Team, id.team) != id.team && !slices.Contains(u.Enterprise.Teams, id.team):
		return "a member of another workspace"
	}
	return ""
}

// Members returns the people of a user group. See approvals.Directory.
func (c *Client) Members(ctx context.Context, ws approvals.WorkspaceID, group string) ([]approvals.UserID, error) {
	if _, err := c.inWorkspace(ctx, ws); err != nil {
		return nil, err
	}
	users, err := c.groups.get(ctx, group, func(ctx context.Context) ([]string, error) {
		users, err := c.api.GetUserGroupMembersContext(ctx, group)
		if word, _ := refusal(err); word == "no_such_subteam" {
			return nil, fmt.Errorf("list group %s: %w", group, approvals.ErrNotFound)
		}
		if err != nil {
			return nil, fmt.Errorf("list group %s: %w", group, err)
		}
		return users, nil
	})
	return userIDs(ws, users), err
}

// ChannelMembers returns the people in a channel. See approvals.Directory.
func (c *Client) ChannelMembers(ctx context.Context, ws approvals.WorkspaceID, channel string) ([]approvals.UserID, error) {
	if _, err := c.inWorkspace(ctx, ws); err != nil {
		return nil, err
	}
	users, err := c.members.get(ctx, channel, func(ctx context.Context) ([]string, error) { return c.listMembers(ctx, channel) })
	return userIDs(ws, users), err
}

// listMembers pages through a channel. One that is larger than we are ready to read has no answer, rather than a part
// of one.
func (c *Client) listMembers(ctx context.Context, channel string) ([]string, error) {
	const mostPages = 100
	params := &slack.GetUsersInConversationParameters{ChannelID: channel, Limit: 1000}
	var all []string
	for range mostPages {
		page, next, err := c.api.GetUsersInConversationContext(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list members of %s: %w", channel, err)
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		params.Cursor = next
	}
	return nil, fmt.Errorf("list members of %s: more than %d pages", channel, mostPages)
}

// inWorkspace refuses questions about other workspaces.
func (c *Client) inWorkspace(ctx context.Context, ws approvals.WorkspaceID) (identity, error) {
	id, err := c.identify(ctx)
	if err != nil {
		return identity{}, err
	}
	if ws != id.workspace {
		return identity{}, fmt.Errorf("workspace %q is not the bot's: %w", ws, approvals.ErrNotFound)
	}
	return id, nil
}

func userIDs(ws approvals.WorkspaceID, users []string) []approvals.UserID {
	out := make([]approvals.UserID, len(users))
	for i, u := range users {
		out[i] = approvals.NewUserID(ws, u)
	}
	return out
}
