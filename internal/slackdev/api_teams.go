package slackdev

// authTeamsList is https://docs.slack.dev/reference/methods/auth.teams.list: the workspaces that an app of a whole
// organisation has been approved for.
func (w *Workspace) authTeamsList(a args) (reply, error) {
	all := []any{}
	for _, id := range w.teams() {
		all = append(all, map[string]any{"id": id, "name": id})
	}
	page, next, err := paginate(all, a, 1000)
	if err != nil {
		return nil, err
	}
	return reply{"teams": page, "next_cursor": next}, nil
}

// teams are the ids of the workspaces in which the app is.
func (w *Workspace) teams() []string { return append([]string{w.cfg.Team.ID}, w.cfg.Workspaces...) }

// needTeam asks for team_id where the app is installed in a whole organisation: "required if org token is used", say
// the pages of users.list, users.conversations, conversations.list, usergroups.list and usergroups.users.list, for
// instance https://docs.slack.dev/reference/methods/usergroups.users.list. The word for its absence is the one that
// https://github.com/lyft/omnibot/pull/44 was made for.
func (w *Workspace) needTeam(a args) error {
	if w.cfg.OrgInstall && a.str("team_id") == "" {
		return fail("missing_argument")
	}
	return nil
}

// teamFor is the workspace that a call is about. Apps of one workspace need not say.
func (w *Workspace) teamFor(a args) string {
	if id := a.str("team_id"); w.cfg.OrgInstall {
		return id
	}
	return w.cfg.Team.ID
}

func (w *Workspace) teamOfGroup(g UserGroup) string {
	if g.TeamID != "" {
		return g.TeamID
	}
	return w.cfg.Team.ID
}
