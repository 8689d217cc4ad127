package slackdev

import "context"

// pageChats are the chats of a person's panel, by "channel/thread".
func (w *Workspace) pageChats(c *conversation) map[string]any {
	out := map[string]any{}
	for _, m := range c.messages {
		key := c.ID + "/" + m.TS
		if chat, ok := w.chats[key]; ok {
			prompts := []any{}
			for _, p := range chat.Prompts {
				prompts = append(prompts, map[string]any{"title": p.Title, "message": p.Message})
			}
			out[key] = map[string]any{"title": chat.Title, "prompts": prompts}
		}
	}
	return out
}

// pageStoppable lists the threads that have a stop button, by "channel/thread".
func (w *Workspace) pageStoppable(user string) map[string]any {
	out := map[string]any{}
	for key, status := range w.sessions {
		if status == "processing" && !w.cfg.NoAgents && w.subscribed("agent_session_stopped") {
			out[key] = true
		}
	}
	for _, c := range w.convs {
		if !c.has(user) {
			continue
		}
		for _, m := range c.messages {
			if m.streaming == streamRunning && w.stoppable(c, m.ThreadTS) {
				out[c.ID+"/"+m.ThreadTS] = true
			}
		}
	}
	return out
}

func (c *conversation) has(user string) bool {
	for _, u := range c.Members {
		if u == user {
			return true
		}
	}
	return false
}

// pageStatuses are what the app says it does in threads, or else how the session there stands.
func (w *Workspace) pageStatuses() map[string]string {
	out := map[string]string{}
	for key, status := range w.sessions {
		out[key] = status
	}
	for key := range w.statuses {
		if status, ok := w.status(key); ok {
			out[key] = status
		}
	}
	return out
}

func (w *Workspace) pageAssistant(ctx context.Context, in pageAct) (pageAnswer, error) {
	ts, err := w.OpenAssistant(ctx, in.User, in.Channel)
	return pageAnswer{TS: ts}, err
}

func (w *Workspace) pageStop(ctx context.Context, in pageAct) (pageAnswer, error) {
	return pageAnswer{}, w.Stop(ctx, in.User, in.Channel, in.Thread)
}
