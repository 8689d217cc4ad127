package bot

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

const linkOfCard = "https://dev.slack.com/archives/C0GENERAL/p1700000000000200" +
	"?thread_ts=1700000000.000100&cid=C0GENERAL"

// listSurfaces are lists and Home tabs, for golden files.
func listSurfaces() map[string]surface {
	now := transfer(small).Created.Add(2*time.Hour + 5*time.Minute)
	request := func(n int, edit func(*approvals.Request)) entry {
		r := transfer(`{"amount":250,"to":"Acme Ltd"}`)
		r.ID = approvals.RequestID(fmt.Sprintf("req_%026d", n))
		r.Created = r.Created.Add(time.Duration(n) * time.Minute)
		if edit != nil {
			edit(r)
		}
		return entry{Request: r, setting: setting{link: linkOfCard}}
	}
	ended := func(status approvals.RequestStatus, o approvals.Outcome, v approvals.Verdict) func(*approvals.Request) {
		return func(r *approvals.Request) {
			r.Status, r.Settled = status, r.Created.Add(4*time.Minute)
			r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: v, At: r.Settled}}
			r.Outcome, r.OutcomeAt = o, r.Settled.Add(time.Minute)
		}
	}
	waiting := []entry{request(1, nil), request(2, func(r *approvals.Request) {
		r.Requirement.Seats = approvals.Quorum(2, approvals.Approvers{Groups: []string{"S0FINANCE"}})
	}), request(3, func(r *approvals.Request) { r.Place.Channel = "C0SHARED" })}
	waiting[2].shared, waiting[2].link = true, ""
	past := []entry{
		request(4, ended(approvals.RequestApproved, approvals.OutcomeRan, approvals.Approve)),
		request(5, ended(approvals.RequestApproved, approvals.OutcomeFailed, approvals.Approve)),
		request(6, ended(approvals.RequestRejected, approvals.OutcomeNotRun, approvals.Reject)),
		request(7, ended(approvals.RequestApproved, approvals.OutcomeNone, approvals.Approve)),
		request(8, func(r *approvals.Request) {
			r.Status, r.Settled, r.CancelledBy = approvals.RequestCancelled, r.Created.Add(time.Minute), r.Requester
			r.Outcome, r.OutcomeAt = approvals.OutcomeNotRun, r.Settled
		}),
	}
	mine := list{of: listing{verb: listMine}, entries: waiting, more: waiting[2].ID, unjudged: 1}
	_, reply := mine.reply(now)
	history := list{of: listing{listAllHistory, waiting[0].ID}, entries: past}
	_, told := history.reply(now)
	full := &home{
		said:    append(phrase{strong("transfer_funds: 250, Acme Ltd"), " · "}, outcomeFor(past[0].Request)...),
		waiting: list{of: listing{verb: listMine}, entries: []entry{waiting[0], waiting[2]}, more: waiting[2].ID},
		asked:   append([]entry{waiting[1]}, past[0], past[1]),
		grants:  []approvals.GrantView{given(1, approvals.GrantActive)}, decided: past, moreDecided: true,
		moreAsked: true, moreGrants: true,
	}
	for i := range full.waiting.entries {
		full.waiting.entries[i].mayDecide = true
	}
	grants := []approvals.GrantView{
		given(1, approvals.GrantActive), given(2, approvals.GrantInert), given(3, approvals.GrantRevoked),
	}
	grants[0].Condition = []approvals.ArgumentBound{{Pointer: "/to", Equal: json.RawMessage(`"Acme Ltd"`)}}
	grants[0].Uses, grants[0].Used = 5, 2
	grants[1].Why, grants[1].Mine = "the tool's description has changed", false
	grants[1].Scope = approvals.ScopeWorkspace
	grants[2].Revoked, grants[2].RevokedBy, grants[2].Deny = grants[2].Created.Add(time.Minute), user("U0CLEO"), true
	_, allGrants := grantsReply(grants, true)
	return map[string]surface{
		"list_mine": {Blocks: reply}, "list_history": {Blocks: told}, "list_grants": {Blocks: allGrants},
		"list_view": inModal(mine.view(now)), "list_view_history": inModal(history.view(now)),
		"list_view_empty": inModal((&list{of: listing{verb: listMine}}).view(now)),
		"home":            {Type: slack.VTHomeTab, Blocks: full.blocks(now)},
		"home_empty":      {Type: slack.VTHomeTab, Blocks: (&home{}).blocks(now)},
	}
}

