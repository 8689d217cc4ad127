package bot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// cards lists the messages in the thread that show a request.
func (s *stage) cards(r *approvals.Request) []slackdev.Message {
	var out []slackdev.Message
	for _, m := range s.slack.Thread(r.Place.Channel, r.Place.Thread) {
		if m.Metadata != nil && m.Metadata.EventType == cardEvent {
			out = append(out, m)
		}
	}
	return out
}

// waiting is a stage with a request whose card is not posted yet.
func waitingCard(t *testing.T, with setUp) (*stage, *approvals.Request) {
	s := newStage(t, with)
	r := transfer(small)
	r.Place.Thread = s.mention("U0ANN", "pay", "")
	s.service.put(r)
	return s, r
}

// TestUncertainPostIsNotRepeated breaks the answer of a post that Slack has carried out.
func TestUncertainPostIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]slackdev.Fault{
		"reset":         {Reset: true},
		"given up":      {Delay: time.Hour},
		"HTTP 500":      {Status: http.StatusInternalServerError},
		"half a body":   {Status: http.StatusOK, Body: `{"ok":true,"ts":"17`},
		"internal word": {Error: "internal_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, r := waitingCard(t, setUp{})
			fault.Method, fault.AfterEffect = methodPost, true
			s.slack.Fail(fault)
			n := cardNotification(r)
			ctx, giveUp := context.WithCancel(s.ctx())
			defer giveUp()
			if fault.Delay > 0 {
				go func() {
					_ = s.slack.WaitFor(ctx, func() bool { return len(s.cards(r)) > 0 })
					giveUp()
				}()
			}
			if d, err := s.bot.Notify(ctx, n); err == nil {
				t.Fatalf("the fault did not show: %+v", d)
			}
			d, err := s.bot.Notify(s.ctx(), n)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.cards(r); len(got) != 1 || got[0].TS != d.Message {
				t.Errorf("%d cards; delivered %+v", len(got), d)
			}
		})
	}
}

func TestCardOfADeadProcessIsFound(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	n := cardNotification(r)
	if _, err := s.bot.Notify(s.ctx(), n); err != nil {
		t.Fatal(err)
	}
	// The next process knows nothing but that the notification is older than itself.
	s.bot.started = time.Now()
	d, err := s.bot.Notify(s.ctx(), n)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.cards(r); len(got) != 1 || got[0].TS != d.Message {
		t.Errorf("%d cards; delivered %+v", len(got), d)
	}
	// What is found is brought up to date: meanwhile the request may have ended.
	r.Status, r.Settled, r.Version = approvals.RequestCancelled, time.Now(), 2
	*n.Card = *r
	if _, err := s.bot.Notify(s.ctx(), n); err != nil {
		t.Fatal(err)
	}
	if got := s.cards(r); len(got) != 1 || decidable(got[0]) {
		t.Errorf("%d cards with the buttons %v", len(got), got[0].Buttons())
	}
	// The control: without the search there are two.
	n.Created, s.bot.started = time.Now(), time.Now().Add(-time.Hour)
	if _, err := s.bot.Notify(s.ctx(), n); err != nil {
		t.Fatal(err)
	}
	if got := s.cards(r); len(got) != 2 {
		t.Errorf("%d cards: the search is not what prevented the second one", len(got))
	}
}

func TestRateLimitIsHandedOn(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	s.slack.Fail(slackdev.Fault{Method: methodPost, RetryAfter: 7 * time.Hour})
	n := cardNotification(r)
	for range 2 { // the second is not even sent
		_, err := s.bot.Notify(s.ctx(), n)
		var retry *approvals.RetryError
		if !errors.As(err, &retry) || retry.After < 6*time.Hour || retry.After > 7*time.Hour {
			t.Fatalf("got %v", err)
		}
	}
	if got := calls(s, methodPost); got != 1 {
		t.Errorf("%d posts while Slack asked to wait", got)
	}
}

func calls(s *stage, method string) int {
	n := 0
	for _, c := range s.slack.Calls() {
		if c.Method == method {
			n++
		}
	}
	return n
}

