package bot

import (
	"regexp"
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// notice waits for a notice in the thread that holds the words.
func (w *world) notice(thread, words string) slackdev.Message {
	w.t.Helper()
	var found slackdev.Message
	w.eventually("a notice with "+words, func() bool {
		for _, m := range w.slack.Thread("C0GENERAL", thread) {
			if m.Metadata != nil && m.Metadata.EventType == noticeEvent &&
				strings.Contains(texts(w.t, m.Blocks), words) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// TestEndOfARunNamesItsCalls: two calls of one tool wait, one is approved and runs, then Ann cancels. The notice says
// who cancelled, which call ran and which did not, and names the arguments of each below; notifications hold none of
// them. The cards say who cancelled.
func TestEndOfARunNamesItsCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, scripted.Calls(
		scripted.Call("call_1", "transfer_funds", `{"to":"acme","amount":1}`),
		scripted.Call("call_2", "transfer_funds", `{"to":"globex","amount":2}`),
	), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay both", "")
	first, second := w.card(thread, 1), w.card(thread, 2)
	if err := w.click("U0BEN", first, "approve"); err != nil {
		t.Fatal(err)
	}
	w.shown(first, " · ran ")
	if err := w.click("U0BEN", second, "cancel_run"); err != nil {
		t.Fatal(err)
	}
	w.submits("U0BEN", "cancel_run", nil)
	m := w.notice(thread, "cancelled the run")
	ran, not := requestOf(t, first), requestOf(t, second)
	said := texts(t, m.Blocks)
	for _, words := range []string{
		"@U0BEN cancelled the run.", "Carried out before that: transfer_funds (" + ran + ")",
		"Not carried out: transfer_funds (" + not + ")",
		"transfer_funds: 1, acme · " + ran + " · open", "transfer_funds: 2, globex · " + not + " · open",
	} {
		if !strings.Contains(said, words) {
			t.Errorf("the notice lacks %q: %s", words, said)
		}
	}
	if !strings.Contains(m.Text, "<@U0BEN> cancelled the run.") || strings.Contains(m.Text, "globex") {
		t.Errorf("its fallback text: %s", m.Text)
	}
	w.shown(second, "Cancelled by @U0BEN")
}

var idOnCard = regexp.MustCompile(`req_[0-9a-z]+`)

// requestOf returns the id of the request that a card shows.
func requestOf(t *testing.T, card slackdev.Message) string {
	t.Helper()
	id := idOnCard.FindString(texts(t, card.Blocks))
	if id == "" {
		t.Fatalf("no request on %s", card.Blocks)
	}
	return id
}

// TestNoticesRevealNoOtherRun: a text that mentions a request of another conversation brings none of its arguments.
func TestNoticesRevealNoOtherRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	s.service.put(r)
	for run, reveals := range map[approvals.RunID]bool{r.Run: true, "run_another": false} {
		n := &approvals.Notification{
			Workspace: testWorkspace, ID: approvals.NotificationID("ntf_" + run), Kind: approvals.NotifyNotice,
			Place: r.Place, Run: run, Created: r.Created,
			Text: "Not carried out: transfer_funds (" + string(r.ID) + ").",
		}
		d, err := s.bot.Notify(s.ctx(), n)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := s.slack.Message(d.Channel, d.Message)
		if got := strings.Contains(texts(t, m.Blocks), "transfer_funds: 1200, acme · "+string(r.ID)); got != reveals {
			t.Errorf("run %s: %s", run, texts(t, m.Blocks))
		}
	}
}