// atHome opens the person's Home tab and waits for it.
func (s *stage) atHome(user string) *slackdev.View {
	s.t.Helper()
	before := ""
	if v := s.slack.HomeView(user); v != nil {
		before = v.Hash
	}
	if err := s.slack.OpenHome(s.ctx(), user); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("a home tab", func() bool { v := s.slack.HomeView(user); return v != nil && v.Hash != before })
	return s.slack.HomeView(user)
}

// homeSays waits until the person's Home tab says all the words; with "not:" in front, not.
func (s *stage) homeSays(user string, words ...string) string {
	s.t.Helper()
	said := ""
	s.eventually(user+" reads at home: "+strings.Join(words, " … "), func() bool {
		said = string(s.slack.HomeView(user).Blocks) + texts(s.t, s.slack.HomeView(user).Blocks)
		for _, w := range words {
			if without, ok := strings.CutPrefix(w, "not:"); strings.Contains(said, without) == ok {
				return false
			}
		}
		return true
	})
	return said
}

// TestHomeStory: Ben's tab shows what waits for him with the card's buttons; he decides there, reads there that it was
// recorded, and what came of it stands among his decisions and Ann's requests. Nobody gets a message beside it.
func TestHomeStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Acme has its money."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	id := requestOf(t, card)
	permalink := "/archives/C0GENERAL/p" + strings.ReplaceAll(card.TS, ".", "")
	w.eventually("the card's place is recorded", func() bool {
		r, err := w.engine.Request(w.ctx(), testWorkspace, approvals.RequestID(id))
		return err == nil && len(r.Cards) == 1
	})
	view := w.atHome("U0BEN")
	w.homeSays("U0BEN", id, permalink, `"approve"`, "transfer_funds", "1200",
		wordsHomeAsked, wordsHomeGrants, wordsHomeDecided)
	w.atHome("U0ANN")
	w.homeSays("U0ANN", id, "Needs 1 of the channel's members")

	err := w.slack.Click(w.ctx(), slackdev.Click{User: "U0BEN", ViewID: view.ID, ActionID: "approve", Value: id})
	if err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Acme has its money.")
	w.homeSays("U0BEN", "Recorded: approved.", "not:"+`"approve"`, wordsNothingForYou().fallback(),
		"Approved by @U0BEN, ran")
	w.homeSays("U0ANN", "Approved by @U0BEN, ran", wordsNothingForYou().fallback())
	if got := len(w.slack.Messages(w.slack.DM("U0BEN"))); got != 0 {
		t.Errorf("Ben has %d direct messages", got)
	}
}

// TestHomeFollows: what Cleo decides on the card leaves Ben's open tab by itself, what is asked next comes there, and a
// click that came too late says by whom and when it was decided.
func TestHomeFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), pay("call_2"), scripted.Say("Done."))
	w.bot.homes.pause = time.Millisecond
	thread := w.mention("U0ANN", "pay acme", "")
	first := w.card(thread, 1)
	view := w.atHome("U0BEN")
	late := slackdev.Click{User: "U0BEN", ViewID: view.ID, ActionID: "reject", Value: requestOf(t, first)}
	payload, err := w.slack.Payload(late)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.click("U0CLEO", first, "approve"); err != nil {
		t.Fatal(err)
	}
	second := w.card(thread, 2)
	w.homeSays("U0BEN", "not:"+requestOf(t, first), requestOf(t, second))
	if err := w.slack.ClickRaw(w.ctx(), payload); err != nil {
		t.Fatal(err)
	}
	w.homeSays("U0BEN", "Already decided. Approved by @U0CLEO", "not:Already decided. Approved by @U0CLEO.", "date")
	if got := len(w.slack.Messages(w.slack.DM("U0BEN"))); got != 0 {
		t.Errorf("Ben has %d direct messages", got)
	}
}