func TestClosedPlaceFallsBackToTheRequester(t *testing.T) {
	t.Parallel()
	const notIn = "I am not in <#C0GENERAL> any more, so this stands here instead. Invite me there again (type /invite "
	for word, why := range map[string]string{
		"channel_not_found": notIn, "not_in_channel": notIn,
		"is_archived":       "<#C0GENERAL> is archived, so this stands here instead.",
		"restricted_action": "I cannot write in <#C0GENERAL>, so this stands here instead.",
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s, r := waitingCard(t, setUp{})
			told := func(d approvals.Delivery, words ...string) {
				t.Helper()
				m, _ := s.slack.Message(d.Channel, d.Message)
				for _, want := range append(words, why) {
					if !strings.Contains(m.Shown(), want) {
						t.Errorf("%q is not in\n%s", want, m.Shown())
					}
				}
			}
			s.slack.Fail(slackdev.Fault{
				Method: methodPost, Error: word, Times: -1,
				Match: func(args map[string]any) bool { return args["channel"] == "C0GENERAL" },
			})
			d, err := s.bot.Notify(s.ctx(), cardNotification(r))
			if err != nil || d.Channel != s.slack.DM("U0ANN") {
				t.Fatalf("card: %+v, %v", d, err)
			}
			told(d, "Nobody else sees this message: whoever may decide finds the request with /approvals.",
				"Approve")
			answer := &approvals.Notification{
				Workspace: testWorkspace, ID: "ntf_a", Kind: approvals.NotifyAnswer,
				Place: r.Place, Text: "Paid.", Created: time.Now(),
			}
			if d, err = s.bot.Notify(s.ctx(), answer); err != nil || d.Channel != s.slack.DM("U0ANN") {
				t.Fatalf("answer: %+v, %v", d, err)
			}
			told(d, "Paid.")
			s.slack.Fail(slackdev.Fault{Method: methodOpenDM, Error: "user_disabled", Times: -1})
			answer.ID = "ntf_b"
			if _, err = s.bot.Notify(s.ctx(), answer); !errors.Is(err, approvals.ErrUndeliverable) ||
				!strings.Contains(err.Error(), methodOpenDM+" in U0ANN") {
				t.Errorf("nobody to write to: %v", err)
			}
		})
	}
}

// TestRefusedTokenIsWorthRepeating: Slack takes nothing with the token for now, as while a second factor is to be set
// up. Nothing is given up, neither in the channel nor for somebody in their direct messages.
func TestRefusedTokenIsWorthRepeating(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"token_revoked", "account_inactive", "ekm_access_denied", "team_access_not_granted",
		"two_factor_setup_required", "org_login_required", "team_disabled", "user_removed_from_team", "accesslimited",
	} {
		for _, to := range []struct {
			copyOf approvals.Copy
			method string
		}{{"", methodPost}, {approvals.CopyFor(user("U0BEN")), methodOpenDM}} {
			s, r := waitingCard(t, setUp{})
			s.slack.Fail(slackdev.Fault{Method: to.method, Error: word})
			n := cardNotification(r)
			n.Copy = to.copyOf
			if _, err := s.bot.Notify(s.ctx(), n); err == nil || errors.Is(err, approvals.ErrUndeliverable) {
				t.Errorf("%s of %s: %v", word, to.method, err)
			}
			if _, err := s.bot.Notify(s.ctx(), n); err != nil {
				t.Errorf("%s of %s, after the token was mended: %v", word, to.method, err)
			}
		}
	}
}

func TestUpdateOfALostCardPostsItAnew(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	r.Cards = []approvals.Card{{Channel: "C0GENERAL", Message: "1.000001"}}
	d, err := s.bot.Notify(s.ctx(), cardNotification(r))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.cards(r); len(got) != 1 || got[0].TS != d.Message {
		t.Errorf("%d cards; delivered %+v", len(got), d)
	}
}

func TestEveryCopyIsUpdatedAndRepeatsAreHarmless(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	for range 2 {
		n := cardNotification(r)
		n.ID = approvals.NotificationID(fmt.Sprint("ntf_", len(r.Cards)))
		n.Card.Cards = nil
		d, err := s.bot.Notify(s.ctx(), n)
		if err != nil {
			t.Fatal(err)
		}
		r.Cards = append(r.Cards, approvals.Card{Channel: d.Channel, Message: d.Message})
	}
	r.Status, r.Settled, r.Version = approvals.RequestExpired, time.Now(), 2
	for range 3 {
		if _, err := s.bot.Notify(s.ctx(), cardNotification(r)); err != nil {
			t.Fatal(err)
		}
	}
	got := s.cards(r)
	if len(got) != 2 {
		t.Fatalf("%d cards", len(got))
	}
	for _, m := range got {
		if decidable(m) || !strings.Contains(texts(t, m.Blocks), "Expired") || m.UnfurlLinks || m.UnfurlMedia {
			t.Errorf("card %s: %s", m.TS, m.Text)
		}
	}
}

func TestCardThatSlackFindsTooLargeIsShortened(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"msg_blocks_too_long", "invalid_blocks"} {
		s, r := waitingCard(t, setUp{})
		s.slack.Fail(slackdev.Fault{Method: methodPost, Error: word})
		if _, err := s.bot.Notify(s.ctx(), cardNotification(r)); err != nil {
			t.Fatal(err)
		}
		got := s.cards(r)
		if len(got) != 1 {
			t.Fatalf("%d cards", len(got))
		}
		_, approve := got[0].Button("approve")
		if _, details := got[0].Button("show_details"); approve || !details {
			t.Errorf("%s: the shorter card has the buttons %v", word, got[0].Buttons())
		}
		s.slack.Fail(slackdev.Fault{Method: methodPost, Error: word, Times: -1})
		n := cardNotification(r)
		n.ID = "ntf_again"
		if _, err := s.bot.Notify(s.ctx(), n); !errors.Is(err, approvals.ErrUndeliverable) {
			t.Errorf("%s for good: %v", word, err)
		}
	}
}

