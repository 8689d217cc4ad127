package bot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestNobodySeesEphemeralsOfAThreadThatIsNone: what is said about a first message has no thread yet.
func TestNobodySeesEphemeralsOfAThreadThatIsNone(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{Channels: []slackdev.Channel{
		{ID: "C0GENERAL", Name: "general", Members: []string{"U0ANN", "U0GUS"}, BotMember: true},
		{ID: "C0SHARED", Name: "shared", Members: []string{"U0ANN"}, BotMember: true, ExtShared: true},
	}}})
	if _, err := s.slack.Post(s.ctx(), "U0ANN", "C0SHARED", "<@U0BOT> tell them", ""); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0ANN", "shared with another organisation")
	first := s.mention("U0ANN", "", "")
	s.whispered("U0ANN", "Tell me what to do")
	s.service.mu.Lock()
	s.service.fail = fmt.Errorf("submit: %w", aGuest)
	s.service.mu.Unlock()
	s.mention("U0GUS", "pay", "")
	s.whispered("U0GUS", "Guests cannot start a run")
	s.mention("U0GUS", "pay", first) // a reply: now there is a thread, where it is said
	s.eventually("it is said in the thread", func() bool {
		return slices.ContainsFunc(s.slack.Ephemerals("U0GUS"), func(m slackdev.Message) bool {
			return m.ThreadTS == first
		})
	})
}

// TestDeletedMentionHasOneCard: Slack posts a reply to what was deleted into the channel. It is found there when its
// answer was lost, and what comes next stands with it.
func TestDeletedMentionHasOneCard(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	if err := s.slack.Delete(s.ctx(), "U0ANN", "C0GENERAL", r.Place.Thread); err != nil {
		t.Fatal(err)
	}
	s.slack.Fail(slackdev.Fault{Method: methodPost, Reset: true, AfterEffect: true})
	n := cardNotification(r)
	if d, err := s.bot.Notify(s.ctx(), n); err == nil {
		t.Fatalf("the fault did not show: %+v", d)
	}
	d, err := s.bot.Notify(s.ctx(), n)
	if err != nil {
		t.Fatal(err)
	}
	var cards []slackdev.Message
	for _, m := range s.slack.Messages("C0GENERAL") {
		if m.Metadata != nil && m.Metadata.EventType == cardEvent {
			cards = append(cards, m)
		}
	}
	if len(cards) != 1 || cards[0].TS != d.Message {
		t.Fatalf("%d cards; delivered %+v", len(cards), d)
	}
	answer := &approvals.Notification{
		Workspace: testWorkspace, ID: "ntf_a", Kind: approvals.NotifyAnswer, Place: r.Place, Text: "Paid.",
		Created: time.Now(),
	}
	if d, err = s.bot.Notify(s.ctx(), answer); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.slack.Message(d.Channel, d.Message); m.ThreadTS != cards[0].TS {
		t.Errorf("the answer is in thread %q, the card is %s", m.ThreadTS, cards[0].TS)
	}
}

// TestRefusedThreadIsNoClosedChannel: the approvers are in the channel, the requester's direct messages are not.
func TestRefusedThreadIsNoClosedChannel(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"thread_not_found", "restricted_action_thread_locked"} {
		s, r := waitingCard(t, setUp{})
		s.slack.Fail(slackdev.Fault{Method: methodPost, Error: word, Match: func(args map[string]any) bool {
			return args["thread_ts"] != nil
		}})
		d, err := s.bot.Notify(s.ctx(), cardNotification(r))
		if err != nil || d.Channel != "C0GENERAL" {
			t.Errorf("%s: %+v, %v", word, d, err)
		}
	}
}

// TestRefusedThreadHasEachMessageOnce: what a thread does not take stands in the conversation, and is found there by
// whoever repeats the delivery; so are the parts of a long answer below the first one.
func TestRefusedThreadHasEachMessageOnce(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"deleted", "restricted_action_thread_locked", "cannot_reply_to_message"} {
		for lost := 1; lost <= 3; lost++ { // of the posts that Slack takes, the one whose answer does not arrive
			t.Run(fmt.Sprint(word, lost), func(t *testing.T) {
				t.Parallel()
				s, r := waitingCard(t, setUp{})
				closed := func(args map[string]any) bool { return args["thread_ts"] == r.Place.Thread }
				if word == "deleted" {
					if err := s.slack.Delete(s.ctx(), "U0ANN", "C0GENERAL", r.Place.Thread); err != nil {
						t.Fatal(err)
					}
				} else {
					s.slack.Fail(slackdev.Fault{Method: methodPost, Error: word, Times: -1, Match: closed})
				}
				taken := 0
				s.slack.Fail(slackdev.Fault{
					Method: methodPost, Reset: true, AfterEffect: true,
					Match: func(map[string]any) bool { taken++; return taken == lost },
				})
				n := &approvals.Notification{
					Workspace: testWorkspace, ID: "ntf_a", Kind: approvals.NotifyAnswer, Place: r.Place,
					Text: strings.Repeat("A line of the answer.\n", 2*answerPart/22), Created: time.Now(),
				}
				if d, err := s.bot.Notify(s.ctx(), n); err == nil {
					t.Fatalf("the fault did not show: %+v", d)
				}
				s.bot.roots = newRoots() // as another process
				n.Begun = true
				d, err := s.bot.Notify(s.ctx(), n)
				if err != nil {
					t.Fatal(err)
				}
				var parts []any
				for _, m := range s.slack.Messages("C0GENERAL") {
					if m.Metadata == nil || m.Metadata.EventType != answerEvent {
						continue
					}
					parts = append(parts, m.Metadata.EventPayload["part"])
					if m.TS != d.Message && m.ThreadTS != d.Message {
						t.Errorf("part %v stands apart", m.Metadata.EventPayload["part"])
					}
				}
				if len(parts) != 3 {
					t.Errorf("the parts %v", parts)
				}
			})
		}
	}
}

