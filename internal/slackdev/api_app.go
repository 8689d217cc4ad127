package slackdev

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (w *Workspace) apiTest(a args) (reply, error) {
	if e := a.str("error"); e != "" {
		return nil, fail(e)
	}
	return reply{"args": a.values}, nil
}

func (w *Workspace) authTest(args) (reply, error) {
	return reply{
		"url": "https://" + w.cfg.Team.Domain + ".slack.com/", "team": w.cfg.Team.Name,
		"user": w.cfg.App.Name, "team_id": w.cfg.Team.ID, "user_id": w.cfg.App.BotUserID,
		"bot_id": w.cfg.App.BotID, "app_id": w.cfg.App.ID, "enterprise_id": w.enterpriseID(),
		"is_enterprise_install": w.cfg.OrgInstall,
	}, nil
}

func (w *Workspace) connectionsOpen(args) (reply, error) {
	ticket := uuid()
	w.sock.tickets[ticket] = true
	return reply{"url": fmt.Sprintf("ws://%s/link/?ticket=%s&app_id=%s", w.ln.Addr(), ticket, w.cfg.App.ID)}, nil
}

func (w *Workspace) botsInfo(a args) (reply, error) {
	if bot := a.str("bot"); bot != "" && bot != w.cfg.App.BotID {
		return nil, fail("bot_not_found")
	}
	return reply{"bot": map[string]any{
		"id": w.cfg.App.BotID, "deleted": w.revoked, "name": w.cfg.App.Name, "updated": 0,
		"app_id": w.cfg.App.ID, "user_id": w.cfg.App.BotUserID, "icons": map[string]any{},
	}}, nil
}

func (w *Workspace) teamInfo(args) (reply, error) {
	return reply{"team": map[string]any{
		"id": w.cfg.Team.ID, "name": w.cfg.Team.Name, "domain": w.cfg.Team.Domain,
		"url": "https://" + w.cfg.Team.Domain + ".slack.com/",
	}}, nil
}

func (w *Workspace) threadsSetStatus(a args) (reply, error) {
	if err := a.required("channel_id", "thread_ts"); err != nil {
		return nil, err
	}
	if _, err := w.postable(a.str("channel_id")); err != nil {
		return nil, err
	}
	loading, _ := a.nested("loading_messages")
	list, _ := loading.([]any)
	if len(list) > 10 {
		return nil, fail("invalid_arguments")
	}
	for _, words := range list {
		if n := units(str(words)); n == 0 || n > 50 {
			return nil, fail("invalid_arguments")
		}
	}
	setStatus(w.statuses, a.str("channel_id")+"/"+a.str("thread_ts"), a.str("status"))
	w.stated[a.str("channel_id")+"/"+a.str("thread_ts")] = time.Now()
	return reply{}, nil
}

func (w *Workspace) sessionsSetStatus(a args) (reply, error) {
	status := a.str("status")
	switch {
	case w.cfg.NoAgents:
		return nil, fail("feature_disabled")
	case !slices.Contains([]string{"active", "processing", "suspended", "closed"}, status):
		return nil, fail("invalid_status")
	case a.str("thread_ts") == "":
		return nil, fail("thread_ts_required")
	case units(a.str("title")) > 200:
		return nil, fail("invalid_arguments")
	}
	if _, err := w.postable(a.str("channel_id")); err != nil {
		return nil, err
	}
	if status == "active" || status == "closed" {
		status = ""
	}
	setStatus(w.sessions, a.str("channel_id")+"/"+a.str("thread_ts"), status)
	return reply{}, nil
}

// setStatus remembers a status. That of a thread is cleared when the app posts there
// (https://docs.slack.dev/reference/methods/assistant.threads.setStatus), that of a session stays.
func setStatus(all map[string]string, key, status string) {
	if strings.TrimSpace(status) == "" {
		delete(all, key)
		return
	}
	all[key] = status
}