// TestUpdateThatSlackRefusesForGood must not hold up what waits behind it in the thread for ever.
func TestUpdateThatSlackRefusesForGood(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"invalid_arguments": true, "invalid_blocks": true, "msg_too_long": true,
		"token_revoked": false, "internal_error": false,
	} {
		s, r := waitingCard(t, setUp{})
		d, err := s.bot.Notify(s.ctx(), cardNotification(r))
		if err != nil {
			t.Fatal(err)
		}
		r.Cards = []approvals.Card{{Channel: d.Channel, Message: d.Message}}
		s.slack.Fail(slackdev.Fault{Method: methodUpdate, Error: word, Times: -1})
		n := cardNotification(r)
		n.ID = "ntf_again"
		if _, err := s.bot.Notify(s.ctx(), n); err == nil || errors.Is(err, approvals.ErrUndeliverable) != want {
			t.Errorf("%s: undeliverable must be %t: %v", word, want, err)
		}
	}
}

func TestSecondCardLosesItsButtons(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	for i := range 2 {
		n := cardNotification(r)
		n.ID = approvals.NotificationID(fmt.Sprint("ntf_", i))
		if _, err := s.bot.Notify(s.ctx(), n); err != nil {
			t.Fatal(err)
		}
	}
	both := s.cards(r)
	if len(both) != 2 {
		t.Fatalf("%d cards", len(both))
	}
	s.service.edit(r.ID, func(r *approvals.Request) {
		r.Cards = []approvals.Card{{Channel: both[0].Channel, Message: both[0].TS}}
	})
	if err := s.click("U0BEN", both[1], "approve"); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0BEN", "This is a copy")
	s.eventually("the copy has no buttons", func() bool { return !decidable(s.cards(r)[1]) })
	if got := s.service.get(r.ID); len(got.Decisions) != 0 || len(s.cards(r)[0].Buttons()) == 0 {
		t.Errorf("the copy counted: %+v", got.Decisions)
	}
}

func TestLongAnswerIsPostedOnceInOrder(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	var want strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&want, "line %d of the answer\n", i)
	}
	n := &approvals.Notification{
		Workspace: testWorkspace, ID: "ntf_long", Kind: approvals.NotifyAnswer,
		Place: r.Place, Text: want.String(), Created: time.Now(),
	}
	posts := 0
	s.slack.Fail(slackdev.Fault{
		Method: methodPost, Status: 500, AfterEffect: true,
		Match: func(map[string]any) bool { posts++; return posts == 4 },
	})
	if _, err := s.bot.Notify(s.ctx(), n); err == nil {
		t.Fatal("the fault did not show")
	}
	for range 2 {
		n.Attempts, n.Begun = n.Attempts+1, true
		if _, err := s.bot.Notify(s.ctx(), n); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	for _, m := range s.slack.Thread("C0GENERAL", r.Place.Thread) {
		if m.Metadata != nil && m.Metadata.EventType == answerEvent {
			got.WriteString(texts(t, m.Blocks))
		}
	}
	if got.String() != want.String() {
		t.Errorf("the parts are not the answer: %d of %d characters", got.Len(), want.Len())
	}
}

func TestNotificationsOfOthersAreUndeliverable(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	foreign := *r
	foreign.Workspace = "T0OTHER"
	for name, n := range map[string]*approvals.Notification{
		"another workspace": cardNotification(&foreign),
		"no request":        {Workspace: testWorkspace, ID: "ntf_x", Kind: approvals.NotifyCard, Place: r.Place},
		"unknown kind":      {Workspace: testWorkspace, ID: "ntf_y", Kind: "song", Place: r.Place},
	} {
		if _, err := s.bot.Notify(s.ctx(), n); !errors.Is(err, approvals.ErrUndeliverable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShortenedCardIsFoundAgain: what a lost answer has posted, and Slack found too large before, is found and stays
// short.
func TestShortenedCardIsFoundAgain(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	whole := func(args map[string]any) bool {
		return strings.Contains(fmt.Sprint(args["blocks"]), "action_id:approve ")
	}
	for _, method := range []string{methodPost, methodUpdate} {
		s.slack.Fail(slackdev.Fault{Method: method, Error: "msg_blocks_too_long", Times: -1, Match: whole})
	}
	s.slack.Fail(slackdev.Fault{Method: methodPost, Reset: true, AfterEffect: true})
	n := cardNotification(r)
	if d, err := s.bot.Notify(s.ctx(), n); err == nil {
		t.Fatalf("the fault did not show: %+v", d)
	}
	if got := s.cards(r); len(got) != 1 {
		t.Fatalf("%d cards: the lost answer is not of a card that was posted", len(got))
	}
	d, err := s.bot.Notify(s.ctx(), n)
	if got := s.cards(r); err != nil || len(got) != 1 || got[0].TS != d.Message {
		t.Errorf("%d cards; delivered %+v, %v", len(got), d, err)
	}
}

// decidable reports whether a message offers more than to look at it.
func decidable(m slackdev.Message) bool {
	return slices.ContainsFunc(m.Buttons(), func(b slackdev.Button) bool { return b.ActionID != "show_details" })
}
