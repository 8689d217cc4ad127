package bot

import (
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// marked waits until the message has this reaction of the bot, and no other.
func (w *world) marked(ts, mark string) {
	w.t.Helper()
	w.t.Cleanup(func() {
		if w.t.Failed() {
			m, _ := w.slack.Message("C0GENERAL", ts)
			w.t.Logf("reactions: %v", m.Reactions)
			for _, c := range w.slack.Calls() {
				if strings.HasPrefix(c.Method, "reactions.") {
					w.t.Logf("%s %s %v: %v %s", c.Time.Format("05.000"), c.Method, c.Args["name"], c.Status, c.Error)
				}
			}
		}
	})
	w.eventually("the reaction "+mark+" alone", func() bool {
		m, _ := w.slack.Message("C0GENERAL", ts)
		return len(m.Reactions) == 1 && m.Reactions[0].Name == mark
	})
}

// TestMessageShowsHowItsRunStands: one reaction, which loses the one before, also when Slack slows that down, and when
// nobody knows whether it was set.
func TestMessageShowsHowItsRunStands(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(*world){
		"undisturbed": func(*world) {},
		"slowed down": func(w *world) {
			w.slack.Fail(slackdev.Fault{Method: methodReact, RetryAfter: time.Second, Times: 2})
			w.slack.Fail(slackdev.Fault{Method: methodUnreact, RetryAfter: time.Second})
		},
		"answers lost": func(w *world) {
			w.slack.Fail(slackdev.Fault{Method: methodReact, Reset: true, AfterEffect: true})
			w.slack.Fail(slackdev.Fault{Method: methodUnreact, Status: 500, AfterEffect: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, pay("call_1"), scripted.Say("Done."))
			trouble(w)
			ts := w.mention("U0ANN", "pay acme", "")
			card := w.card(ts, 1)
			w.marked(ts, "raised_hand")
			w.restart()
			if err := w.click("U0BEN", card, "approve"); err != nil {
				t.Fatal(err)
			}
			w.marked(ts, "white_check_mark")
		})
	}
}

// TestStateOfADeadProcessIsReplaced: the reaction is there and nobody has recorded it. The next process replaces it.
func TestStateOfADeadProcessIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	w.slack.Fail(slackdev.Fault{Method: methodReact, Reset: true, AfterEffect: true, Times: -1})
	ts := w.mention("U0ANN", "pay acme", "")
	card := w.card(ts, 1)
	w.marked(ts, "raised_hand")
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.slack.ClearFaults()
	w.restart()
	if err := w.click("U0BEN", card, "reject"); err != nil {
		t.Fatal(err)
	}
	w.marked(ts, "white_check_mark")
}

// TestCancelledRunShowsIt on the message, whatever it showed before.
func TestCancelledRunShowsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	ts := w.mention("U0ANN", "pay acme", "")
	w.card(ts, 1)
	w.marked(ts, "raised_hand")
	run := w.pendingFor("U0BEN")[0].Run
	if _, err := w.engine.CancelRun(w.ctx(), testWorkspace, run, user("U0ANN"), ""); err != nil {
		t.Fatal(err)
	}
	w.marked(ts, "no_entry_sign")
}

// TestWithoutTheScopeNothingIsMarked: a message of the log says so once, and everything else works.
func TestWithoutTheScopeNothingIsMarked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	w.slack.Fail(slackdev.Fault{Method: methodReact, Error: "missing_scope", Times: -1})
	ts := w.mention("U0ANN", "pay acme", "")
	card := w.card(ts, 1)
	w.eventually("the attempt", func() bool { return calls(w.stage, methodReact) == 1 })
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(ts, "Done.")
	w.eventually("nothing is left in the outbox", func() bool { return w.undelivered() == 0 })
	if n := calls(w.stage, methodReact); n != 1 {
		t.Errorf("%d attempts", n)
	}
	if id, err := w.bot.client.identify(w.ctx()); err != nil || w.bot.stateMessage(id, ts) != "" {
		t.Errorf("the next run would be marked too: %v", err)
	}
	id := identity{scopes: strings.Fields("chat:write")}
	if (&Bot{}).stateMessage(id, ts) != "" {
		t.Error("an app without the scope would try")
	}
}

// TestMarkOutlastsARefusedToken: the last mark of a run is set once Slack takes the token again, and does not say for
// ever that it works.
func TestMarkOutlastsARefusedToken(t *testing.T) {
	t.Parallel()
	for _, method := range []string{methodReact, methodUnreact} {
		w := newWorld(t, pay("call_1"), scripted.Say("Done."))
		thread := w.mention("U0ANN", "pay acme", "")
		card := w.card(thread, 1)
		w.marked(thread, "raised_hand")
		w.slack.Fail(slackdev.Fault{Method: method, Error: "team_access_not_granted", Times: 2})
		if err := w.click("U0BEN", card, "approve"); err != nil {
			t.Fatal(err)
		}
		w.said(thread, "Done.")
		w.marked(thread, "white_check_mark")
	}
}
