package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"countersign/internal/openaidev"
)

// triggerYAML is an agents file whose deployments are sent to a system outside.
const triggerYAML = `version: 1
default_agent: ops
agents:
  ops:
    instructions: You run operations.
    model: gpt-5.2
    tools:
      - type: external
        name: deploy
        description: Deployed by the pipeline.
        parameters:
          { type: object, required: [ref], additionalProperties: false, properties: { ref: { type: string } } }
        needs_approval: true
        trigger:
          url: ${EFFECTS_URL}/deploy
          headers: { Authorization: "Bearer ${EFFECTS_TOKEN}" }
default_policy: { approvers: { channel_members: true } }
`

// newTriggerWorld is a world whose program has a public URL, in Socket Mode.
func newTriggerWorld(t *testing.T) *world { return triggerWorld(t, settings{}) }

func triggerWorld(t *testing.T, s settings) *world {
	listen := freeAddress(t)
	s.env = append(s.env, "COUNTERSIGN_PUBLIC_URL=http://"+listen+"/")
	s.rules = append(s.rules, openaidev.Rule{User: "deploy", Reply: openaidev.Reply{Calls: []openaidev.Call{{
		Name: "deploy", Arguments: `{"ref":"v2.4.1"}`,
	}}}})
	w := newWorld(t, s)
	w.listen = listen
	w.write("countersign.yaml", triggerYAML)
	return w
}

// sentCall is what the system outside receives.
type sentCall struct {
	Effect   string `json:"effect_id"`
	Request  string `json:"request"`
	Callback struct{ URL, Token string }
}

func (w *world) sent() sentCall {
	w.t.Helper()
	var c sentCall
	all := w.effects.all()
	if len(all) != 1 || all[0].path != "/deploy" || all[0].authorization != "Bearer "+canaryToken {
		w.t.Fatalf("sent %+v", all)
	}
	if err := json.Unmarshal([]byte(all[0].body), &c); err != nil || c.Effect != all[0].key {
		w.t.Fatalf("sent %s under the key %s: %v", all[0].body, all[0].key, err)
	}
	return c
}

// report sends a result as the system outside does, and returns the status.
func (w *world) report(c sentCall, result string) int {
	w.t.Helper()
	body := fmt.Sprintf(`{"result":%q}`, result)
	r, err := http.NewRequestWithContext(w.ctx, http.MethodPost, c.Callback.URL, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Callback.Token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// keepsNo checks that the text is in no file, output, message or request to the model.
func (w *world) keepsNo(what, text string) {
	w.t.Helper()
	told, held := w.places()
	maps.Copy(told, held)
	for where, has := range told {
		if strings.Contains(has, text) {
			w.t.Errorf("%s holds the %s", where, what)
		}
	}
}

// TestTriggerAndCallback is the whole story: an approved call is sent, the system reports, the card says so, and what
// comes later changes nothing.
func TestTriggerAndCallback(t *testing.T) {
	t.Parallel()
	w := newTriggerWorld(t)
	w.start()
	thread := w.mention("deploy")
	gate := w.card(thread, 1)
	w.noEffect()
	w.mustClick(ben, gate, "approve")
	card := w.card(thread, 2)
	w.until("the call to be sent", func() bool { return len(w.effects.all()) > 0 })
	c := w.sent()
	shows(t, card, "Result needed: deploy", "Another system carries this out")
	w.until("the card to say that it was sent", func() bool {
		m, _ := w.slack.Message(general, card.TS)
		return strings.Contains(m.Shown(), "The call was sent to http://")
	})
	wrong := c
	wrong.Callback.Token = c.Callback.Token[1:]
	if code := w.report(wrong, "x"); code != http.StatusUnauthorized {
		t.Errorf("with another token: %d", code)
	}
	if code := w.report(c, "build 4711"); code != http.StatusOK {
		t.Errorf("the result: %d", code)
	}
	w.settled(card, "result provided")
	w.answer(thread, "build 4711")
	m, _ := w.slack.Message(general, card.TS)
	shows(t, m, "Approved by callback", "result provided", "build 4711", "ran", ", as callback reports",
		"sent with the call", "no person has looked at it")
	if code := w.report(c, "build 4711"); code != http.StatusConflict {
		t.Errorf("once more: %d", code)
	}
	w.sent()
	w.verified()
	w.keepsNo("token", c.Callback.Token)
}

// TestCallbackFromTheCommandLine replaces the token that went out with the call.
func TestCallbackFromTheCommandLine(t *testing.T) {
	t.Parallel()
	w := newTriggerWorld(t)
	w.start()
	thread := w.mention("deploy")
	w.mustClick(ben, w.card(thread, 1), "approve")
	card := w.card(thread, 2)
	w.until("the card to say that it was sent", func() bool {
		m, _ := w.slack.Message(general, card.TS)
		return strings.Contains(m.Shown(), "The call was sent to http://")
	})
	first := w.sent()
	second := first
	var at struct{ URL, Token string }
	out := w.must("approvals", "callback", first.Request, "--as", ben, "--json")
	if err := json.Unmarshal([]byte(out), &at); err != nil || at.URL != first.Callback.URL {
		t.Fatalf("%s: %v", out, err)
	}
	second.Callback.Token = at.Token
	if code := w.report(first, "x"); code != http.StatusUnauthorized {
		t.Errorf("with the replaced token: %d", code)
	}
	if code := w.report(second, "build 4711"); code != http.StatusOK {
		t.Errorf("with the new token: %d", code)
	}
	w.settled(card, "result provided")
	w.answer(thread, "build 4711")
	if out := w.must("approvals", "show", first.Request); !strings.Contains(out, "by callback via callback") ||
		!strings.Contains(out, "with a token made for "+ben) {
		t.Errorf("show:\n%s", out)
	}
	w.verified()
}

// TestKillWhileTriggering kills the real program around the sending of a call: it is sent at most once, and where
// nobody knows whether it was, people are told, and find out.
func TestKillWhileTriggering(t *testing.T) {
	t.Parallel()
	for point, c := range map[string]struct {
		sent    int
		unknown bool
	}{
		"trigger.before_intent":      {1, false},
		"trigger.after_intent":       {0, true},
		"trigger.sent_before_record": {1, true},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			path, err := binaries.faults()
			if err != nil {
				t.Fatal(err)
			}
			w := newTriggerWorld(t)
			bot := w.spawn(path, w.env("COUNTERSIGN_FAULT="+point), "run")
			w.until("the program to be connected", func() bool { return w.slack.Connections() > 0 })
			thread := w.mention("deploy")
			w.mustClick(ben, w.card(thread, 1), "approve")
			select {
			case <-bot.reach:
				bot.kill()
			case <-w.ctx.Done():
				t.Fatal("the crash point was not reached")
			}
			next := w.start()
			card := w.card(thread, 2)
			word := "The call was sent to http://"
			if c.unknown {
				word = "the program was stopped while the call was sent"
			}
			w.until("the card to say "+word, func() bool {
				m, _ := w.slack.Message(general, card.TS)
				return strings.Contains(m.Shown(), word)
			})
			w.decides(ben, card, "provide-result", "build 4711")
			w.answer(thread, "build 4711")
			if got := w.effects.all(); len(got) != c.sent {
				t.Errorf("sent %d times, want %d", len(got), c.sent)
			}
			if c.sent > 0 {
				w.secrets = append(w.secrets[:len(w.secrets):len(w.secrets)], w.sent().Callback.Token)
			}
			w.judged(next)
		})
	}
}
