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

// Person returns who the user is. See approvals.Directory.
func (c *Client) Person(ctx context.Context, u approvals.UserID, since time.Time) (approvals.Person, error) {
	id, err := c.inWorkspace(ctx, u.Workspace())
	if err != nil {
		return approvals.Person{}, err
	}
	if !isUserID(u.Local()) {
		return approvals.Person{}, fmt.Errorf("look up %s: no id of a Slack user: %w", u, approvals.ErrNotFound)
	}
	c.learnPeople(ctx, id, u.Local(), since)
	return c.people.get(ctx, u.Local(), since, func(ctx context.Context) (approvals.Person, error) {
		var answer struct {
			User userObject `json:"user"`
		}
		c.personCalls.note()
		if err := c.ask(ctx, methodUserInfo, url.Values{"user": {u.Local()}}, &answer); err != nil {
			return approvals.Person{}, unanswered("look up "+string(u), err)
		}
		if answer.User.ID != u.Local() {
			return approvals.Person{}, fmt.Errorf("look up %s: Slack answered about somebody else", u)
		}
		return answer.User.person(id), nil
	})
}

// person is what is remembered of the user.
func (u *userObject) person(id identity) approvals.Person {
	why := irregular(u, id)
	return approvals.Person{ID: approvals.NewUserID(id.workspace, u.ID), Regular: why == "", Why: why, Name: nameOf(u)}
}

// irregular says why somebody is not a full, active member of the bot's workspace; empty for members. Slack always says
// of which workspace somebody is; an answer that names none speaks of the one that was asked.
func irregular(u *userObject, id identity) string {
	switch {
	case u.Deleted:
		return wordsDeactivated
	case u.IsStranger:
		return wordsStranger
	case u.IsUltraRestricted:
		return wordsGuestOfOne
	case u.IsRestricted:
		return wordsGuest
	case u.IsBot, u.IsWorkflowBot, u.IsConnectorBot, u.ID == "USLACKBOT":
		// is_app_user is no such sign: it says of people that they have authorised the app.
		return wordsBot
	case u.IsInvitedUser:
		return wordsInvited
	case id.enterprise != "" && u.Enterprise.EnterpriseID != id.enterprise:
		return wordsOtherOrganisation
	case id.enterprise == "" && cmp.Or(u.TeamID, u.Profile.Team, id.team) != id.team &&
		!slices.Contains(u.Enterprise.Teams, id.team):
		return wordsOtherWorkspace
	}
	return ""
}

// Members returns the people of a user group. See approvals.Directory.
func (c *Client) Members(
	ctx context.Context, ws approvals.WorkspaceID, group string, since time.Time,
) ([]approvals.UserID, error) {
	id, err := c.inWorkspace(ctx, ws)
	if err != nil {
		return nil, err
	}
	users, err := c.groups.get(ctx, group, since, func(ctx context.Context) ([]string, error) {
		return c.groupUsers(ctx, id, group)
	})
	return userIDs(ws, users), err
}

// ask puts a question of the directory to Slack: see call and limits. It is not slack-go's, which takes an answer that
// says neither "ok" nor an error for an empty list.
func (c *Client) ask(ctx context.Context, method string, form url.Values, out any) error {
	return c.limits.call(ctx, method, func() error {
		_, err := c.call(ctx, method, c.token, form, out)
		return err
	})
}

// unanswered says what a failed question was about. The words of Slack that mean that there is no such person, group or
// conversation, or that the bot cannot see it, become ErrNotFound; anything else leaves the question open. What each
// method may say stands on its page below https://docs.slack.dev/reference/methods/.
func unanswered(what string, err error) error {
	if err == nil {
		return nil
	}
	switch word, _ := refusal(err); word {
	case "user_not_found", "user_not_visible", // users.info
		// usergroups.users.list; the other methods of user groups say the second
		"no_such_subteam", "subteam_not_found",
		"channel_not_found", "not_in_channel": // conversations.members
		return fmt.Errorf("%s: %w: %w", what, approvals.ErrNotFound, err)
	}
	return fmt.Errorf("%s: %w", what, err)
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
