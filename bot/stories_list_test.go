package bot

import (
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// ephemeralOf returns the message that only the user sees, as it stands.
func (s *stage) ephemeralOf(user, ts string) slackdev.Message {
	s.t.Helper()
	for _, m := range s.slack.Ephemerals(user) {
		if m.TS == ts {
			return m
		}
	}
	s.t.Fatalf("%s has no message %s", user, ts)
	return slackdev.Message{}
}

// becomes waits until the user's own message says all the words.
func (s *stage) becomes(user, ts string, words ...string) slackdev.Message {
	s.t.Helper()
	var m slackdev.Message
	s.eventually("the list says "+strings.Join(words, " … "), func() bool {
		m = s.ephemeralOf(user, ts)
		for _, w := range words {
			if !strings.Contains(texts(s.t, m.Blocks), w) {
				return false
			}
		}
		return true
	})
	return m
}

// TestListLinesLead: each line of a list says what the call does, who asked for it where, what it needs, its id and its
// card; it is decided on the card of show, and the history says by whom and what came of it.
func TestListLinesLead(t *testing.T) {
	t.Parallel()
	w := newWorldUnder(t, underName{rule{ofTheChannel, 2}, "two"}, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	id := requestOf(t, card)
	var m slackdev.Message
	w.eventually("a line with a link to the card", func() bool {
		m = w.command("U0BEN", "")
		return strings.Contains(string(m.Blocks), "/archives/C0GENERAL/p"+strings.ReplaceAll(card.TS, ".", ""))
	})
	said := texts(t, m.Blocks)
	for _, part := range []string{"now · ", "transfer_funds", "@U0ANN", "pending, needs 2 of", id, " · "} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not in %s", part, said)
		}
	}
	if got := m.Buttons(); len(got) != 0 {
		t.Errorf("a list of one offers %v", got)
	}

	m = w.command("U0BEN", "show "+id)
	if err := w.click("U0BEN", m, "approve"); err != nil {
		t.Fatal(err)
	}
	m = w.becomes("U0BEN", m.TS, "Recorded: approved.", "Needs 1 more of the members of #C0GENERAL", id)
	if decidable(m) {
		t.Errorf("what Ben has answered is offered again: %v", m.Buttons())
	}
	if said := texts(t, w.command("U0CLEO", "").Blocks); !strings.Contains(said, "needs 1 of") {
		t.Errorf("after one answer the list says %s", said)
	}
	m = w.command("U0CLEO", "show "+id)
	if err := w.click("U0CLEO", m, "approve"); err != nil {
		t.Fatal(err)
	}
	if m = w.becomes("U0CLEO", m.TS, "Approved by @U0BEN and @U0CLEO"); decidable(m) {
		t.Errorf("the card of show has the buttons %v", m.Buttons())
	}
	w.said(thread, "Done.")
	w.eventually("the history says who decided and what came of it", func() bool {
		said := texts(t, w.command("U0BEN", "history").Blocks)
		return strings.Contains(said, "Approved by @U0BEN and @U0CLEO, ran") && strings.Contains(said, id)
	})
}

// TestListTurns: the pages of a list follow each other in the same message, and lead back.
func TestListTurns(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	all := listed(s, 25)
	m := s.command("U0BEN", "all")
	seen := map[string]bool{}
	for range 10 {
		for _, r := range all {
			if strings.Contains(texts(t, m.Blocks), string(r.ID)) {
				seen[string(r.ID)] = true
			}
		}
		next, ok := m.Button("list_next")
		if !ok {
			break
		}
		if err := s.click("U0BEN", m, "list_next"); err != nil {
			t.Fatal(err)
		}
		_, from, _ := strings.Cut(next.Value, "after ")
		s.eventually("the next page", func() bool {
			m = s.ephemeralOf("U0BEN", m.TS)
			return !strings.Contains(texts(t, m.Blocks), from+" ·") && m.Text != "" && turned(m, next.Value)
		})
	}
	if len(seen) != len(all) || len(s.slack.Ephemerals("U0BEN")) != 1 {
		t.Errorf("%d of %d requests in %d messages", len(seen), len(all), len(s.slack.Ephemerals("U0BEN")))
	}
	if err := s.click("U0BEN", m, "list_first"); err != nil {
		t.Fatal(err)
	}
	s.becomes("U0BEN", m.TS, string(all[0].ID))
}

// turned reports whether the message shows the page that the button led to.
func turned(m slackdev.Message, value string) bool {
	next, ok := m.Button("list_next")
	_, back := m.Button("list_first")
	return back && (!ok || next.Value != value)
}

// TestFormOfAPrivateCardIsAnswered: a form that was opened from the card of show says that its answer was recorded.
func TestFormOfAPrivateCardIsAnswered(t *testing.T) {
	t.Parallel()
	w, thread := deployWorld(t)
	card := w.card(thread, 1)
	m := w.command("U0BEN", "show "+requestOf(t, card))
	if err := w.click("U0BEN", m, "provide_result"); err != nil {
		t.Fatal(err)
	}
	if answer := w.provide("U0BEN", "Build 4711."); answer["response_action"] != nil {
		t.Errorf("answered with %v", answer)
	}
	w.whispered("U0BEN", "Recorded: result provided")
	w.whispered("U0BEN", requestOf(t, card))
}

// TestListingComesBack: a button brings back the list that was written into it, and nothing else is taken for one.
func TestListingComesBack(t *testing.T) {
	t.Parallel()
	id := transfer(small).ID
	for _, verb := range []string{listMine, listAll, listHistory, listAllHistory} {
		for _, of := range []listing{{verb: verb}, {verb, id}} {
			if got, wrong := parseListing(strings.Fields(of.String())); wrong != nil || got != of {
				t.Errorf("%q comes back as %+v, %v", of, got, wrong)
			}
		}
	}
	for _, bad := range []string{"mine after", "mine after req_1", "mine " + string(id), "history ours",
		"all after " + string(id) + " x"} {
		if got, wrong := parseListing(strings.Fields(bad)); wrong == nil {
			t.Errorf("%q was taken for %+v", bad, got)
		}
	}
}
