package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"countersign/approvals"
)

// scopeAssistant is what it takes to propose messages and to name chats in the assistant's panel. It is optional: the
// panel works without.
const scopeAssistant = "assistant:write"

// Prompt is a message that the assistant's panel proposes: what the button says, and what it sends.
type Prompt struct {
	Title   string
	Message string
}

// mostPrompts is how many Slack takes.
const mostPrompts = 4

// chatTitle is how long the name of a chat may be; Slack cuts what does not fit into the panel's head.
const chatTitle = 80

// assistantThread is what events of the panel are about:
// https://docs.slack.dev/reference/events/assistant_thread_started.
type assistantThread struct {
	User    string `json:"user_id"`
	Channel string `json:"channel_id"`
	Thread  string `json:"thread_ts"`
}

// chatOpened proposes messages in a new chat of the panel.
func (b *Bot) chatOpened(id identity, e event) (answer, error) {
	t := e.Assistant
	if !isChannelID(t.Channel) || !isMessageTS(t.Thread) {
		b.log.Warn("an opened chat was dropped", "reason", errUnreadable)
		return answer{}, nil
	}
	b.chats.add(t.Channel + "/" + t.Thread)
	var all []Prompt
	if b.prompts != nil {
		all = b.prompts(b.agent)
	}
	all = all[:min(len(all), mostPrompts)]
	if len(all) == 0 {
		return answer{}, nil
	}
	return answer{then: func(ctx context.Context) { b.propose(ctx, id, t, all) }}, nil
}

// propose shows the prompts.
func (b *Bot) propose(ctx context.Context, id identity, t assistantThread, all []Prompt) {
	type prompt struct {
		Title   string `json:"title"`
		Message string `json:"message"`
	}
	list := make([]prompt, 0, len(all))
	for _, p := range all {
		list = append(list, prompt{label(p.Title, chatTitle), p.Message})
	}
	raw, err := json.Marshal(list)
	if err != nil {
		b.log.Error("prompts cannot be encoded", "error", err)
		return
	}
	b.inPanel(ctx, id, methodPrompts, url.Values{
		"channel_id": {t.Channel}, "thread_ts": {t.Thread}, "prompts": {string(raw)},
	})
}

// nameChat gives a chat of the panel the name of the first thing that was asked in it. It returns nil where there is
// nothing to name.
func (b *Bot) nameChat(id identity, p approvals.Place, text string) func(context.Context) {
	if !p.Direct || !b.chats.take(p.Channel+"/"+p.Thread) {
		return nil
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return func(ctx context.Context) {
		b.inPanel(ctx, id, methodTitle, url.Values{
			"channel_id": {p.Channel}, "thread_ts": {p.Thread}, "title": {label(first, chatTitle)},
		})
	}
}

// inPanel makes a call that the panel works without. A method that Slack refuses for good is not called for a while,
// and the log says once what to do about that.
func (b *Bot) inPanel(ctx context.Context, id identity, method string, form url.Values) {
	if b.closed.has(method) {
		return
	}
	err := error(nil)
	word := "missing_scope"
	if len(id.scopes) == 0 || slices.Contains(id.scopes, scopeAssistant) {
		err = b.patiently(ctx, method, form.Get("channel_id"), func() error {
			_, err := b.client.call(ctx, method, b.client.token, form, nil)
			return err
		})
		word, _ = refusal(err)
		if err == nil || errors.Is(err, context.Canceled) {
			return
		}
	}
	if !statusOff(word) && word != "not_agent_app" {
		b.log.Debug("the assistant's panel was not changed", "method", method, "error", err)
		return
	}
	b.closed.add(method)
	b.warn.once(method, func() {
		b.log.Warn("the assistant's panel proposes and names nothing: Slack refuses it. "+
			"Update the app from manifest.yaml and install it again, or leave it so: everything else works",
			"method", method, "reason", word, "scope", scopeAssistant)
	})
}

// sessionStopped cancels the run of a thread in which somebody has pressed Slack's stop button, if they may:
// https://docs.slack.dev/reference/events/agent_session_stopped. What ran and what did not is said by the notice that
// every cancelled run ends with.
func (b *Bot) sessionStopped(ctx context.Context, id identity, e event) (answer, error) {
	if !isChannelID(e.Channel) || !isMessageTS(e.ThreadTS) || !isUserID(e.User) {
		b.log.Warn("a stop was dropped", "reason", errUnreadable)
		return answer{}, nil
	}
	p := approvals.Place{Surface: "slack", Channel: e.Channel, Thread: e.ThreadTS, Direct: isDirect(e)}
	by := approvals.NewUserID(id.workspace, e.User)
	r, err := b.service.ActiveRun(ctx, id.workspace, p)
	if errors.Is(err, approvals.ErrNotFound) {
		return answer{then: func(ctx context.Context) {
			b.setStatus(ctx, methodSessionStatus, p, "active", "")
			b.whisper(ctx, e.Channel, e.ThreadTS, e.User, wordsNothingRunning())
		}}, nil
	}
	if err == nil {
		_, err = b.service.CancelRun(ctx, id.workspace, r.ID, by, "")
	}
	if err == nil {
		return answer{}, nil
	}
	words, known := cancelled(err, by)
	if !known {
		return answer{}, fmt.Errorf("stop: %w", err)
	}
	return answer{then: func(ctx context.Context) { b.whisper(ctx, e.Channel, e.ThreadTS, e.User, words) }}, nil
}