// TestDeletedRequestKeepsItsThread: with the card in it, the thread goes on without its first message.
func TestDeletedRequestKeepsItsThread(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	if err := s.slack.Delete(s.ctx(), "U0ANN", "C0GENERAL", card.ThreadTS); err != nil {
		t.Fatal(err)
	}
	if err := s.click("U0GUS", card, "approve"); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0GUS", "Guests cannot decide")
	if err := s.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	done := s.service.get(r.ID)
	n := cardNotification(&done)
	n.ID = "ntf_done"
	if d, err := s.bot.Notify(s.ctx(), n); err != nil || d.Message != card.TS {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestUnknownWordLeavesNoLiveButtons: Slack's words grow in number; one that nobody here knows is tried again, and then
// what was decided is said in another way.
func TestUnknownWordLeavesNoLiveButtons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault slackdev.Fault
		cards int // afterwards
	}{
		"for a moment":   {slackdev.Fault{Error: "moon_phase", Times: 2}, 1},
		"of these words": {slackdev.Fault{Error: "moon_phase", Times: -1, Match: rich}, 1},
		"of all":         {slackdev.Fault{Error: "moon_phase", Times: -1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{})
			r := transfer(small)
			card := s.show(r)
			if err := s.click("U0BEN", card, "approve"); err != nil {
				t.Fatal(err)
			}
			done := s.service.get(r.ID)
			c.fault.Method = methodUpdate
			s.slack.Fail(c.fault)
			n := cardNotification(&done)
			n.ID = "ntf_done"
			var err error
			for n.Attempts = 0; n.Attempts <= insistTries; n.Attempts++ {
				if _, err = s.bot.Notify(s.ctx(), n); err == nil {
					break
				}
				if errors.Is(err, approvals.ErrUndeliverable) {
					t.Fatalf("given up at once: %v", err)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			all := s.cards(&done)
			if len(all) != c.cards {
				t.Fatalf("%d cards", len(all))
			}
			last := all[len(all)-1]
			if takesAnswers(last) || !strings.Contains(last.Shown()+last.Text, "Approved") {
				t.Errorf("the last card: %s", last.Shown())
			}
		})
	}
}

// rich reports whether a message is more than one paragraph of words.
func rich(args map[string]any) bool {
	blocks, _ := args["blocks"].([]any)
	return len(blocks) > 1
}

// TestLongThreadIsLookedThroughBitByBit: of an app that is distributed outside of Slack's Marketplace, Slack reads
// fifteen messages of a thread, once a minute. What may have been posted in a longer one is looked for all the same,
// each attempt going on where the one before was sent away.
func TestLongThreadIsLookedThroughBitByBit(t *testing.T) {
	t.Parallel()
	const minute = 1200 * time.Millisecond
	s, r := waitingCard(t, setUp{slack: slackdev.Config{FewReads: true, RateLimits: true, RateMinute: minute}})
	for i := range 35 {
		s.mention("U0ANN", fmt.Sprint("more ", i), r.Place.Thread)
	}
	n := cardNotification(r)
	if _, err := s.bot.Notify(s.ctx(), n); err != nil {
		t.Fatal(err)
	}
	n.Begun = true // another process, which has been frozen, may have posted it
	var err error
	tries := 0
	for ; tries < 6; tries++ {
		_, err = s.bot.Notify(s.ctx(), n)
		retry, later := errors.AsType[*approvals.RetryError](err)
		if !later {
			break
		}
		time.Sleep(max(retry.After, minute))
	}
	if err != nil {
		t.Fatalf("after %d tries: %v", tries, err)
	}
	if got := s.cards(r); len(got) != 1 || tries == 0 {
		t.Errorf("%d cards after %d tries", len(got), tries)
	}
}
