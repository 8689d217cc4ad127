package slackdev

import (
	"slices"
	"time"
)

// event is a thing that happened, kept for redelivery.
type event struct {
	id       string
	kind     string
	attempts int
	env      envelope
}

func eventTime() int64 { return time.Now().Unix() }

// Emit delivers an event of the test's own making; its "type" must be set. It
// returns the event id.
func (w *Workspace) Emit(inner map[string]any) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	kind, _ := inner["type"].(string)
	return w.raise(kind, inner, false)
}

// emit delivers an event if the app subscribed to it. name is the subscription
// ("message.im"), the inner type may differ. w.mu is held.
func (w *Workspace) emit(name string, inner map[string]any, shared bool) {
	if w.subscribed(name) {
		w.raise(name, inner, shared)
	}
}

// subscribed reports whether the app hears of a kind of event.
func (w *Workspace) subscribed(name string) bool {
	return !w.removed && (w.cfg.Events == nil || slices.Contains(w.cfg.Events, name))
}

// raise wraps an event and delivers it until it is acknowledged or the
// redeliveries are used up. w.mu is held.
func (w *Workspace) raise(name string, inner map[string]any, shared bool) string {
	id := w.ids.next("Ev")
	payload := map[string]any{
		"token": "dev", "team_id": w.cfg.Team.ID, "context_team_id": w.cfg.Team.ID,
		"context_enterprise_id": w.enterpriseID(), "api_app_id": w.cfg.App.ID,
		"type": "event_callback", "event": inner, "event_id": id, "event_time": eventTime(),
		"event_context": "4-" + id, "is_ext_shared_channel": shared,
		"authorizations": []any{map[string]any{
			"enterprise_id": w.enterpriseID(), "team_id": w.installedTeam(), "user_id": w.cfg.App.BotUserID,
			"is_bot": true, "is_enterprise_install": w.cfg.OrgInstall,
		}},
	}
	e := &event{id: id, kind: name, env: envelope{kind: kindEvent, inner: name, eventID: id, payload: encode(payload)}}
	w.events[id] = e
	if w.life.Err() != nil {
		return id
	}
	first := w.launch(e.env)
	w.wg.Go(func() { w.pursue(e, first) })
	return id
}

// pursue redelivers an event on Slack's schedule.
func (w *Workspace) pursue(e *event, f *flight) {
	for _, wait := range w.cfg.RetryAfter {
		_, err := w.await(w.life, f)
		if err == nil || f.noRetry || !w.life.pause(wait) {
			return
		}
		w.mu.Lock()
		f = w.again(e, retryReason(w.cfg.Mode, err))
		w.mu.Unlock()
	}
	w.await(w.life, f)
}

// again starts the next attempt of an event. w.mu is held.
func (w *Workspace) again(e *event, reason string) *flight {
	e.attempts++
	env := e.env
	env.attempt, env.reason = e.attempts, reason
	return w.launch(env)
}

func retryReason(mode string, err error) string {
	switch {
	case mode == ModeSocket:
		return "timeout"
	case err == errNoAck:
		return "http_timeout"
	}
	return err.Error()
}

// Redeliver sends an event again although it was acknowledged, marked as a
// redelivery; Slack does this when an acknowledgement got lost.
func (w *Workspace) Redeliver(eventID string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.events[eventID]
	if !ok {
		return unknown("event", eventID)
	}
	if w.life.Err() != nil {
		return ErrClosed
	}
	reason := "timeout"
	if w.cfg.Mode == ModeHTTP {
		reason = "http_timeout"
	}
	f := w.again(e, reason)
	w.wg.Go(func() { w.await(w.life, f) })
	return nil
}

// EventIDs lists the ids of the events of a subscription such as "app_mention",
// oldest first; an empty name lists all.
func (w *Workspace) EventIDs(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	for _, d := range w.sent {
		if d.Kind == kindEvent && d.Attempt == 0 && (name == "" || d.Type == name) {
			ids = append(ids, d.EventID)
		}
	}
	return ids
}

// RevokeToken makes the bot token useless, as when an administrator removes the
// app, and raises tokens_revoked.
func (w *Workspace) RevokeToken() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revoked = true
	w.emit("tokens_revoked", map[string]any{
		"type": "tokens_revoked", "event_ts": w.ids.ts(),
		"tokens": map[string]any{"oauth": []string{}, "bot": []string{w.cfg.App.BotUserID}},
	}, false)
	w.touch()
}

// RestoreToken undoes RevokeToken.
func (w *Workspace) RestoreToken() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revoked = false
}

// installedTeam is null in JSON for an installation of the whole organisation.
func (w *Workspace) installedTeam() any {
	if w.cfg.OrgInstall {
		return nil
	}
	return w.cfg.Team.ID
}

// enterpriseID is null in JSON outside an organisation.
func (w *Workspace) enterpriseID() any {
	if w.cfg.Team.EnterpriseID == "" {
		return nil
	}
	return w.cfg.Team.EnterpriseID
}
