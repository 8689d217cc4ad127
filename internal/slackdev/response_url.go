package slackdev

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	responseUses = 5
	responseLife = 30 * time.Minute
)

// responseURL lets whoever has it write into one conversation for a while, also where the app is no member. What Slack
// answers in a conversation that has been archived is not documented; the fake answers as incoming webhooks do, 410
// channel_is_archived (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). What becomes of an
// answer to somebody who has left the conversation is not known either; the fake takes it.
type responseURL struct {
	user, channel string
	messageTS     string // the message that was clicked, empty for commands
	threadTS      string
	uses          int
	expires       time.Time
}

// newResponseURL makes a response URL and returns its address. w.mu is held.
func (w *Workspace) newResponseURL(kind, user, channel, messageTS, threadTS string) string {
	id := randomHex(16)
	w.responses[id] = &responseURL{
		user: user, channel: channel, messageTS: messageTS, threadTS: threadTS, expires: time.Now().Add(responseLife),
	}
	return w.URL() + "hooks/" + id + "?kind=" + kind
}

// serveResponseURL is where an app posts to a response URL.
func (w *Workspace) serveResponseURL(rw http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxRequest))
	a := args{values: map[string]any{}}
	if err == nil {
		err = a.addJSON(raw)
	}
	call := w.begin("response_url", a)
	fault := w.takeFault(call)
	if fault != nil && !fault.AfterEffect && !w.suffer(rw, r, call, fault) {
		return
	}
	status, answer := http.StatusOK, reply{"ok": true}
	if err == nil {
		err = w.useResponseURL(r.PathValue("id"), a)
	}
	if err != nil {
		status, answer = responseStatus(err), w.envelope(nil, err, "")
	}
	if fault != nil && fault.AfterEffect && !w.suffer(rw, r, call, fault) {
		return
	}
	w.finish(call, status, answer)
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.WriteHeader(status)
	json.NewEncoder(rw).Encode(answer)
}

func responseStatus(err error) int {
	var e *apiError
	if !errors.As(err, &e) {
		return http.StatusBadRequest
	}
	switch e.code {
	case "expired_url", "used_url":
		return http.StatusNotFound
	case "channel_is_archived":
		return http.StatusGone
	}
	return http.StatusBadRequest
}

func (w *Workspace) useResponseURL(id string, a args) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	hook, ok := w.responses[id]
	switch {
	case !ok || time.Now().After(hook.expires):
		return fail("expired_url")
	case hook.uses >= responseUses:
		return fail("used_url")
	}
	if err := w.respond(hook, a); err != nil {
		return err
	}
	hook.uses++
	w.touch()
	return nil
}

// respond shows, replaces or deletes a message as a response asks. w.mu is held.
func (w *Workspace) respond(hook *responseURL, a args) error {
	c, ok := w.convs[hook.channel]
	switch {
	case !ok:
		return fail("channel_not_found")
	case c.Archived:
		return fail("channel_is_archived")
	}
	original := w.findMessage(hook.channel, hook.messageTS, hook.user)
	if a.flag("delete_original", false) {
		if original != nil {
			w.remove(original)
		}
		return nil
	}
	d, err := w.readDraft(a, maxPostText)
	switch {
	case err != nil:
		return err
	case d.empty():
		return fail("no_text")
	}
	if a.flag("replace_original", false) && original != nil {
		before := w.messageObject(c, original, false)
		w.revise(original, d)
		if !original.Ephemeral {
			w.emitChanged(c, original, before)
		}
		return nil
	}
	threadTS := a.str("thread_ts")
	if threadTS == "" && original != nil && original.ThreadTS != original.TS {
		threadTS = hook.threadTS
	}
	if a.str("response_type") != "in_channel" {
		w.addEphemeral(hook.user, c.ID, threadTS, d)
		return nil
	}
	m := w.fromDraft(d)
	m.ThreadTS = threadTS
	w.add(c, m)
	w.emitMessage(c, m)
	return nil
}
