package slackdev

import (
	"context"
	"fmt"
)

// Prompt is a message that the assistant's panel proposes.
type Prompt struct {
	Title   string `json:"title"`
	Message string `json:"message"`
}

// Chat is a conversation in the assistant's panel, which is a thread of the direct conversation with the app.
type Chat struct {
	Title   string
	Heading string // above the prompts
	Prompts []Prompt
	context string // the channel that the person looks at
}

const (
	maxPrompts   = 4
	maxPrompt    = 2000 // not documented; a message of the length would be
	maxChatTitle = 200
)

// OpenAssistant opens the panel for a person who looks at the channel (which may be empty), and returns the thread of
// the new chat. It raises assistant_thread_started:
// https://docs.slack.dev/reference/events/assistant_thread_started.
func (w *Workspace) OpenAssistant(ctx context.Context, user, channel string) (thread string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cfg.NoAgents {
		return "", fmt.Errorf("the app is no agent: %w", ErrNoElement)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if _, ok := w.users[user]; !ok {
		return "", unknown("user", user)
	}
	c := w.openDM(user)
	m := w.add(c, w.fromDraft(draft{text: "New chat"}))
	setDefault(&m.ThreadTS, m.TS)
	w.chats[c.ID+"/"+m.TS] = &Chat{context: channel}
	w.emitChat("assistant_thread_started", user, c.ID, m.TS, channel)
	w.touch()
	return m.TS, nil
}

// LookAt has a person with the panel open look at another channel.
func (w *Workspace) LookAt(ctx context.Context, user, thread, channel string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	c := w.openDM(user)
	chat, ok := w.chats[c.ID+"/"+thread]
	if !ok {
		return unknown("chat", thread)
	}
	chat.context = channel
	w.emitChat("assistant_thread_context_changed", user, c.ID, thread, channel)
	return nil
}

func (w *Workspace) emitChat(event, user, channel, thread, context string) {
	seen := map[string]any{"force_search": false}
	if context != "" {
		seen = map[string]any{"channel_id": context, "team_id": w.cfg.Team.ID, "enterprise_id": w.enterpriseID()}
	}
	w.emit(event, map[string]any{
		"type": event, "event_ts": w.ids.ts(), "assistant_thread": map[string]any{
			"user_id": user, "channel_id": channel, "thread_ts": thread, "context": seen,
		},
	}, false)
}

// Chat returns a chat of the panel.
func (w *Workspace) Chat(channel, thread string) (Chat, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.chats[channel+"/"+thread]
	if !ok {
		return Chat{}, false
	}
	return *c, true
}

// chat finds the chat that a call is about.
func (w *Workspace) chat(a args) (*Chat, error) {
	if w.cfg.NoAgents {
		return nil, fail("not_agent_app")
	}
	if _, err := w.conversation(a.str("channel_id")); err != nil {
		return nil, err
	}
	c, ok := w.chats[a.str("channel_id")+"/"+a.str("thread_ts")]
	if !ok {
		return nil, fail("invalid_thread_ts")
	}
	return c, nil
}

// threadsSetPrompts is https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts.
func (w *Workspace) threadsSetPrompts(a args) (reply, error) {
	if err := a.required("channel_id", "thread_ts", "prompts"); err != nil {
		return nil, err
	}
	c, err := w.chat(a)
	if err != nil {
		return nil, err
	}
	v, ok := a.nested("prompts")
	list, isList := v.([]any)
	if !ok || !isList || len(list) == 0 || len(list) > maxPrompts {
		return nil, fail("invalid_arguments")
	}
	var all []Prompt
	for _, item := range list {
		m, _ := item.(map[string]any)
		p := Prompt{Title: str(m["title"]), Message: str(m["message"])}
		if p.Title == "" || p.Message == "" || units(p.Message) > maxPrompt {
			return nil, fail("invalid_arguments")
		}
		all = append(all, p)
	}
	c.Prompts, c.Heading = all, a.str("title")
	return reply{}, nil
}

// threadsSetTitle is https://docs.slack.dev/reference/methods/assistant.threads.setTitle.
func (w *Workspace) threadsSetTitle(a args) (reply, error) {
	if err := a.required("channel_id", "thread_ts", "title"); err != nil {
		return nil, err
	}
	c, err := w.chat(a)
	if err != nil {
		return nil, err
	}
	if units(a.str("title")) > maxChatTitle {
		return nil, fail("invalid_arguments")
	}
	c.Title = a.str("title")
	return reply{}, nil
}

// Stop is the stop button that Slack shows while the session of a thread is processing, or something is streamed there,
// to apps that listen for agent_session_stopped: https://docs.slack.dev/reference/events/agent_session_stopped. Streams
// end at once; the session's status is left to the app.
func (w *Workspace) Stop(ctx context.Context, user, channel, thread string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, c, err := w.writer(ctx, user, channel)
	if err != nil {
		return err
	}
	if !w.stoppable(c, thread) {
		return fmt.Errorf("stop button of %s: %w", thread, ErrNoElement)
	}
	halted := []string{}
	for _, m := range c.messages {
		if m.ThreadTS == thread && m.streaming == streamRunning {
			m.streaming = streamStopped
			m.Revision++
			halted = append(halted, m.TS)
		}
	}
	w.emit("agent_session_stopped", map[string]any{
		"type": "agent_session_stopped", "channel": channel, "thread_ts": thread, "user": user,
		"streaming_message_ts": halted, "event_ts": w.ids.ts(),
	}, false)
	w.touch()
	return nil
}

// stoppable reports whether there is a stop button. w.mu is held.
func (w *Workspace) stoppable(c *conversation, thread string) bool {
	if w.cfg.NoAgents || !w.subscribed("agent_session_stopped") {
		return false
	}
	if w.sessions[c.ID+"/"+thread] == "processing" {
		return true
	}
	for _, m := range c.messages {
		if m.ThreadTS == thread && m.streaming == streamRunning {
			return true
		}
	}
	return false
}
