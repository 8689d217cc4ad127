package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// groupObject is what is read of https://docs.slack.dev/reference/objects/usergroup-object.
type groupObject struct {
	ID     string      `json:"id"`
	Handle string      `json:"handle"`
	Users  []string    `json:"users"`
	Count  json.Number `json:"user_count"` // also as text, as in Slack's page about the object
}

// listGroups lists the user groups of the workspace, or of all workspaces of an organisation.
func (c *Client) listGroups(ctx context.Context, id identity, form url.Values) (all []groupObject, err error) {
	teams, err := c.teamsOf(ctx, id)
	for _, team := range teams {
		if err != nil {
			break
		}
		var answer struct {
			Groups []groupObject `json:"usergroups"`
		}
		err = c.ask(ctx, methodGroups, ofTeam(form, team), &answer)
		all = append(all, answer.Groups...)
	}
	return all, unanswered("list user groups", err)
}

// groupUsers lists the people of a group. In an organisation Slack has to be told the group's workspace, which nothing
// says of a group that a policy names: the workspaces are asked one after the other, the one first that had it before.
func (c *Client) groupUsers(ctx context.Context, id identity, group string) ([]string, error) {
	teams, err := c.teamsOf(ctx, id)
	if err != nil {
		return nil, unanswered("list group "+group, err)
	}
	c.mu.Lock()
	if home, known := c.homes[group]; known {
		teams = append([]string{home}, teams...)
	}
	c.mu.Unlock()
	for _, team := range teams {
		var answer struct {
			Users []string `json:"users"`
		}
		err = c.ask(ctx, methodGroupUsers, ofTeam(url.Values{"usergroup": {group}}, team), &answer)
		if err == nil {
			c.mu.Lock()
			c.homes[group] = team
			c.mu.Unlock()
			return answer.Users, nil
		}
		if word, _ := refusal(err); word != "no_such_subteam" {
			break
		}
	}
	return nil, unanswered("list group "+group, err)
}

// ofTeam adds the workspace that a question is about, where Slack has to be told.
func ofTeam(form url.Values, team string) url.Values {
	if team == "" {
		return form
	}
	asked := url.Values{"team_id": {team}}
	for key, values := range form {
		asked[key] = slices.Clone(values)
	}
	return asked
}

// mostTeamPages bounds the pages of the workspaces of an organisation.
const mostTeamPages = 10

// teamsOf returns the workspaces that questions about user groups have to name: those of the organisation that the app
// was approved for, see https://docs.slack.dev/reference/methods/auth.teams.list. An app of one workspace has to name
// none: one empty string.
func (c *Client) teamsOf(ctx context.Context, id identity) ([]string, error) {
	if id.enterprise == "" {
		return []string{""}, nil
	}
	return c.teams.get(ctx, "", time.Time{}, func(ctx context.Context) ([]string, error) {
		var all []string
		form := url.Values{"limit": {"1000"}}
		for range mostTeamPages {
			var page struct {
				Teams []struct {
					ID string `json:"id"`
				} `json:"teams"`
				Metadata struct {
					NextCursor string `json:"next_cursor"`
				} `json:"response_metadata"`
			}
			if err := c.ask(ctx, methodTeams, form, &page); err != nil {
				return nil, fmt.Errorf("list the workspaces of the organisation: %w", err)
			}
			for _, team := range page.Teams {
				all = append(all, team.ID)
			}
			if form.Set("cursor", page.Metadata.NextCursor); page.Metadata.NextCursor != "" {
				continue
			}
			if len(all) == 0 {
				return nil, errors.New("list the workspaces of the organisation: the app is approved for none")
			}
			return all, nil
		}
		return nil, fmt.Errorf("list the workspaces of the organisation: %w", errTooMany)
	})
}