// TestOlderHomeNeverOvertakes: while a slow view is on its way, a newer one of another process is published. The older
// one does not replace it: what is shown in the end was read after both.
func TestOlderHomeNeverOvertakes(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	all := listed(s, 2)
	s.atHome("U0BEN")
	s.homeSays("U0BEN", string(all[0].ID))
	by := user("U0BEN")
	var known openHome
	s.eventually("the hash of what is shown is known", func() bool {
		known, _ = s.bot.homes.get(by)
		return known.hash == s.slack.HomeView("U0BEN").Hash
	})
	stale := s.bot.home(s.ctx(), by, "").blocks(time.Now())
	s.service.edit(all[0].ID, func(r *approvals.Request) { r.Status, r.Settled = approvals.RequestExpired, time.Now() })
	// The other process knows of the end and publishes.
	newer := s.bot.home(s.ctx(), by, "").blocks(time.Now())
	if _, err := s.bot.client.publishHome(s.ctx(), "U0BEN", newer, ""); err != nil {
		t.Fatal(err)
	}
	_, err := s.bot.client.publishHome(s.ctx(), "U0BEN", stale, known.hash)
	if word, _ := refusal(err); word != "hash_conflict" {
		t.Fatalf("the older view was taken: %v", err)
	}
	s.homeSays("U0BEN", "not:"+string(all[0].ID))
	if err := s.bot.publishHome(s.ctx(), by); err != nil {
		t.Fatal(err)
	}
	s.homeSays("U0BEN", "not:"+string(all[0].ID), string(all[1].ID))
	s.eventually("the hash of what is shown is known again", func() bool {
		known, _ = s.bot.homes.get(by)
		return known.hash == s.slack.HomeView("U0BEN").Hash && !known.queued
	})
}

// TestHomeIsPaged: many requests are shown page by page, with fewer than a hundred blocks each.
func TestHomeIsPaged(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{tune: func(b *Bot) { b.homes.every = time.Hour }}) // the tab changes by presses alone
	all := listed(s, 70)
	view := s.atHome("U0BEN")
	seen := map[string]bool{}
	for page := 0; page < 20; page++ {
		view = s.slack.HomeView("U0BEN")
		if got := len(decodedView(t, view)); got > 100 {
			t.Fatalf("a page of %d blocks", got)
		}
		for _, r := range all {
			if strings.Contains(texts(t, view.Blocks), string(r.ID)) {
				seen[string(r.ID)] = true
			}
		}
		if !strings.Contains(string(view.Blocks), "list_next") {
			break
		}
		press := slackdev.Click{User: "U0BEN", ViewID: view.ID, ActionID: "list_next"}
		if err := s.slack.Click(s.ctx(), press); err != nil {
			t.Fatal(err)
		}
		s.eventually("the next page", func() bool { return s.slack.HomeView("U0BEN").Hash != view.Hash })
	}
	if len(seen) != len(all) {
		t.Errorf("the pages show %d of %d requests", len(seen), len(all))
	}
	press := slackdev.Click{User: "U0BEN", ViewID: view.ID, ActionID: "list_first"}
	if err := s.slack.Click(s.ctx(), press); err != nil {
		t.Fatal(err)
	}
	s.homeSays("U0BEN", string(all[0].ID), wordsHomeDecided)
}

func decodedView(t *testing.T, v *slackdev.View) []slack.Block {
	t.Helper()
	var blocks slack.Blocks
	if err := blocks.UnmarshalJSON(v.Blocks); err != nil {
		t.Fatal(err)
	}
	return blocks.BlockSet
}

// TestHomeRevokes: a grant is ended from the tab by whoever may, and the tab says so.
func TestHomeRevokes(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	mine, others := given(1, approvals.GrantActive), given(2, approvals.GrantActive)
	others.Mine = false
	s.service.grants = []approvals.GrantView{mine, others, given(3, approvals.GrantExpired)}
	view := s.atHome("U0BEN")
	said := s.homeSays("U0BEN", string(mine.ID), string(others.ID), "not:"+string(given(3, "").ID))
	if got := strings.Count(said, `"action_id":"revoke_grant"`); got != 1 {
		t.Errorf("%d grants can be revoked", got)
	}
	press := slackdev.Click{User: "U0BEN", ViewID: view.ID, ActionID: "revoke_grant", Value: string(mine.ID)}
	if err := s.slack.Click(s.ctx(), press); err != nil {
		t.Fatal(err)
	}
	s.homeSays("U0BEN", "Revoked: "+string(mine.ID), "not:"+`"revoke_grant"`)
	want := approvals.Revocation{Workspace: testWorkspace, Grant: mine.ID, By: user("U0BEN"), Via: "home"}
	if len(s.service.revoked) != 1 || s.service.revoked[0] != want {
		t.Errorf("revoked: %+v", s.service.revoked)
	}
}

