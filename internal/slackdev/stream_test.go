package slackdev_test

import (
	"strings"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

func words(text string) object {
	return object{"type": "blocks", "blocks": []object{{"type": "rich_text", "elements": []object{{
		"type": "rich_text_section", "elements": []object{{"type": "text", "text": text}},
	}}}}}
}

// TestStreamsAreRefused: each row is a rule of Slack's pages of the three methods, or a stricter reading of them.
func TestStreamsAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{Channels: []slackdev.Channel{
		{ID: "C0GENERAL", Members: []string{"U0ANN"}, BotMember: true},
		{ID: "C0SHARED", Members: []string{"U0ANN"}, BotMember: true, ExtShared: true},
		{ID: "G0GROUP", Members: []string{"U0ANN", "U0BEN"}, BotMember: true, Group: true},
	}})
	to := func(channel string, extra object) object {
		args := object{"channel": channel, "recipient_user_id": "U0ANN", "recipient_team_id": "T0DEV"}
		for k, v := range extra {
			args[k] = v
		}
		return args
	}
	many := make([]object, 51)
	for i := range many {
		many[i] = words("x")
	}
	posted := call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "text": "plain"})
	open := call(t, w, "chat.startStream", to("C0GENERAL", nil))
	chunk := func(c object) object { return to("C0GENERAL", object{"chunks": []object{c}}) }
	at := func(ts string) object {
		return object{"channel": "C0GENERAL", "ts": ts, "chunks": []object{words("x")}}
	}
	long := words(strings.Repeat("x", 8000))
	for name, c := range map[string]struct {
		method string
		args   object
		want   string
	}{
		"nobody": {"chat.startStream", object{"channel": "C0GENERAL"}, "missing_recipient_user_id"},
		"no team": {
			"chat.startStream", object{"channel": "C0GENERAL", "recipient_user_id": "U0ANN"},
			"missing_recipient_team_id",
		},
		"a stranger": {
			"chat.startStream", to("C0GENERAL", object{"recipient_user_id": "U0NONE"}),
			"user_not_found",
		},
		"shared":    {"chat.startStream", to("C0SHARED", nil), "channel_type_not_supported"},
		"a group":   {"chat.startStream", to("G0GROUP", nil), "channel_type_not_supported"},
		"no thread": {"chat.startStream", to("U0ANN", nil), "invalid_arguments"},
		"display mode": {
			"chat.startStream", to("C0GENERAL", object{"task_display_mode": "grid"}),
			"invalid_arguments",
		},
		"chunk": {"chat.startStream", chunk(object{"type": "image"}), "invalid_chunks"},
		"blocks": {
			"chat.startStream", chunk(object{"type": "blocks", "blocks": []object{{"type": "nope"}}}),
			"invalid_blocks",
		},
		"task": {
			"chat.startStream", chunk(object{"type": "task_update", "id": "a", "title": "b", "status": "done"}),
			"invalid_chunks",
		},
		"too many": {"chat.startStream", to("C0GENERAL", object{"chunks": many}), "msg_blocks_too_many"},
		"too long": {
			"chat.startStream", to("C0GENERAL", object{"chunks": []object{long, long}}),
			"msg_blocks_too_long",
		},
		"nothing":    {"chat.appendStream", object{"channel": "C0GENERAL", "ts": open.TS}, "no_text"},
		"an old one": {"chat.appendStream", at(posted.TS), "message_not_in_streaming_state"},
		"stop of one": {
			"chat.stopStream", object{"channel": "C0GENERAL", "ts": posted.TS},
			"message_not_in_streaming_state",
		},
		"none": {"chat.appendStream", at("1.1"), "message_not_found"},
		"a changed one": {
			"chat.update", object{"channel": "C0GENERAL", "ts": open.TS, "text": "x"},
			"streaming_state_conflict",
		},
	} {
		if got := call(t, w, c.method, c.args); got.Error != c.want {
			t.Errorf("%s: %s answers %q, want %q", name, c.method, got.Error, c.want)
		}
	}
	if got := call(t, w, "chat.stopStream", object{"channel": "C0GENERAL", "ts": open.TS}); !got.OK {
		t.Error(got.Error)
	}
	if got := call(t, w, "chat.update", object{"channel": "C0GENERAL", "ts": open.TS, "text": "x"}); !got.OK {
		t.Errorf("a stream that has ended cannot be changed: %s", got.Error)
	}
}

// TestStreamGrows: additions go below what is there, tasks change in their place, what stopping brings goes last.
func TestStreamGrows(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"timeline": "One\nlook\nran\nTwo\nend", "plan": "One\nPlan\nlook\nran\nTwo\nend",
	} {
		w := start(t, slackdev.Config{})
		s := call(t, w, "chat.startStream", object{"channel": "C0GENERAL", "recipient_user_id": "U0ANN",
			"recipient_team_id": "T0DEV", "task_display_mode": mode, "chunks": []object{
				words("One"), {"type": "task_update", "id": "a", "title": "look", "status": "in_progress"},
			}})
		call(t, w, "chat.appendStream", object{"channel": "C0GENERAL", "ts": s.TS, "chunks": []object{
			words("Two"), {"type": "task_update", "id": "a", "title": "look", "status": "complete", "details": "ran"},
		}})
		end := call(t, w, "chat.stopStream", object{"channel": "C0GENERAL", "ts": s.TS,
			"blocks":   []object{{"type": "context", "elements": []object{{"type": "plain_text", "text": "end"}}}},
			"metadata": object{"event_type": "x", "event_payload": object{"a": 1}}})
		m, _ := w.Message("C0GENERAL", s.TS)
		if got := strings.ReplaceAll(m.Shown(), "\n\n", "\n"); !end.OK || got != want || m.Metadata == nil {
			t.Errorf("%s: %s %q, want %q", mode, end.Error, got, want)
		}
	}
}

// TestStreamsEnd: Slack ends a stream by itself, and a person does.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	begin := func(w *slackdev.Workspace) (thread string, s answer) {
		thread, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "go", "")
		if err != nil {
			t.Fatal(err)
		}
		return thread, call(t, w, "chat.startStream", object{"channel": "C0GENERAL", "thread_ts": thread,
			"recipient_user_id": "U0ANN", "recipient_team_id": "T0DEV"})
	}
	more := func(w *slackdev.Workspace, method string, s answer) string {
		return call(t, w, method, object{"channel": "C0GENERAL", "ts": s.TS, "chunks": []object{words("x")}}).Error
	}
	w := start(t, slackdev.Config{StreamLife: time.Nanosecond})
	if _, s := begin(w); more(w, "chat.appendStream", s) != "message_not_in_streaming_state" {
		t.Error("a stream goes on for ever")
	}
	w = start(t, slackdev.Config{})
	thread, s := begin(w)
	if err := w.Stop(t.Context(), "U0BEN", "C0GENERAL", thread); err != nil {
		t.Fatal(err)
	}
	if got := more(w, "chat.appendStream", s); got != "stopped_by_user" {
		t.Errorf("append: %s", got)
	}
	if got := more(w, "chat.stopStream", s); got != "message_not_in_streaming_state" {
		t.Errorf("stop: %s", got)
	}
	if err := w.Stop(t.Context(), "U0BEN", "C0GENERAL", thread); err == nil {
		t.Error("a stop button where nothing runs")
	}
	w = start(t, slackdev.Config{Events: []string{"app_mention"}})
	thread, _ = begin(w)
	if err := w.Stop(t.Context(), "U0BEN", "C0GENERAL", thread); err == nil {
		t.Error("a stop button for an app that does not listen")
	}
}
