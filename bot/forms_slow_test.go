package bot

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

// TestFormsAnswerBeforeTheStore: Slack waits three seconds for what a form comes to. Where the store takes longer, the
// window says that it does, and then what came of it; where it fails, what was typed is there again.
func TestFormsAnswerBeforeTheStore(t *testing.T) {
	t.Parallel()
	type story struct {
		act    string
		typed  string
		fails  bool
		comes  string // what the window says once the store has answered
		closed bool   // the person has closed it meanwhile, and reads the words in a direct message
	}
	for name, c := range map[string]story{
		"cancel":           {act: "cancel_run", comes: "You have cancelled the run"},
		"cancel, closed":   {act: "cancel_run", comes: "You have cancelled the run", closed: true},
		"cancel fails":     {act: "cancel_run", comes: "was not recorded", fails: true},
		"ask back":         {act: "ask_back", typed: "for whom?", comes: "I tell you when"},
		"ask, fails":       {act: "ask_back", typed: "for whom?", comes: "for whom?", fails: true},
		"ask, fails, then": {act: "ask_back", typed: "for whom?", comes: "was not recorded", fails: true, closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{tune: func(b *Bot) {
				if c.closed { // which the bot cannot tell from an acknowledgement that is on its way
					b.landing = []time.Duration{time.Millisecond}
				}
			}})
			card := s.show(transfer(small))
			if c.act == "ask_back" {
				if err := s.click("U0BEN", card, "show_details"); err != nil {
					t.Fatal(err)
				}
				if err := s.clickIn("U0BEN", s.modalOf("U0BEN", viewDetails), c.act); err != nil {
					t.Fatal(err)
				}
			} else if err := s.click("U0BEN", card, c.act); err != nil {
				t.Fatal(err)
			}
			s.modalOf("U0BEN", c.act)
			released := make(chan struct{})
			release := sync.OnceFunc(func() { close(released) })
			defer release()
			s.service.slow = func() { <-released }
			typed := map[string]any{}
			if c.typed != "" {
				typed["Your question"] = c.typed
			}
			answer := s.submits("U0BEN", c.act, typed)
			if answer["response_action"] != "update" {
				t.Fatalf("the form answers %v", answer)
			}
			view := s.modalOf("U0BEN", viewWords)
			if !strings.Contains(view.Shown(), "on its way") {
				t.Errorf("the window says %s", view.Shown())
			}
			if c.closed {
				if err := s.slack.CloseView(s.ctx(), "U0BEN", "", true); err != nil {
					t.Fatal(err)
				}
			}
			if c.fails {
				s.service.mu.Lock()
				s.service.fail = errors.New("connection refused")
				s.service.mu.Unlock()
			}
			release()
			if c.closed {
				s.hears("U0BEN", c.comes)
				return
			}
			s.eventually("the window says "+c.comes, func() bool {
				all := s.slack.Views("U0BEN")
				return len(all) == 1 && strings.Contains(all[0].Shown()+string(all[0].Blocks), c.comes)
			})
		})
	}
}

// TestCancelButtonAnswersBeforeTheStore: the button of a card without a menu.
func TestCancelButtonAnswersBeforeTheStore(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	card := s.show(transfer(small))
	p, err := s.slack.Payload(slackdev.Click{
		User: "U0BEN", Channel: card.Channel, TS: card.TS, ActionID: "reject",
	})
	if err != nil {
		t.Fatal(err)
	}
	action := p["actions"].([]any)[0].(map[string]any)
	action["action_id"] = "cancel_run"
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	s.service.slow = func() { <-released }
	if err := s.slack.ClickRaw(s.ctx(), p); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0BEN", "on its way")
	release()
	s.whispered("U0BEN", "You have cancelled the run")
}
