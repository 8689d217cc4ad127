package slackdev

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// Command runs a slash command and shows what the app answers. Commands cannot
// be run inside a thread.
func (w *Workspace) Command(ctx context.Context, user, channel, command, text string) error {
	w.mu.Lock()
	u, c, err := w.member(user, channel)
	if err == nil && w.cfg.Commands != nil && !slices.Contains(w.cfg.Commands, command) {
		err = unknown("command", command)
	}
	if err != nil {
		w.mu.Unlock()
		return err
	}
	if w.cfg.EscapeCommands {
		text = w.escapeNames(text)
	}
	hook := w.newResponseURL("commands", user, c.ID, "", "")
	fields := map[string]string{
		"token": "dev", "team_id": w.cfg.Team.ID, "team_domain": w.cfg.Team.Domain, "channel_id": c.ID,
		"channel_name": c.label(), "user_id": u.ID, "user_name": u.Name, "command": command, "text": text,
		"api_app_id": w.cfg.App.ID, "is_enterprise_install": "false", "response_url": hook,
		"trigger_id": w.newTrigger(user, ""),
	}
	if w.cfg.Team.EnterpriseID != "" {
		fields["enterprise_id"], fields["enterprise_name"] = w.cfg.Team.EnterpriseID, w.cfg.Team.Name
	}
	w.mu.Unlock()
	ack, err := w.ask(ctx, envelope{kind: kindCommand, inner: command, accepts: true, payload: encode(fields)})
	if err != nil {
		return fmt.Errorf("%s failed: %w", command, err)
	}
	return w.showAnswer(command, user, c.ID, ack)
}

// showAnswer posts the message in the acknowledgement of a command.
func (w *Workspace) showAnswer(command, user, channel string, ack json.RawMessage) error {
	var answer map[string]any
	if json.Unmarshal(ack, &answer) != nil || len(answer) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.touch()
	if err := w.respond(&responseURL{user: user, channel: channel}, args{values: answer}); err != nil {
		if e, ok := err.(*apiError); ok && e.code == "no_text" {
			return nil
		}
		return fmt.Errorf("%s failed: %w: the answer is refused: %w", command, ErrTrouble, err)
	}
	return nil
}

// escapeNames does what should_escape asks Slack to do with names.
func (w *Workspace) escapeNames(text string) string {
	people := regexp.MustCompile(`<@([UW][A-Z0-9]+)>|@([a-z0-9._-]+)`)
	text = people.ReplaceAllStringFunc(text, func(s string) string {
		m := people.FindStringSubmatch(s)
		for _, u := range w.users {
			if u.ID == m[1] || u.Name == m[2] {
				return "<@" + u.ID + "|" + u.Name + ">"
			}
		}
		return s
	})
	channels := regexp.MustCompile(`<#(C[A-Z0-9]+)>|#([a-z0-9_-]+)`)
	return channels.ReplaceAllStringFunc(text, func(s string) string {
		m := channels.FindStringSubmatch(s)
		for _, c := range w.convs {
			if c.im == "" && (c.ID == m[1] || c.Name == m[2]) {
				return "<#" + c.ID + "|" + c.Name + ">"
			}
		}
		return s
	})
}
