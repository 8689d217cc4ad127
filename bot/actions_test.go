package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

const small = `{"amount":1200,"to":"acme"}`

func TestButtonsDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action  string
		verdict approvals.Verdict
	}{
		{"approve", approvals.Approve}, {"reject", approvals.Reject},
	} {
		t.Run(c.action, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{})
			r := transfer(small)
			if err := s.click("U0BEN", s.show(r), c.action); err != nil {
				t.Fatal(err)
			}
			got := s.service.get(r.ID).Decisions
			if len(got) != 1 || got[0].Verdict != c.verdict || got[0].Via != "button" || got[0].By != user("U0BEN") {
				t.Errorf("decisions: %+v", got)
			}
		})
	}
}

func TestRefusedClicksAreExplained(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	for _, c := range []struct{ user, words, why string }{
		{"U0GUS", "Guests cannot decide. Other members of a channel can: open the thread.", "guests never decide"},
		{"U0ANN", "You asked for this, so somebody else has to decide.", "no self-approval"},
	} {
		if err := s.click(c.user, card, "approve"); err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		s.whispered(c.user, c.words)
	}
	if got := s.service.get(r.ID); len(got.Decisions) != 0 {
		t.Fatalf("somebody decided: %+v", got.Decisions)
	}
	if err := s.click("U0BEN", card, "reject"); err != nil {
		t.Fatal(err)
	}
	if err := s.click("U0CLEO", card, "approve"); err != nil { // the card is not brought up to date yet
		t.Fatal(err)
	}
	s.whispered("U0CLEO", "Rejected by <@U0BEN>")
	s.eventually("the late click brings the card up to date", func() bool {
		m, _ := s.slack.Message(card.Channel, card.TS)
		return !decidable(m)
	})
	if got := s.service.get(r.ID).Status; got != approvals.RequestRejected {
		t.Errorf("status %s", got)
	}
}

func TestTwoClickAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	var both sync.WaitGroup
	for _, c := range [][2]string{{"U0BEN", "approve"}, {"U0CLEO", "reject"}} {
		both.Go(func() {
			if err := s.click(c[0], card, c[1]); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	decided := s.service.get(r.ID)
	if len(decided.Decisions) != 1 {
		t.Fatalf("%d decisions", len(decided.Decisions))
	}
	loser := map[approvals.UserID]string{user("U0BEN"): "U0CLEO", user("U0CLEO"): "U0BEN"}[decided.Decisions[0].By]
	s.whispered(loser, "<@"+decided.Decisions[0].By.Local()+">")
}

// TestClickIsAcknowledgedAfterTheCommit stops the service before it commits. Nothing may be acknowledged meanwhile.
// The planted bug ack_early is the control: with it this test must fail.
func TestClickIsAcknowledgedAfterTheCommit(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	reached, release := make(chan struct{}), make(chan struct{})
	s.service.hold = func(what string) {
		if what == "decide" {
			close(reached)
			<-release
		}
	}
	clicked := make(chan error, 1)
	go func() { clicked <- s.click("U0BEN", card, "approve") }()
	<-reached
	select {
	case err := <-clicked:
		t.Errorf("acknowledged before the commit (%v)", err)
		close(release)
		return
	case <-time.After(300 * time.Millisecond):
	}
	close(release)
	if err := <-clicked; err != nil {
		t.Fatal(err)
	}
	if got := s.service.get(r.ID).Status; got != approvals.RequestApproved {
		t.Errorf("status %s", got)
	}
}

func TestSlowDecisionIsConfirmedLater(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	release := make(chan struct{})
	s.service.hold = func(what string) {
		if what == "decide" {
			<-release
		}
	}
	if err := s.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0BEN", "Your answer is on its way")
	close(release)
	s.whispered("U0BEN", "Recorded: approved")
}

// TestClicksAreAcknowledgedInTime has three people click while the store hangs. They wait for each other in here, but
// each is acknowledged when decideBudget is over, which leaves a second of Slack's three.
func TestClicksAreAcknowledgedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, hello)
		r := transfer(small)
		r.Requirement.SelfApproval = true
		r.Cards = []approvals.Card{{Channel: "C0GENERAL", Message: "1700000000.000200"}}
		l.service.put(r)
		release := make(chan struct{})
		l.service.hold = func(string) { <-release }
		for _, who := range []string{"U0ANN", "U0BEN", "U0CLEO"} {
			l.say(clickFrame(who, r))
		}
		l.wait(decideBudget - time.Millisecond)
		if got := l.acks(); len(got) != 0 {
			t.Errorf("acknowledged before the commit: %v", got)
		}
		l.wait(time.Millisecond)
		if got := l.acks(); len(got) != 3 {
			t.Errorf("acknowledged after %s: %v", decideBudget, got)
		}
		for _, who := range []string{"U0ANN", "U0BEN", "U0CLEO"} {
			if got := l.told(who); len(got) != 1 || !strings.Contains(got[0], "Your answer is on its way") {
				t.Errorf("%s is told %q", who, got)
			}
		}
		close(release)
		synctest.Wait()
		for _, who := range []string{"U0ANN", "U0BEN", "U0CLEO"} {
			got := l.told(who)
			last := got[len(got)-1]
			answered := strings.Contains(last, "Recorded: approved") || strings.Contains(last, "Already decided")
			if len(got) != 2 || !answered {
				t.Errorf("%s is told %q", who, got)
			}
		}
		if got := l.service.get(r.ID).Decisions; len(got) != 1 {
			t.Errorf("%d decisions", len(got))
		}
	})
}

