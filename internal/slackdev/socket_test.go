package slackdev_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"countersign/internal/slackdev"
)

// rawSocket is a Socket Mode client that does only what a test tells it.
type rawSocket struct {
	ws     *websocket.Conn
	frames chan map[string]any
	pings  chan string
}

func dial(t *testing.T, w *slackdev.Workspace) *rawSocket {
	t.Helper()
	a := request(t, w, "apps.connections.open", "application/json", "", w.Config().AppToken)
	calls := w.Calls()
	url, _ := calls[len(calls)-1].Answer["url"].(string)
	if !a.OK || url == "" {
		t.Fatalf("apps.connections.open: %q", a.Error)
	}
	ws, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &rawSocket{ws: ws, frames: make(chan map[string]any, 100), pings: make(chan string, 100)}
	ws.SetPingHandler(func(text string) error {
		s.pings <- text
		return ws.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(time.Second))
	})
	go func() {
		defer close(s.frames)
		for {
			var frame map[string]any
			if ws.ReadJSON(&frame) != nil {
				return
			}
			s.frames <- frame
		}
	}()
	t.Cleanup(func() { ws.Close() })
	return s
}

// next waits for a frame; ok is false once the connection is closed.
func (s *rawSocket) next(t *testing.T) (map[string]any, bool) {
	t.Helper()
	select {
	case frame, ok := <-s.frames:
		return frame, ok
	case <-time.After(patience):
		t.Fatal("no frame came")
		return nil, false
	}
}

func (s *rawSocket) want(t *testing.T, kind string) map[string]any {
	t.Helper()
	frame, ok := s.next(t)
	if !ok || frame["type"] != kind {
		t.Fatalf("frame %v (open %v), want %s", frame, ok, kind)
	}
	return frame
}

func (s *rawSocket) ack(t *testing.T, envelope any, payload any) {
	t.Helper()
	if err := s.ws.WriteJSON(map[string]any{"envelope_id": envelope, "payload": payload}); err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, raw json.RawMessage) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func mention(t *testing.T, w *slackdev.Workspace) string {
	t.Helper()
	ts, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "<@"+w.Config().App.BotUserID+"> hi", "")
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// quick is a workspace whose deadlines are short and which raises mentions only.
// It is for tests in which nothing is acknowledged.
func quick() slackdev.Config {
	return slackdev.Config{
		AckTimeout: 60 * time.Millisecond, Events: []string{"app_mention"}, PingEvery: 20 * time.Millisecond,
		RetryAfter: []time.Duration{0, 10 * time.Millisecond, 20 * time.Millisecond},
	}
}

// patient is a workspace that raises mentions only, waits for acknowledgements
// and redelivers at once what failed.
func patient() slackdev.Config {
	return slackdev.Config{AckTimeout: patience, Events: []string{"app_mention"}, RetryAfter: []time.Duration{0, 0, 0}}
}

func TestHelloPingTicket(t *testing.T) {
	t.Parallel()
	w := start(t, quick())
	s := dial(t, w)
	if hello := s.want(t, "hello"); hello["num_connections"] != 1.0 {
		t.Errorf("hello %v", hello)
	}
	select {
	case <-s.pings:
	case <-time.After(patience):
		t.Error("no PING")
	}
	calls := w.Calls()
	url := calls[len(calls)-1].Answer["url"].(string)
	if _, resp, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil); err == nil {
		t.Error("the ticket worked twice")
	} else {
		resp.Body.Close()
	}
}

func TestRedeliveries(t *testing.T) {
	t.Parallel()
	w := start(t, quick())
	s := dial(t, w)
	s.want(t, "hello")
	mention(t, w)
	var ids []any
	for attempt := range 4 {
		env := s.want(t, "events_api")
		payload := env["payload"].(map[string]any)
		ids = append(ids, payload["event_id"])
		if env["retry_attempt"] != float64(attempt) || (attempt > 0) != (env["retry_reason"] == "timeout") {
			t.Errorf("attempt %d: %v %v", attempt, env["retry_attempt"], env["retry_reason"])
		}
	}
	if ids[0] != ids[3] {
		t.Errorf("the event id changed: %v", ids)
	}
}

