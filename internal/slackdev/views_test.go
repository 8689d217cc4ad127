package slackdev_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"countersign/internal/slackdev"
)

var modalView = object{
	"type": "modal", "title": plain(5), "submit": plain(2), "callback_id": "cb", "notify_on_close": true,
	"blocks": []any{
		object{
			"type": "input", "block_id": "name", "label": plain(4),
			"element": object{"type": "plain_text_input", "action_id": "t", "min_length": 2, "max_length": 4},
		},
		object{"type": "input", "block_id": "pick", "optional": true, "label": plain(4), "element": object{
			"type": "multi_static_select", "action_id": "m", "options": []any{
				object{"text": plain(1), "value": "a"}, object{"text": plain(1), "value": "b"},
			},
		}},
		object{
			"type": "actions", "block_id": "act",
			"elements": []any{object{"type": "button", "action_id": "more", "text": plain(4)}},
		},
	},
}

func TestTriggers(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{TriggerLife: patience})
	open := func(w *slackdev.Workspace, trigger string, view any) string {
		return call(t, w, "views.open", object{"trigger_id": trigger, "view": view}).Error
	}
	trigger := w.NewTrigger("U0ANN")
	if got := open(w, trigger, object{"type": "modal"}); got != "invalid_arguments" {
		t.Errorf("bad view: %q", got)
	}
	if got := open(w, trigger, modalView); got != "" {
		t.Errorf("a refused view used the trigger up: %q", got)
	}
	if got := open(w, trigger, modalView); got != "exchanged_trigger_id" {
		t.Errorf("second use: %q", got)
	}
	if got := open(w, "1.2.abc", modalView); got != "invalid_arguments" {
		t.Errorf("invented: %q", got)
	}
	short := start(t, slackdev.Config{TriggerLife: time.Nanosecond})
	if got := open(short, short.NewTrigger("U0ANN"), modalView); got != "expired_trigger_id" {
		t.Errorf("late: %q", got)
	}
}

func TestViewUpdatePushHash(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	answerAll(t, w)
	ctx := within(t)
	open := call(t, w, "views.open", object{"trigger_id": w.NewTrigger("U0ANN"), "view": modalView})
	id, hash := open.View["id"].(string), open.View["hash"].(string)
	update := func(args object) string {
		args["view"] = modalView
		return call(t, w, "views.update", args).Error
	}
	if got := update(object{"view_id": id, "hash": hash}); got != "" {
		t.Errorf("right hash: %q", got)
	}
	if got := update(object{"view_id": id, "hash": hash}); got != "hash_conflict" {
		t.Errorf("old hash: %q", got)
	}
	if got := update(object{"view_id": "V0NONE"}); got != "not_found" {
		t.Errorf("no such view: %q", got)
	}
	for depth, want := range []string{"", "", "push_limit_reached"} {
		if err := w.Click(ctx, slackdev.Click{User: "U0ANN", ActionID: "more"}); err != nil {
			t.Fatal(err)
		}
		got := call(t, w, "views.push", object{"trigger_id": lastTrigger(t, w), "view": modalView})
		if got.Error != want {
			t.Errorf("push %d: %q, want %q", depth+1, got.Error, want)
		}
	}
	views := w.Views("U0ANN")
	if len(views) != 3 || views[2].RootID != id || views[2].PreviousID != views[1].ID {
		t.Errorf("stack %+v", views)
	}
	if err := w.CloseView(ctx, "U0ANN", "", false); err != nil || len(w.Views("U0ANN")) != 2 {
		t.Errorf("after closing one: %d, %v", len(w.Views("U0ANN")), err)
	}
	if err := w.CloseView(ctx, "U0ANN", "", true); err != nil || len(w.Views("U0ANN")) != 0 {
		t.Errorf("after closing all: %d, %v", len(w.Views("U0ANN")), err)
	}
	if got := update(object{"view_id": id}); got != "not_found" {
		t.Errorf("closed view: %q", got)
	}
}

func TestHomeHash(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	home := object{"type": "home", "blocks": []any{section("x")}}
	first := call(t, w, "views.publish", object{"user_id": "U0ANN", "view": home})
	if !first.OK || w.HomeView("U0ANN") == nil || w.HomeView("U0BEN") != nil {
		t.Fatalf("publish: %q", first.Error)
	}
	got := call(t, w, "views.publish", object{"user_id": "U0ANN", "view": home, "hash": "old"})
	if got.Error != "hash_conflict" {
		t.Errorf("old hash: %q", got.Error)
	}
	if got := call(t, w, "views.publish", object{"user_id": "U0NOBODY", "view": home}); got.OK {
		t.Error("published to nobody")
	}
}