// TestHomeShowsHistory: the button of the tab opens the whole history.
func TestHomeShowsHistory(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := listed(s, 1)[0]
	s.service.edit(r.ID, func(r *approvals.Request) {
		r.Status, r.Settled, r.Requester = approvals.RequestApproved, r.Created, user("U0BEN")
		r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: approvals.Approve}}
	})
	view := s.atHome("U0BEN")
	s.homeSays("U0BEN", "waits for its turn")
	err := s.slack.Click(s.ctx(), slackdev.Click{User: "U0BEN", ViewID: view.ID, ActionID: "list_open"})
	if err != nil {
		t.Fatal(err)
	}
	got := s.modalOf("U0BEN", viewList)
	if !strings.Contains(string(got.Blocks), string(r.ID)) || got.Title != "History" {
		t.Errorf("the history: %+v", got)
	}
}

// TestSharedChannelKeepsArguments: nothing of the arguments of a channel that is shared with others stands in a list or
// on a Home tab, and nothing there makes the call run. Show details shows them.
func TestSharedChannelKeepsArguments(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"shared": true, "control": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channels := slackdev.DefaultChannels(slackdev.DefaultUsers())
			channels[0].ExtShared = shared
			s := newStage(t, setUp{slack: slackdev.Config{Channels: channels}})
			r := listed(s, 1)[0]
			s.service.edit(r.ID, func(r *approvals.Request) {
				r.Arguments = []byte(`{"amount":4711,"to":"Umbrella"}`)
			})
			view := s.atHome("U0BEN")
			m := s.command("U0BEN", "")
			for where, said := range map[string]string{
				"home": string(s.slack.HomeView("U0BEN").Blocks), "list": string(m.Blocks) + m.Text,
			} {
				if !strings.Contains(said, string(r.ID)) || strings.Contains(said, "Umbrella") == shared {
					t.Errorf("%s: %s", where, said)
				}
				if where == "home" && strings.Contains(said, `"approve"`) == shared {
					t.Errorf("approve is offered on %s", said)
				}
			}
			err := s.slack.Click(s.ctx(), slackdev.Click{User: "U0BEN", ViewID: view.ID, ActionID: "show_details"})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(s.modalOf("U0BEN", viewDetails).Blocks); !strings.Contains(got, "Umbrella") {
				t.Errorf("the details: %s", got)
			}
		})
	}
}

// TestLinksNeverFail: a card that was deleted gives its thread, a thread that was deleted the channel, a channel that
// the bot cannot see neither; the list stands in every case.
func TestLinksNeverFail(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	card := s.show(transfer(small))
	r := s.service.get(transfer(small).ID)
	link := func(r approvals.Request) string {
		at := "none"
		for _, part := range s.bot.entries(s.ctx(), []*approvals.Request{&r})[0].open() {
			if to, ok := part.(href); ok {
				at = to.to
			}
		}
		return at
	}
	if got := link(r); !strings.Contains(got, "p"+strings.ReplaceAll(card.TS, ".", "")) {
		t.Errorf("the card's link is %s", got)
	}
	gone := r
	gone.Cards = []approvals.Card{{Channel: "C0GENERAL", Message: "1.000001"}}
	if got := link(gone); !strings.HasSuffix(got, "p"+strings.ReplaceAll(r.Place.Thread, ".", "")) {
		t.Errorf("without its card the link is %s", got)
	}
	gone.Place.Thread = "1.000002"
	unseen := gone
	unseen.Place.Channel = "C0NOWHERE"
	for name, r := range map[string]approvals.Request{"a deleted thread": gone, "no such channel": unseen} {
		if got := link(r); got != "none" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := fmt.Sprint(entry{Request: &gone}.line(time.Now())...); !strings.Contains(got, "C0GENERAL") {
		t.Errorf("the line does not name the channel: %s", got)
	}
	calls := s.slack.Calls()
	link(r)
	for _, c := range s.slack.Calls()[len(calls):] {
		if c.Method == methodPermalink {
			t.Error("a link was asked for again")
		}
	}
}

// TestStaleCardLeadsOn: the card of a request that was asked anew leads to the card that asks now, which is posted
// later.
func TestStaleCardLeadsOn(t *testing.T) {
	t.Parallel()
	var contents atomic.Value
	contents.Store("aa")
	w := newWorldOf(t, []agent.Tool{patcher(&contents)}, reload()...)
	thread := w.mention("U0ANN", "reload", "")
	card := w.card(thread, 1)
	contents.Store("bb")
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	again := w.card(thread, 2)
	to := "/archives/C0GENERAL/p" + strings.ReplaceAll(again.TS, ".", "")
	w.eventually("the stale card leads to "+to, func() bool {
		m, _ := w.slack.Message(card.Channel, card.TS)
		return strings.Contains(string(m.Blocks), to) && strings.Contains(texts(t, m.Blocks), wordsAskedAnew)
	})
}