// clickFrame is an envelope, named after who clicks, with a click on the card's approve button.
func clickFrame(who string, r *approvals.Request) []byte {
	card := r.Cards[0]
	return fmt.Appendf(nil, `{"type":"interactive","envelope_id":"click of %[1]s","payload":{`+
		`"type":"block_actions","user":{"id":"%[1]s"},"team":{"id":"T0DEV"},`+
		`"container":{"type":"message","channel_id":"%[2]s","message_ts":"%[3]s"},`+
		`"actions":[{"action_id":"approve","value":"%[4]s","action_ts":"1"}]}}`,
		who, card.Channel, card.Message, r.ID)
}

func TestFormIsOnlyForThoseWhoMayDecide(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	card := s.show(transfer(small))
	if err := s.click("U0ANN", card, "reject_with_reason"); err != nil {
		t.Fatal(err)
	}
	s.eventually("words", func() bool {
		return strings.Contains(string(s.modalOf("U0ANN", viewWords).Blocks), "somebody else has to decide")
	})
}

func TestLostAnswerIsFoundByReadingAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	s.service.forget = true
	if err := s.click("U0BEN", card, "approve"); err != nil {
		t.Fatalf("the decision was recorded, but the click was not acknowledged: %v", err)
	}
}

func TestFailingStoreLeavesTheClickUnacknowledged(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{AckTimeout: 500 * time.Millisecond}})
	r := transfer(small)
	card := s.show(r)
	s.service.mu.Lock()
	s.service.fail = errors.New("disk full")
	s.service.mu.Unlock()
	if err := s.click("U0BEN", card, "approve"); !errors.Is(err, slackdev.ErrTrouble) {
		t.Errorf("a decision that was not recorded was acknowledged: %v", err)
	}
	s.whispered("U0BEN", "was not recorded")
	if strings.Contains(s.logs.String(), "acme") {
		t.Error("arguments in the log")
	}
}

func TestRejectWithReason(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	if err := s.click("U0BEN", card, "reject_with_reason"); err != nil {
		t.Fatal(err)
	}
	form := s.modalOf("U0BEN", "reject_with_reason")
	answer, err := s.slack.Submit(s.ctx(), "U0BEN", form.ID, reasoned("  "))
	if err != nil || answer["response_action"] != "errors" {
		t.Errorf("an empty reason: %v, %v", answer, err)
	}
	answer, err = s.slack.Submit(s.ctx(), "U0BEN", form.ID, reasoned("too much"))
	if err != nil || answer != nil {
		t.Fatalf("submit: %v, %v", answer, err)
	}
	got := s.service.get(r.ID).Decisions
	if len(got) != 1 || got[0].Reason != "too much" || got[0].Verdict != approvals.Reject ||
		got[0].Via != "modal" || got[0].Digest != r.Digest {
		t.Errorf("decisions: %+v", got)
	}
	if err := s.click("U0CLEO", card, "reject_with_reason"); err != nil {
		t.Fatal(err)
	}
	s.eventually("the late one reads who decided", func() bool {
		late := s.modalOf("U0CLEO", viewWords)
		return strings.Contains(string(late.Blocks), "U0BEN")
	})
}

func TestFormFindsARequestDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	if err := s.click("U0BEN", card, "reject_with_reason"); err != nil {
		t.Fatal(err)
	}
	form := s.modalOf("U0BEN", "reject_with_reason")
	if err := s.click("U0CLEO", card, "approve"); err != nil {
		t.Fatal(err)
	}
	answer, err := s.slack.Submit(s.ctx(), "U0BEN", form.ID, reasoned("no"))
	if err != nil || answer["response_action"] != "update" {
		t.Errorf("submit: %v, %v", answer, err)
	}
	if raw, _ := json.Marshal(answer); !strings.Contains(string(raw), "U0CLEO") {
		t.Errorf("the form does not say who decided: %s", raw)
	}
}

func TestFormSaysAtTheFieldWhatCanBeMended(t *testing.T) {
	t.Parallel()
	noText := &approvals.Refusal{Fact: approvals.ErrInvalid, Why: "it is no text"}
	for err, words := range map[error]string{
		fmt.Errorf("decide: %w: users.info answered 500", approvals.ErrUnavailable): "try again in a minute",
		fmt.Errorf("decide: %w", noText):                                            "it is no text",
		fmt.Errorf("decide: %w: users.info has it", approvals.ErrInvalid):           "does not fit",
		errors.New("disk full"):                                                     "was not recorded",
	} {
		s := newStage(t, setUp{})
		if err := s.click("U0BEN", s.show(transfer(small)), "reject_with_reason"); err != nil {
			t.Fatal(err)
		}
		form := s.modalOf("U0BEN", "reject_with_reason")
		s.service.mu.Lock()
		s.service.fail = err
		s.service.mu.Unlock()
		answer, bad := s.slack.Submit(s.ctx(), "U0BEN", form.ID, reasoned("no"))
		if bad != nil || answer["response_action"] != "errors" {
			t.Errorf("%v: %v, %v", err, answer, bad)
		}
		raw, _ := json.Marshal(answer)
		if !strings.Contains(string(raw), words) || strings.Contains(string(raw), "users.info") {
			t.Errorf("%v: the field says %s", err, raw)
		}
	}
}

func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action  string
		verdict approvals.Verdict
		text    string
	}{
		{"retry", approvals.Retry, ""},
		{"mark_done", approvals.MarkDone, "it is in the ledger"},
		{"give_up", approvals.GiveUp, "leave it"},
	} {
		t.Run(c.action, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{})
			r := transfer(small)
			r.Kind = agent.OutcomeUnknown
			card := s.show(r)
			if err := s.click("U0BEN", card, c.action); err != nil {
				t.Fatal(err)
			}
			if c.text != "" {
				form := s.modalOf("U0BEN", c.action)
				if _, err := s.slack.Submit(s.ctx(), "U0BEN", form.ID, reasoned(c.text)); err != nil {
					t.Fatal(err)
				}
			}
			got := s.service.get(r.ID).Decisions
			if len(got) != 1 || got[0].Verdict != c.verdict || got[0].Reason != c.text {
				t.Errorf("decisions: %+v", got)
			}
		})
	}
}

