package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// secretMemo is the value of an argument that the agents file calls secret.
const secretMemo = "canary-memo-5150"

const secretYAML = `version: 1
default_agent: ops
agents:
  ops:
    instructions: You pay.
    model: gpt-5.2
    tools:
      - type: http
        name: pay
        description: Pays an amount.
        parameters:
          type: object
          required: [amount]
          properties: { amount: { type: number }, memo: { type: string } }
        method: POST
        url: ${EFFECTS_URL}/pay
%s
default_policy: { approvers: { channel_members: true } }
`

// newSecretWorld is a world whose agent pays with a memo; secret is the line of the agents file about it.
func newSecretWorld(t *testing.T, secret string) *world { return newSecretWorldIn(t, secret, false) }

// newSecretWorldIn is newSecretWorld, in a database if need be.
func newSecretWorldIn(t *testing.T, secret string, postgres bool) *world {
	listen := freeAddress(t)
	w := newWorld(t, settings{postgres: postgres, rules: []openaidev.Rule{
		{User: "pay quietly", Round: 0, Reply: openaidev.Reply{Calls: []openaidev.Call{
			{Name: "pay", Arguments: `{"amount":250,"memo":"` + secretMemo + `"}`}}}},
		{User: "pay quietly", Round: 1, Reply: openaidev.Reply{Text: "answer: it is paid"}},
	}})
	w.listen = listen
	w.write("countersign.yaml", fmt.Sprintf(secretYAML, secret))
	return w
}

// told returns the methods of Slack by which the value was sent, each once.
func (w *world) told(value string) (methods []string) {
	w.t.Helper()
	for _, c := range w.slack.Calls() {
		args, err := json.Marshal(c.Args)
		if err != nil {
			w.t.Fatal(err)
		}
		if strings.Contains(string(args), value) && !slices.Contains(methods, c.Method) {
			methods = append(methods, c.Method)
		}
	}
	return methods
}

// waitsFor returns the person's modal that holds the words.
func (w *world) waitsFor(user, words string) (found slackdev.View) {
	w.t.Helper()
	w.until("a modal with "+words, func() bool {
		for _, v := range w.slack.Views(user) {
			if strings.Contains(string(v.Blocks), words) {
				found = v
				return true
			}
		}
		return false
	})
	return found
}

func (w *world) page(path string) string {
	w.t.Helper()
	return fetched(w.t, "http://"+w.listen+path)
}

func fetched(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSecretArgument: the value of a secret argument reaches the tool, and the window of somebody who may decide and
// asks for it; no card, list, notice, log line, metric, export or command prints it otherwise. The trail says who was
// shown it.
func TestSecretArgument(t *testing.T) {
	t.Parallel()
	w := newSecretWorld(t, "        secret: [memo]\n")
	bot := w.start()
	thread := w.mention("pay quietly")
	card := w.card(thread, 1)
	shows(t, card, "amount", "250", "memo", "••• (16 characters)", "Secret, and not shown", "memo")
	id := card.Metadata.EventPayload["request"].(string)

	printed := w.ephemeral(ben, "all") + w.ephemeral(ben, "show "+id) + w.must("approvals", "show", id) +
		w.must("approvals", "show", id, "--json") + w.must("approvals", "list", "--json", "--status", "all") +
		w.page("/metrics")
	if err := w.slack.OpenHome(w.ctx, ben); err != nil {
		t.Fatal(err)
	}
	w.mustClick(ben, card, "show_details")
	view := w.waitsFor(ben, "reveal_secret")
	if methods := w.told(secretMemo); methods != nil || strings.Contains(printed, secretMemo) {
		t.Errorf("before anybody asked for it, Slack was told the value by %v; printed:\n%s", methods, printed)
	}
	if out, complaint, code := w.run("approvals", "show", id, "--reveal", "--as", ann); code == 0 ||
		strings.Contains(out+complaint, secretMemo) {
		t.Errorf("the requester is shown it: %d %s%s", code, out, complaint)
	}

	press := slackdev.Click{User: ben, ViewID: view.ID, ActionID: "reveal_secret"}
	if err := w.slack.Click(w.ctx, press); err != nil {
		t.Fatal(err)
	}
	view = w.waitsFor(ben, secretMemo)
	out := w.must("approvals", "show", id, "--reveal", "--as", cleo)
	if !strings.Contains(out, `"memo": "`+secretMemo) {
		t.Errorf("revealed on the command line:\n%s", out)
	}
	if err := w.slack.Click(w.ctx, slackdev.Click{User: ben, ViewID: view.ID, ActionID: "approve"}); err != nil {
		t.Fatal(err)
	}
	w.answer(thread, "it is paid")
	if got := w.effects.all(); len(got) != 1 || !strings.Contains(got[0].body, `"memo":"`+secretMemo+`"`) {
		t.Errorf("the tool got %+v", got)
	}
	w.settled(card, "ran")
	if methods := w.told(secretMemo); !slices.Equal(methods, []string{"views.update"}) {
		t.Errorf("Slack was told the value by %v", methods)
	}
	exported := w.must("audit", "export", "--json")
	printed = exported + w.must("approvals", "show", id) + w.ephemeral(ben, "history") + w.page("/metrics") +
		w.must("policy", "suggest", "--since", "1h", "--json") +
		w.must("policy", "simulate", "--since", "1h", "--json") +
		w.must("audit", "verify") + bot.out.String()
	if strings.Contains(printed, secretMemo) {
		t.Errorf("the value is printed:\n%s", printed)
	}
	for action, want := range map[string]int{"request.revealed": 2, "request.reveal_refused": 1} {
		if n := strings.Count(exported, `"`+action+`"`); n != want {
			t.Errorf("%d entries %s, want %d:\n%s", n, action, want, exported)
		}
	}
}

// TestArgumentThatIsNotSecret is the control: without the line in the agents file the value is on the card.
func TestArgumentThatIsNotSecret(t *testing.T) {
	t.Parallel()
	w := newSecretWorld(t, "")
	w.start()
	card := w.card(w.mention("pay quietly"), 1)
	shows(t, card, "amount", "250", "memo", secretMemo)
	if methods := w.told(secretMemo); !slices.Contains(methods, "chat.postMessage") {
		t.Errorf("Slack was told the value by %v", methods)
	}
	id := card.Metadata.EventPayload["request"].(string)
	if out := w.must("approvals", "show", id); !strings.Contains(out, secretMemo) {
		t.Errorf("show prints\n%s", out)
	}
}

// TestRevealWithoutTheBot: the command judges and records a revelation itself while no bot runs.
func TestRevealWithoutTheBot(t *testing.T) {
	t.Parallel()
	w := newSecretWorld(t, "        secret: [memo]\n")
	bot := w.start()
	card := w.card(w.mention("pay quietly"), 1)
	id := card.Metadata.EventPayload["request"].(string)
	bot.stop()
	if out := w.must("approvals", "show", id); strings.Contains(out, secretMemo) || !strings.Contains(out, "•••") {
		t.Errorf("show prints\n%s", out)
	}
	if out, complaint, code := w.run("approvals", "show", id, "--reveal", "--as", ann); code == 0 ||
		strings.Contains(out+complaint, secretMemo) {
		t.Errorf("the requester is shown it: %d %s%s", code, out, complaint)
	}
	if out := w.must("approvals", "show", id, "--reveal", "--as", ben); !strings.Contains(out, secretMemo) {
		t.Errorf("revealed:\n%s", out)
	}
	if n := w.trail()["request.revealed"]; n != 1 {
		t.Errorf("%d entries", n)
	}
	w.verified()
}
