package bot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"countersign/agent"
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

// offered lists the requests that the message offers the button for.
func offered(m slackdev.Message, action string) (ids []string) {
	for _, b := range m.Buttons() {
		if b.ActionID == action {
			ids = append(ids, b.Value)
		}
	}
	return ids
}

// TestListSaysWhatWasDecidedInIt: eight calls wait, and Ben decides from the list of /approvals. What he has decided
// stands in the list, its row is gone, and the others are there.
func TestListSaysWhatWasDecidedInIt(t *testing.T) {
	t.Parallel()
	var eight []agent.Item
	for i := range 8 {
		args := fmt.Sprintf(`{"to":"acme","amount":%d}`, i)
		eight = append(eight, scripted.Call(fmt.Sprintf("call_%d", i), "transfer_funds", args))
	}
	w := newWorldUnder(t, underName{rule{ofTheChannel, 1}, "one"}, scripted.Calls(eight...), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme often", "")
	w.card(thread, 8)

	m := w.command("U0BEN", "all")
	rows := offered(m, "approve")
	if len(rows) < 5 {
		t.Fatalf("the list shows %d calls", len(rows))
	}
	press := func(m slackdev.Message, action, id string) {
		t.Helper()
		err := w.slack.Click(w.ctx(), slackdev.Click{
			User: "U0BEN", Channel: m.Channel, TS: m.TS, ActionID: action, Value: id,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	press(m, "approve", rows[0])
	m = w.becomes("U0BEN", m.TS, "Approved by @U0BEN", rows[0])
	if left := offered(m, "approve"); len(left) < 5 || left[0] != rows[1] {
		t.Errorf("after one press the list offers %v", left)
	}
	press(m, "reject", rows[1])
	m = w.becomes("U0BEN", m.TS, "Rejected by @U0BEN", rows[1])

	// What somebody else has decided meanwhile is said too.
	if err := w.click("U0CLEO", w.card(thread, 3), "approve"); err != nil {
		t.Fatal(err)
	}
	press(m, "approve", rows[2])
	w.becomes("U0BEN", m.TS, "Already decided. Approved by @U0CLEO")
	if got := len(w.slack.Ephemerals("U0BEN")); got != 1 {
		t.Errorf("Ben has %d messages instead of his list", got)
	}
}

// TestListOfTwo: an answer that is not the last one is said in the list too.
func TestListOfTwo(t *testing.T) {
	t.Parallel()
	w := newWorldUnder(t, underName{rule{ofTheChannel, 2}, "two"}, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	m := w.command("U0BEN", "")
	err := w.slack.Click(w.ctx(), slackdev.Click{User: "U0BEN", Channel: m.Channel, TS: m.TS, ActionID: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	m = w.becomes("U0BEN", m.TS, "Recorded: approved.",
		"Needs 1 more of the members of this channel", requestOf(t, card))
	if got := m.Buttons(); len(got) != 0 {
		t.Errorf("what Ben has answered is offered again: %v", got)
	}
	m = w.command("U0CLEO", "show "+requestOf(t, card))
	err = w.slack.Click(w.ctx(), slackdev.Click{User: "U0CLEO", Channel: m.Channel, TS: m.TS, ActionID: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	if m = w.becomes("U0CLEO", m.TS, "Approved by @U0BEN and @U0CLEO"); decidable(m) {
		t.Errorf("the card of show has the buttons %v", m.Buttons())
	}
}

// TestFormOfAListIsAnswered: a form that was opened from the list says afterwards that its answer was recorded.
func TestFormOfAListIsAnswered(t *testing.T) {
	t.Parallel()
	w, thread := deployWorld(t)
	card := w.card(thread, 1)
	m := w.command("U0BEN", "all")
	if err := w.click("U0BEN", m, "provide_result"); err != nil {
		t.Fatal(err)
	}
	if answer := w.provide("U0BEN", "Build 4711."); answer["response_action"] != nil {
		t.Errorf("answered with %v", answer)
	}
	w.whispered("U0BEN", "Recorded: result provided")
	w.whispered("U0BEN", requestOf(t, card))
}

// TestCondensedSaysTheSame: the answer to a command says of a request what the other lists do, in the same order, in
// less than half the room.
func TestCondensedSaysTheSame(t *testing.T) {
	t.Parallel()
	for name, r := range callsOfAllKinds() {
		wide, _ := itemText(r)
		narrow := condensed(wide)
		words := func(blocks []slack.Block) string {
			raw, err := encodeBlocks(blocks)
			if err != nil {
				t.Fatal(err)
			}
			return strings.ReplaceAll(texts(t, raw), "\n", "")
		}
		wide, _ = itemText(r)
		if got, want := words(narrow), words(wide); got != want || want == "" {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	size := func(blocks []slack.Block) int {
		raw, err := encodeBlocks(blocks)
		if err != nil {
			t.Fatal(err)
		}
		return len(raw)
	}
	r := transfer(small)
	wide, narrow := size(listItem(r, true)), size(replyItem(r, true, listing{verb: "mine"}))
	if 2*narrow > wide {
		t.Errorf("a row takes %d bytes, and %d elsewhere", narrow, wide)
	}
	t.Logf("a row takes %d bytes, and %d elsewhere", narrow, wide)
}

// TestListingComesBack: what a block id says of its list is what was written into it, and nothing else.
func TestListingComesBack(t *testing.T) {
	t.Parallel()
	r := transfer(small)
	for _, of := range []listing{{verb: "mine"}, {verb: "all"}, {"all", r.ID}} {
		blocks := replyItem(r, true, of)
		id := blocks[len(blocks)-2].ID()
		if got, ok := listingOf(id); !ok || got != of || len(id) > 255 {
			t.Errorf("%+v comes back from %q as %+v, %v", of, id, got, ok)
		}
		if d, ok := shownDigest(id); !ok || d != r.Digest {
			t.Errorf("%q brings back the digest %v, %v", id, d, ok)
		}
	}
	for _, bad := range []string{"", newCard(r).blocks[0].ID(), "x.list.", "x.list.ours.", "x.list.all.req_1"} {
		if got, ok := listingOf(bad); ok {
			t.Errorf("%q was taken for %+v", bad, got)
		}
	}
}
