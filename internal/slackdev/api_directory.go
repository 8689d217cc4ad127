package slackdev

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

func (w *Workspace) usersInfo(a args) (reply, error) {
	if err := a.required("user"); err != nil {
		return nil, err
	}
	id := a.str("user")
	if id == w.cfg.App.BotUserID {
		return reply{"user": w.botUser()}, nil
	}
	u, ok := w.users[id]
	if !ok {
		return nil, fail("user_not_found")
	}
	return reply{"user": w.userObject(u)}, nil
}

func (w *Workspace) usersList(a args) (reply, error) {
	if err := w.needTeam(a); err != nil {
		return nil, err
	}
	all := []any{w.botUser()}
	for _, id := range w.order {
		all = append(all, w.userObject(w.users[id]))
	}
	page, next, err := paginate(all, a, 1000)
	if err != nil {
		return nil, err
	}
	return reply{"members": page, "next_cursor": next, "cache_ts": eventTime()}, nil
}

func (w *Workspace) usersLookupByEmail(a args) (reply, error) {
	for _, id := range w.order {
		if u := w.users[id]; !u.Deleted && strings.EqualFold(u.Email, a.str("email")) {
			return reply{"user": w.userObject(u)}, nil
		}
	}
	return nil, fail("users_not_found")
}

func (w *Workspace) usergroupsList(a args) (reply, error) {
	if err := w.needTeam(a); err != nil {
		return nil, err
	}
	if !slices.Contains(w.teams(), w.teamFor(a)) {
		return nil, fail("invalid_team")
	}
	out := []any{}
	for _, g := range w.groups {
		if g.Disabled && !a.flag("include_disabled", false) || w.teamOfGroup(g) != w.teamFor(a) {
			continue
		}
		group := map[string]any{
			"id": g.ID, "team_id": w.teamOfGroup(g), "is_usergroup": true, "name": g.Name, "handle": g.Handle,
			"description": "", "is_external": false, "date_create": 0, "date_update": 0, "date_delete": 0,
			"auto_type": nil, "created_by": w.cfg.App.BotUserID, "updated_by": w.cfg.App.BotUserID, "deleted_by": nil,
			"prefs": map[string]any{"channels": []string{}, "groups": []string{}}, "user_count": len(g.Users),
		}
		if a.flag("include_users", false) {
			group["users"] = nonNil(g.Users)
		}
		out = append(out, group)
	}
	return reply{"usergroups": out}, nil
}

func (w *Workspace) usergroupsUsersList(a args) (reply, error) {
	if err := a.required("usergroup"); err != nil {
		return nil, err
	}
	if err := w.needTeam(a); err != nil {
		return nil, err
	}
	for _, g := range w.groups {
		if g.ID == a.str("usergroup") && (!g.Disabled || a.flag("include_disabled", false)) &&
			w.teamOfGroup(g) == w.teamFor(a) {
			return reply{"users": nonNil(g.Users)}, nil
		}
	}
	return nil, fail("no_such_subteam")
}

// userObject is a person as the API shows them.
func (w *Workspace) userObject(u *User) map[string]any {
	profile := map[string]any{
		"real_name": u.RealName, "display_name": u.Name, "real_name_normalized": u.RealName,
		"display_name_normalized": u.Name, "team": u.TeamID, "status_text": "", "title": "",
	}
	if w.needScope("users:read.email") == nil && !u.Stranger {
		profile["email"] = u.Email
	}
	out := map[string]any{
		"id": u.ID, "team_id": u.TeamID, "name": u.Name, "real_name": u.RealName, "deleted": u.Deleted,
		"tz": u.TZ, "tz_label": u.TZ, "tz_offset": 0, "profile": profile, "color": "9f69e7",
		"is_bot": u.Bot || u.WorkflowBot, "is_app_user": u.Authorized, "updated": 0,
	}
	if u.WorkflowBot {
		out["is_workflow_bot"] = true
	}
	if u.Stranger {
		out["is_stranger"] = true
	}
	if u.Deleted || u.Stranger {
		return out
	}
	out["is_admin"], out["is_owner"], out["is_primary_owner"] = u.Admin, false, false
	out["is_restricted"] = u.Guest || u.UltraRestricted
	out["is_ultra_restricted"] = u.UltraRestricted
	return out
}

func (w *Workspace) botUser() map[string]any {
	return map[string]any{
		"id": w.cfg.App.BotUserID, "team_id": w.cfg.Team.ID, "name": w.cfg.App.Name, "real_name": w.cfg.App.Name,
		"deleted": false, "is_bot": true, "is_app_user": false, "is_admin": false, "is_owner": false,
		"is_restricted": false, "is_ultra_restricted": false, "tz": "America/Los_Angeles", "updated": 0,
		"profile": map[string]any{
			"real_name": w.cfg.App.Name, "display_name": w.cfg.App.Name, "team": w.cfg.Team.ID,
			"bot_id": w.cfg.App.BotID, "api_app_id": w.cfg.App.ID, "always_active": true,
		},
	}
}

// paginate cuts the page that cursor and limit ask for out of all.
func paginate(all []any, a args, maximum int) (page []any, next string, err error) {
	start := 0
	if cursor := a.str("cursor"); cursor != "" {
		raw, err := base64.StdEncoding.DecodeString(cursor)
		offset, isCursor := strings.CutPrefix(string(raw), "next:")
		start, _ = strconv.Atoi(offset)
		if err != nil || !isCursor || start <= 0 || start > len(all) {
			return nil, "", fail("invalid_cursor")
		}
	}
	limit := a.number("limit", 0)
	if limit <= 0 || limit > maximum {
		limit = min(maximum, 100)
	}
	end := min(len(all), start+limit)
	if limit > 1 && end < len(all) {
		// A page may be shorter than was asked for although it is not the last, says the page of every method that
		// takes a cursor, for instance https://docs.slack.dev/reference/methods/conversations.members.
		end--
	}
	if end < len(all) {
		next = base64.StdEncoding.EncodeToString([]byte("next:" + strconv.Itoa(end)))
	}
	return slices.Concat([]any{}, all[start:end]), next, nil
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