func TestLargeCallIsApprovedOnTheLastPage(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(`{"text":"` + strings.Repeat("all work and no play ", 3200) + `"}`)
	card := s.show(r)
	if _, ok := card.Button("approve"); ok {
		t.Fatal("the card offers to approve what it does not show")
	}
	if err := s.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	last := len(newCallText(r).pages()) - 1
	if last < 2 {
		t.Fatalf("only %d pages; the test proves nothing", last+1)
	}
	read := ""
	for page := 0; ; page++ {
		view := s.modalOf("U0BEN", viewDetails)
		s.eventually("page", func() bool {
			view = s.modalOf("U0BEN", viewDetails)
			n, _ := readNote(view.PrivateMetadata)
			return n.Page == page
		})
		var blocks []seenBlock
		if err := json.Unmarshal(view.Blocks, &blocks); err != nil {
			t.Fatal(err)
		}
		for _, p := range newCallText(r).pages()[page] {
			if !strings.Contains(texts(t, view.Blocks), p.text) {
				t.Fatalf("page %d does not show its text", page)
			}
			read += p.text
		}
		if page == last {
			err := s.slack.Click(s.ctx(), slackdev.Click{User: "U0BEN", ViewID: view.ID, ActionID: "approve"})
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if actions(blocks)["approve"] {
			t.Fatalf("page %d of %d offers to approve", page+1, last+1)
		}
		err := s.slack.Click(s.ctx(), slackdev.Click{User: "U0BEN", ViewID: view.ID, ActionID: "details_next"})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(read, string(r.Arguments)) {
		t.Error("the pages do not join to the arguments")
	}
	got := s.service.get(r.ID).Decisions
	if len(got) != 1 || got[0].Verdict != approvals.Approve || got[0].Via != "modal" || got[0].Digest != r.Digest {
		t.Errorf("decisions: %+v", got)
	}
}

// TestForgedClicksDecideNothing sends what Slack's own client would never send.
func TestForgedClicksDecideNothing(t *testing.T) {
	t.Parallel()
	type payload = map[string]any
	button := func(p payload) payload { return p["actions"].([]any)[0].(payload) }
	other := `{"text":"` + strings.Repeat("all work and no play ", 3200) + `"}`
	for _, c := range []struct {
		why   string
		args  string
		forge func(payload)
	}{
		{"another app", small, func(p payload) { p["api_app_id"] = "A0OTHER" }},
		{"another workspace", small, func(p payload) { p["team"] = payload{"id": "T0OTHER"} }},
		{"no workspace", small, func(p payload) { p["team"] = nil }},
		{"another message", small, func(p payload) { p["container"].(payload)["message_ts"] = "1.000001" }},
		{"another channel", small, func(p payload) {
			p["container"].(payload)["channel_id"] = "C0OTHER"
			p["channel"].(payload)["id"] = "C0OTHER"
		}},
		{"an unknown button", small, func(p payload) { button(p)["action_id"] = "approve_everything" }},
		{"no id of a request", small, func(p payload) { button(p)["value"] = "../../etc" }},
		{"two buttons at once", small, func(p payload) { p["actions"] = append(p["actions"].([]any), button(p)) }},
		{"no button", small, func(p payload) { p["actions"] = []any{} }},
		{"what was shown had another digest", small, func(p payload) {
			button(p)["block_id"] = shownPrefix + strings.Repeat("00", 32) + ".1.3"
		}},
		{"approve on a card that did not offer it", other, func(p payload) { button(p)["action_id"] = "approve" }},
		{"a details page that was not the last", other, func(p payload) {
			button(p)["action_id"] = "approve"
			p["container"] = payload{"type": "view", "view_id": "V1"}
			shown := note{Request: transfer(other).ID, Digest: transfer(other).Digest}
			p["view"] = payload{
				"id": "V1", "type": "modal", "callback_id": viewDetails, "private_metadata": shown.String(),
			}
		}},
		{"a view that is no view of ours", small, func(p payload) {
			p["view"] = payload{"id": "V1", "type": "modal", "callback_id": "else"}
		}},
		{"nobody", small, func(p payload) { p["user"].(payload)["id"] = "" }},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{})
			r := transfer(c.args)
			card := s.show(r)
			act := "reject"
			if c.args == small {
				act = "approve"
			}
			p, err := s.slack.Payload(slackdev.Click{User: "U0BEN", Channel: card.Channel, TS: card.TS, ActionID: act})
			if err != nil {
				t.Fatal(err)
			}
			genuine, _ := json.Marshal(p)
			c.forge(p)
			if err := s.slack.ClickRaw(s.ctx(), p); err != nil {
				t.Errorf("not acknowledged: %v", err)
			}
			if got := s.service.get(r.ID).Decisions; len(got) != 0 {
				t.Fatalf("a decision was recorded: %+v", got)
			}
			// The control: the same payload as it was.
			var again payload
			if err := json.Unmarshal(genuine, &again); err != nil {
				t.Fatal(err)
			}
			if err := s.slack.ClickRaw(s.ctx(), again); err != nil {
				t.Fatal(err)
			}
			if got := s.service.get(r.ID).Decisions; len(got) != 1 {
				t.Errorf("the genuine click recorded %d decisions", len(got))
			}
		})
	}
}