// TestSubmissionAnswers tries what an app may answer, and what it must not.
func TestSubmissionAnswers(t *testing.T) {
	t.Parallel()
	external := func(id string) object {
		v := maps.Clone(modalView)
		v["external_id"] = id
		return v
	}
	for _, tc := range []struct {
		why    string
		answer any
		open   int // modals open afterwards
		fails  bool
	}{
		{"nothing closes", nil, 0, false},
		{"clear closes", object{"response_action": "clear"}, 0, false},
		{"errors keep", object{"response_action": "errors", "errors": object{"name": "no"}}, 1, false},
		{"errors for no input", object{"response_action": "errors", "errors": object{"act": "no"}}, 1, true},
		{"errors for nothing", object{"response_action": "errors"}, 1, true},
		{"update keeps", object{"response_action": "update", "view": modalView}, 1, false},
		{"broken update", object{"response_action": "update", "view": object{"type": "modal"}}, 1, true},
		{"push adds", object{"response_action": "push", "view": modalView}, 2, false},
		{"update keeps the external id", object{"response_action": "update", "view": external("first")}, 1, false},
		{"external id that is another's", object{"response_action": "update", "view": external("home")}, 1, true},
		{"push with one that is taken", object{"response_action": "push", "view": external("first")}, 1, true},
		{"unknown action", object{"response_action": "dance"}, 1, true},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			w := start(t, slackdev.Config{})
			serve(t, w, func(sock *socketmode.Client, ev socketmode.Event) {
				if ev.Request == nil || ev.Type == socketmode.EventTypeHello {
					return
				}
				if tc.answer == nil {
					sock.Ack(*ev.Request)
					return
				}
				sock.Ack(*ev.Request, tc.answer)
			})
			home := object{"type": "home", "external_id": "home", "blocks": []any{section("x")}}
			call(t, w, "views.publish", object{"user_id": "U0BEN", "view": home})
			call(t, w, "views.open", object{"trigger_id": w.NewTrigger("U0ANN"), "view": external("first")})
			_, err := w.Submit(
				within(t), "U0ANN", w.Views("U0ANN")[0].ID, map[string]map[string]any{"name": {"t": "abc"}})
			if got := errors.Is(err, slackdev.ErrTrouble); got != tc.fails || err != nil && !got {
				t.Errorf("error %v", err)
			}
			if n := len(w.Views("U0ANN")); n != tc.open {
				t.Errorf("%d modals open, want %d", n, tc.open)
			}
		})
	}
}

// TestLateAnswers: what the app answers to a form takes effect after its updates. One that is addressed to the view is
// overwritten then; until then nothing has the external id that the answer gives the view.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	called := func(name string) object {
		v := maps.Clone(modalView)
		v["callback_id"], v["external_id"] = name, name
		return v
	}
	serve(t, w, func(sock *socketmode.Client, ev socketmode.Event) {
		if ev.Request != nil && ev.Type != socketmode.EventTypeHello {
			sock.Ack(*ev.Request, object{"response_action": "update", "view": called("answer")})
		}
	})
	open := call(t, w, "views.open", object{"trigger_id": w.NewTrigger("U0ANN"), "view": modalView})
	w.LateAnswers(2)
	submitted := make(chan error, 1)
	go func() {
		_, err := w.Submit(within(t), "U0ANN", "", map[string]map[string]any{"name": {"t": "abc"}})
		submitted <- err
	}()
	acked := func() bool { all := w.Deliveries(); return len(all) > 0 && !all[len(all)-1].Acked.IsZero() }
	if err := w.WaitFor(within(t), acked); err != nil {
		t.Fatal(err)
	}
	early := object{"external_id": "answer", "view": called("early")}
	if got := call(t, w, "views.update", early).Error; got != "not_found" {
		t.Errorf("the external id of an answer that has not landed: %q", got)
	}
	if got := call(t, w, "views.update", object{"view_id": open.View["id"], "view": called("early")}); !got.OK {
		t.Errorf("the id of the view: %q", got.Error)
	}
	if err := <-submitted; err != nil || w.Views("U0ANN")[0].CallbackID != "answer" {
		t.Errorf("after the answer the view is %+v, %v", w.Views("U0ANN"), err)
	}
	if got := call(t, w, "views.update", early); !got.OK || w.Views("U0ANN")[0].CallbackID != "early" {
		t.Errorf("the external id of the answer: %q", got.Error)
	}
}

func TestSubmissionInput(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	got := make(chan map[string]map[string]slack.BlockAction, 1)
	serve(t, w, func(sock *socketmode.Client, ev socketmode.Event) {
		if data, ok := ev.Data.(slack.InteractionCallback); ok {
			got <- data.View.State.Values
			sock.Ack(*ev.Request)
		}
	})
	call(t, w, "views.open", object{"trigger_id": w.NewTrigger("U0ANN"), "view": modalView})
	ctx := within(t)
	submit := func(values map[string]map[string]any) error {
		_, err := w.Submit(ctx, "U0ANN", "", values)
		return err
	}
	for why, values := range map[string]map[string]map[string]any{
		"empty": nil, "too short": {"name": {"t": "a"}}, "too long": {"name": {"t": "abcde"}},
	} {
		if err := submit(values); !errors.Is(err, slackdev.ErrInvalidInput) {
			t.Errorf("%s: %v", why, err)
		}
	}
	err := submit(map[string]map[string]any{"name": {"t": "abc"}, "pick": {"m": []string{"c"}}})
	if !errors.Is(err, slackdev.ErrNoElement) {
		t.Errorf("option that does not exist: %v", err)
	}
	if err := submit(map[string]map[string]any{"name": {"t": "abc"}, "pick": {"m": []string{"b"}}}); err != nil {
		t.Fatal(err)
	}
	values := <-got
	if values["name"]["t"].Value != "abc" || len(values["pick"]["m"].SelectedOptions) != 1 ||
		values["pick"]["m"].SelectedOptions[0].Value != "b" {
		t.Errorf("state %+v", values)
	}
}

// answerAll acknowledges everything without an answer.
func answerAll(t *testing.T, w *slackdev.Workspace) {
	t.Helper()
	serve(t, w, func(sock *socketmode.Client, ev socketmode.Event) {
		if ev.Request != nil && ev.Type != socketmode.EventTypeHello {
			sock.Ack(*ev.Request)
		}
	})
}

// lastTrigger is the trigger id of the newest interaction.
func lastTrigger(t *testing.T, w *slackdev.Workspace) string {
	t.Helper()
	all := w.Deliveries()
	payload := decode(t, all[len(all)-1].Payload)
	return payload["trigger_id"].(string)
}
