package bot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestHomeOfAnotherProcess: a tab that this process has not seen opened is brought up to date when its copy is due, and
// what is noted of it are the requests with buttons, not those that ended: to note these would have it shown for ever.
func TestHomeOfAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	all := listed(s, 2)
	due := func(id approvals.RequestID) {
		t.Helper()
		r := s.service.get(id)
		_, err := s.bot.Notify(s.ctx(), &approvals.Notification{
			Workspace: testWorkspace, ID: "ntf_1", Kind: approvals.NotifyCard, Place: r.Place, Run: r.Run,
			Request: r.ID, Created: time.Now(), Copy: "home:U0BEN", Card: &r,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	due(all[0].ID)
	if s.slack.HomeView("U0BEN") == nil {
		t.Fatal("nothing was published")
	}
	s.homeSays("U0BEN", string(all[0].ID), string(all[1].ID), `"approve"`)
	if got := s.service.lastShownAtHome(); !slices.Equal(got, []approvals.RequestID{all[0].ID, all[1].ID}) {
		t.Errorf("noted: %v", got)
	}
	s.service.edit(all[0].ID, func(r *approvals.Request) {
		r.Status, r.Settled, r.Requester = approvals.RequestApproved, time.Now(), user("U0BEN")
		r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: approvals.Approve}}
	})
	due(all[0].ID)
	s.homeSays("U0BEN", "Approved by @U0BEN", string(all[0].ID))
	if got := s.service.lastShownAtHome(); !slices.Equal(got, []approvals.RequestID{all[1].ID}) {
		t.Errorf("noted: %v", got)
	}
	if known, _ := s.bot.homes.get(user("U0BEN")); known.hash != s.slack.HomeView("U0BEN").Hash {
		t.Error("the hash of what is shown is not known")
	}
}

// TestPublishedHomeIsUpToDate: what had changed before a tab was read is not published again; what changes after that
// is.
func TestPublishedHomeIsUpToDate(t *testing.T) {
	t.Parallel()
	h := newHomes()
	by, r := user("U0BEN"), transfer(small)
	r.Requester = by
	h.opened(by, "")
	h.changed(r)
	known, o := h.get(by)
	h.published(o, "1", nil, known)
	if _, stale, candidates, ok := h.next(); !ok || stale || candidates != nil {
		t.Errorf("what is shown already is published again: %v, %v, %v", stale, candidates, ok)
	}
	known, o = h.get(by)
	h.changed(r) // while it is on its way
	h.published(o, "2", nil, known)
	if _, stale, _, ok := h.next(); !ok || !stale {
		t.Error("what changed after the tab was read is not published")
	}
}

// TestRowsAnswerOneCall: the buttons that answer other calls too stand on cards alone.
func TestRowsAnswerOneCall(t *testing.T) {
	t.Parallel()
	r := transfer(small)
	r.Beside = []approvals.RequestID{"req_2", "req_3"}
	onCard := string(encoded(t, newCard(r)))
	row := string(encoded(t, card{blocks: entry{Request: r, mayDecide: true}.row(r.Created)}))
	for _, a := range []action{actApproveAll, actRejectAll} {
		if !strings.Contains(onCard, `"`+string(a)+`"`) {
			t.Errorf("the card lacks %s: this shows nothing", a)
		}
		if strings.Contains(row, `"`+string(a)+`"`) {
			t.Errorf("a row offers %s", a)
		}
	}
	for _, a := range []action{actApprove, actReject, actDetails} {
		if !strings.Contains(row, `"`+string(a)+`"`) {
			t.Errorf("a row lacks %s", a)
		}
	}
}

// TestListBelowAFormIsUpToDate: Ben opens a call over the list of the shortcut, and a form over that; when he has sent
// it the list no longer has the call.
func TestListBelowAFormIsUpToDate(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	all := listed(s, 2)
	if err := s.slack.Shortcut(s.ctx(), "U0BEN", shortcutPending); err != nil {
		t.Fatal(err)
	}
	press := func(view slackdev.View, action string) {
		t.Helper()
		click, ok := view.Press("U0BEN", action)
		if !ok {
			t.Fatalf("no %s in %s", action, view.Blocks)
		}
		if err := s.slack.Click(s.ctx(), click); err != nil {
			t.Fatal(err)
		}
	}
	press(s.modalOf("U0BEN", viewList), "show_details")
	press(s.modalOf("U0BEN", viewDetails), "reject_with_reason")
	s.submits("U0BEN", "reject_with_reason", map[string]any{"Why not?": "Too much."})
	if got := s.service.get(all[0].ID); got.Status != approvals.RequestRejected {
		t.Fatalf("after the form: %+v", got)
	}
	s.eventually("the list below no longer has it", func() bool {
		below := string(s.modalOf("U0BEN", viewList).Blocks)
		return !strings.Contains(below, string(all[0].ID)) && strings.Contains(below, string(all[1].ID))
	})
}

// TestLinksLeaveCopiesAlone: the card of a stale request in its thread gets the link to what is asked now, a copy of it
// elsewhere and one that people of other organisations read stay as they are.
func TestLinksLeaveCopiesAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	card := s.show(transfer(small))
	now := *transfer(small)
	now.ID = "req_01arz3ndektsv4rrffq69g5faw"
	s.service.edit(transfer(small).ID, func(r *approvals.Request) {
		r.Status, r.AsksNow, r.Settled = approvals.RequestSuperseded, now.ID, time.Now()
		elsewhere := approvals.Card{Channel: card.Channel, Message: "1.000001", Copy: "dm:U0BEN"}
		bare := approvals.Card{Channel: card.Channel, Message: "1.000002", Bare: true}
		r.Cards = append(r.Cards, elsewhere, bare)
	})
	before := calls(s, methodUpdate)
	now.Cards = []approvals.Card{{Channel: card.Channel, Message: "1.000003"}}
	s.service.put(&now)
	old := s.service.get(transfer(small).ID)
	old.Cards = slices.DeleteFunc(old.Cards, func(c approvals.Card) bool { return c.Bare })
	_, err := s.bot.Notify(s.ctx(), &approvals.Notification{
		Workspace: testWorkspace, ID: "ntf_next", Kind: approvals.NotifyCard, Place: old.Place, Run: old.Run,
		Request: old.ID, Created: time.Now(), Card: &old,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := calls(s, methodUpdate) - before; got != 1 {
		t.Errorf("%d messages were changed", got)
	}
	if m, _ := s.slack.Message(card.Channel, card.TS); !strings.Contains(texts(t, m.Blocks), wordsAskedAnew) {
		t.Errorf("the card does not lead on: %s", texts(t, m.Blocks))
	}
}