func TestRedeliveryOnRequest(t *testing.T) {
	t.Parallel()
	w := start(t, patient())
	s := dial(t, w)
	s.want(t, "hello")
	mention(t, w)
	for attempt := range 3 {
		env := s.want(t, "events_api")
		if env["retry_attempt"] != float64(attempt) {
			t.Errorf("attempt %d: %v", attempt, env["retry_attempt"])
		}
		s.ack(t, env["envelope_id"], nil)
		await(t, w, func() bool { d := w.Deliveries(); return len(d) == attempt+1 && !d[attempt].Acked.IsZero() })
		if err := w.Redeliver(w.EventIDs("app_mention")[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Redeliver("Ev0"); !errors.Is(err, slackdev.ErrUnknown) {
		t.Errorf("unknown event: %v", err)
	}
}

func TestAckStopsRedelivery(t *testing.T) {
	t.Parallel()
	w := start(t, patient())
	s, other := dial(t, w), dial(t, w)
	s.want(t, "hello")
	other.want(t, "hello")
	for n := range 3 {
		mention(t, w)
		var env map[string]any
		select {
		case env = <-s.frames:
			other.ack(t, env["envelope_id"], map[string]any{})
		case env = <-other.frames:
			s.ack(t, env["envelope_id"], map[string]any{})
		}
		if env["retry_attempt"] != 0.0 {
			t.Errorf("an acknowledged event came again: %v", env)
		}
		await(t, w, func() bool { d := w.Deliveries(); return len(d) > n && !d[n].Acked.IsZero() })
	}
	if got := len(w.Deliveries()); got != 3 {
		t.Errorf("%d deliveries of three events", got)
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	cfg := patient()
	cfg.RetryAfter = slices.Repeat([]time.Duration{10 * time.Millisecond}, int(patience/(10*time.Millisecond)))
	w := start(t, cfg)
	mention(t, w)
	await(t, w, func() bool { return len(w.Deliveries()) >= 2 })
	err := w.Command(t.Context(), "U0ANN", "C0GENERAL", "/approvals", "")
	if !errors.Is(err, slackdev.ErrTrouble) {
		t.Errorf("a command without a connection: %v", err)
	}
	s := dial(t, w)
	s.want(t, "hello")
	env := s.want(t, "events_api")
	if n, _ := env["retry_attempt"].(float64); n < 2 {
		t.Errorf("after the connection: %v", env)
	}
	s.ack(t, env["envelope_id"], nil)
	await(t, w, func() bool { d := w.Deliveries(); return !d[len(d)-1].Acked.IsZero() })
}

func TestDisconnectReasons(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested", "link_disabled", "too_many_websockets"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := start(t, patient())
			s := dial(t, w)
			s.want(t, "hello")
			w.Disconnect(reason)
			if frame := s.want(t, "disconnect"); frame["reason"] != reason {
				t.Errorf("frame %v", frame)
			}
			switch reason {
			case "warning":
				mention(t, w)
				s.want(t, "events_api")
			case "refresh_requested":
				next := dial(t, w)
				next.want(t, "hello")
				for range 3 {
					mention(t, w)
					next.ack(t, next.want(t, "events_api")["envelope_id"], nil)
				}
			case "link_disabled":
				if frame, open := s.next(t); open {
					t.Errorf("still open: %v", frame)
				}
				again := dial(t, w)
				again.want(t, "hello")
				again.want(t, "disconnect")
				w.EnableSocketMode()
				dial(t, w).want(t, "hello")
			default:
				if frame, open := s.next(t); open {
					t.Errorf("still open: %v", frame)
				}
			}
		})
	}
}

func TestTenConnections(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	for i := range 10 {
		if hello := dial(t, w).want(t, "hello"); hello["num_connections"] != float64(i+1) {
			t.Errorf("hello %v", hello)
		}
	}
	if frame := dial(t, w).want(t, "disconnect"); frame["reason"] != "too_many_websockets" {
		t.Errorf("the eleventh got %v", frame)
	}
	w.DropConnections()
	if n := w.Connections(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// TestLinger checks the two ways in which a connection ends after the closing
// handshake; Slack's own leaves the rest to the client.
func TestLinger(t *testing.T) {
	t.Parallel()
	for _, linger := range []bool{true, false} {
		cfg := quick()
		cfg.LingerAfterClose, cfg.PingEvery = linger, time.Hour
		w := start(t, cfg)
		s := dial(t, w)
		s.want(t, "hello")
		bye := websocket.FormatCloseMessage(1000, "")
		if err := s.ws.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if frame, open := s.next(t); open {
			t.Errorf("frame %v after the closing handshake", frame)
		}
		wait := patience
		if linger {
			wait = 150 * time.Millisecond
		}
		s.ws.NetConn().SetReadDeadline(time.Now().Add(wait))
		_, err := s.ws.NetConn().Read(make([]byte, 1))
		if open := errors.Is(err, os.ErrDeadlineExceeded); open != linger {
			t.Errorf("linger %v: reading gave %v", linger, err)
		}
	}
}

func TestAckPayload(t *testing.T) {
	t.Parallel()
	cfg := patient()
	cfg.Commands = []string{"/approvals"}
	w := start(t, cfg)
	s := dial(t, w)
	s.want(t, "hello")
	give := func() (envelope any, done chan error) {
		done = make(chan error, 1)
		go func() {
			done <- w.Command(context.WithoutCancel(t.Context()), "U0ANN", "C0GENERAL", "/approvals", "mine")
		}()
		env := s.want(t, "slash_commands")
		if env["accepts_response_payload"] != true {
			t.Errorf("envelope %v", env)
		}
		return env["envelope_id"], done
	}
	run := func(payload any) error {
		envelope, done := give()
		s.ack(t, envelope, payload)
		return <-done
	}
	if err := run(object{"text": "nothing"}); err != nil || len(w.Ephemerals("U0ANN")) != 1 {
		t.Errorf("ephemeral answer: %v", err)
	}
	err := run(object{"text": "all", "response_type": "in_channel"})
	if err != nil || len(w.Messages("C0GENERAL")) != 1 {
		t.Errorf("public answer: %v", err)
	}
	if err := run(object{}); err != nil || len(w.Ephemerals("U0ANN")) != 1 {
		t.Errorf("empty answer: %v", err)
	}
	large, waiting := give()
	s.ack(t, large, object{"text": strings.Repeat("x", 20<<10)})
	if err := run(nil); err != nil { // read behind it
		t.Fatal(err)
	}
	acked := func(d slackdev.Delivery) bool { return d.ID == large && !d.Acked.IsZero() }
	if slices.ContainsFunc(w.Deliveries(), acked) {
		t.Error("20 KiB were taken for an acknowledgement")
	}
	s.ack(t, large, nil)
	if err := <-waiting; err != nil {
		t.Errorf("the control, without 20 KiB: %v", err)
	}
	if err := w.Command(t.Context(), "U0ANN", "C0GENERAL", "/nope", ""); !errors.Is(err, slackdev.ErrUnknown) {
		t.Errorf("unregistered command: %v", err)
	}
}

func TestResponseURL(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	s := dial(t, w)
	s.want(t, "hello")
	card := call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "text": "card", "blocks": []any{
		object{"type": "actions", "elements": []any{object{"type": "button", "action_id": "go", "text": plain(2)}}}}})
	done := make(chan error, 1)
	go func() {
		click := slackdev.Click{User: "U0ANN", Channel: "C0GENERAL", TS: card.TS, ActionID: "go"}
		done <- w.Click(context.WithoutCancel(t.Context()), click)
	}()
	s.want(t, "events_api") // message.channels of the card itself
	env := s.want(t, "interactive")
	s.ack(t, env["envelope_id"], nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	url := env["payload"].(map[string]any)["response_url"].(string)
	post := func(args object) answer { return postURL(t, url, args) }
	for i, args := range []object{
		{"text": "one"}, {"text": "two", "response_type": "in_channel"}, {"text": "three", "replace_original": true},
		{"blocks": []any{section("four")}}, {"delete_original": true},
	} {
		if got := post(args); !got.OK {
			t.Errorf("use %d: %q", i+1, got.Error)
		}
	}
	if got := post(object{"text": "six"}); got.Error != "used_url" || got.status != 404 {
		t.Errorf("sixth use: %q", got.Error)
	}
	if got := postURL(t, w.URL()+"hooks/none", object{"text": "x"}); got.Error != "expired_url" {
		t.Errorf("unknown: %q", got.Error)
	}
	if n := len(w.Ephemerals("U0ANN")); n != 2 {
		t.Errorf("%d ephemerals, want 2", n)
	}
	if _, ok := w.Message("C0GENERAL", card.TS); ok {
		t.Error("the original is still there")
	}
}

func TestClickErrors(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{
		AckTimeout: 80 * time.Millisecond, Events: []string{"app_mention"},
		Channels: []slackdev.Channel{{ID: "C0A", BotMember: true, Members: []string{"U0ANN"}}},
	})
	s := dial(t, w)
	s.want(t, "hello")
	card := call(t, w, "chat.postMessage", object{"channel": "C0A", "text": "card", "blocks": []any{
		object{
			"type":     "actions",
			"elements": []any{object{"type": "button", "action_id": "go", "value": "1", "text": plain(2)}},
		}}})
	click := slackdev.Click{User: "U0ANN", Channel: "C0A", TS: card.TS, ActionID: "go"}
	for _, tc := range []struct {
		why    string
		change func(*slackdev.Click)
		want   error
	}{
		{"nobody acknowledges", func(*slackdev.Click) {}, slackdev.ErrTrouble},
		{"outsider", func(c *slackdev.Click) { c.User = "U0BEN" }, slackdev.ErrNotMember},
		{"no such button", func(c *slackdev.Click) { c.ActionID = "stop" }, slackdev.ErrNoElement},
		{"no such value", func(c *slackdev.Click) { c.Value = "2" }, slackdev.ErrNoElement},
		{"no such message", func(c *slackdev.Click) { c.TS = "1.0" }, slackdev.ErrNoMessage},
		{"nobody", func(c *slackdev.Click) { c.User = "U0X" }, slackdev.ErrUnknown},
		{"no view", func(c *slackdev.Click) { c.TS = "" }, slackdev.ErrNoView},
	} {
		c := click
		tc.change(&c)
		if err := w.Click(t.Context(), c); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.why, err, tc.want)
		}
	}
	payload, err := w.Payload(click)
	if err != nil {
		t.Fatal(err)
	}
	payload["user"] = object{"id": "U0FORGED"}
	if err := w.ClickRaw(t.Context(), payload); !errors.Is(err, slackdev.ErrTrouble) {
		t.Errorf("forged: %v", err)
	}
	all := w.Deliveries()
	if user := decode(t, all[len(all)-1].Payload)["user"]; fmt.Sprint(user) != "map[id:U0FORGED]" {
		t.Errorf("the forged payload arrived as %v", user)
	}
}