func TestRedeliveredClickIsTheSameDecision(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	p, err := s.slack.Payload(slackdev.Click{User: "U0BEN", Channel: card.Channel, TS: card.TS, ActionID: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.slack.ClickRaw(s.ctx(), p); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(s.service.get(r.ID).Decisions); got != 1 || s.service.decided != 1 {
		t.Errorf("%d decisions, %d commits", got, s.service.decided)
	}
	if got := s.slack.Ephemerals("U0BEN"); len(got) != 0 {
		t.Errorf("the person was told something: %q", got[0].Text)
	}
}

// TestClickWithUnknownBlocks is the regression against decoders that know every block: Slack adds kinds all the time.
func TestClickWithUnknownBlocks(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	p, err := s.slack.Payload(slackdev.Click{User: "U0BEN", Channel: card.Channel, TS: card.TS, ActionID: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	message := p["message"].(map[string]any)
	message["blocks"] = []any{map[string]any{"type": "hologram", "elements": []any{map[string]any{"type": "dial"}}}}
	if err := s.slack.ClickRaw(s.ctx(), p); err != nil {
		t.Fatal(err)
	}
	if got := len(s.service.get(r.ID).Decisions); got != 1 {
		t.Errorf("%d decisions", got)
	}
}

func TestClickBeforeTheCardIsRecorded(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	s.service.edit(r.ID, func(r *approvals.Request) { r.Cards = nil })
	if err := s.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	if got := len(s.service.get(r.ID).Decisions); got != 1 {
		t.Errorf("%d decisions", got)
	}
}

func (f *fakeService) cancellations() []approvals.RunID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.cancelled)
}

// TestCancelRun presses the button in each place where somebody who may do so has it. Ann asked, Ben approves.
func TestCancelRun(t *testing.T) {
	t.Parallel()
	for name, press := range map[string]func(s *stage, user string, r *approvals.Request, card slackdev.Message) error{
		"on the card": func(s *stage, user string, _ *approvals.Request, card slackdev.Message) error {
			return s.click(user, card, "cancel_run")
		},
		"in the details": func(s *stage, user string, _ *approvals.Request, card slackdev.Message) error {
			if err := s.click(user, card, "show_details"); err != nil {
				return err
			}
			view := s.modalOf(user, viewDetails)
			return s.clickIn(user, view, "cancel_run")
		},
		"in the command's answer": func(s *stage, user string, r *approvals.Request, _ slackdev.Message) error {
			m := s.command(user, "show "+string(r.ID))
			return s.click(user, m, "cancel_run")
		},
	} {
		for _, user := range []string{"U0ANN", "U0BEN"} {
			t.Run(name+" by "+user, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, setUp{})
				r := transfer(small)
				card := s.show(r)
				if err := press(s, user, r, card); err != nil {
					t.Fatal(err)
				}
				if user == "U0BEN" || name == "on the card" { // from the menu; the button asks back itself
					if got := s.service.cancellations(); len(got) != 0 {
						t.Error("cancelled without having been asked back")
					}
					s.eventually("the form says what it does", func() bool {
						return strings.Contains(texts(t, s.modalOf(user, "cancel_run").Blocks), wordsCancelRunMeans)
					})
					s.submits(user, "cancel_run", nil)
				}
				if got := s.service.cancellations(); len(got) != 1 || got[0] != r.Run {
					t.Errorf("cancelled: %v", got)
				}
			})
		}
	}
}

func TestCancelRunIsNotForEverybody(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	if err := s.click("U0GUS", card, "cancel_run"); err != nil {
		t.Fatal(err)
	}
	s.eventually("a refusal", func() bool {
		return strings.Contains(texts(t, s.modalOf("U0GUS", viewWords).Blocks), "Guests cannot decide")
	})
	p, err := s.slack.Payload(slackdev.Click{User: "U0GUS", Channel: card.Channel, TS: card.TS, ActionID: "reject"})
	if err != nil {
		t.Fatal(err)
	}
	p["actions"].([]any)[0].(map[string]any)["action_id"] = "cancel_run" // the button of earlier versions
	if err := s.slack.ClickRaw(s.ctx(), p); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0GUS", "You cannot cancel this run: neither the requester nor an approver")
	if err := s.click("U0GUS", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	if view := s.modalOf("U0GUS", viewDetails); strings.Contains(string(view.Blocks), "cancel_run") {
		t.Error("the details offer it to somebody who may not")
	}
	if got := s.service.cancellations(); len(got) != 0 {
		t.Errorf("cancelled: %v", got)
	}
}

func TestDetailsAreForThoseWhoMaySee(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(`{"memo":"a secret plan"}`)
	card := s.show(r)
	s.service.mu.Lock()
	s.service.unseeable = []approvals.UserID{user("U0CLEO")}
	s.service.mu.Unlock()
	for _, who := range []string{"U0CLEO", "U0BEN"} {
		if err := s.click(who, card, "show_details"); err != nil {
			t.Fatal(err)
		}
	}
	s.modalOf("U0BEN", viewDetails)
	s.eventually("a refusal", func() bool {
		v := s.modalOf("U0CLEO", viewWords)
		return strings.Contains(string(v.Blocks), "You cannot")
	})
	for _, v := range s.slack.Views("U0CLEO") {
		if strings.Contains(string(v.Blocks), "secret plan") {
			t.Error("the details were shown to somebody who may not see them")
		}
	}
}
