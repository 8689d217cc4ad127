package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// namedPolicy is everybody with other people, told as notify says.
type namedPolicy struct {
	quorum int
	who    approvals.Approvers
	notify approvals.Notify
	tune   func(*approvals.Requirement)
}

func (p namedPolicy) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	q, err := everybody{}.Requirement(ctx, r, known)
	q.Policy, q.Seats = "named", approvals.Quorum(max(p.quorum, 1), p.who)
	q.SelfApproval, q.Notify = false, p.notify
	if p.tune != nil {
		p.tune(&q)
	}
	return q, err
}

func usersOf(ids ...string) (all []approvals.UserID) {
	for _, id := range ids {
		all = append(all, user(id))
	}
	return all
}

// newOffice is newWorldUnder with people who are not in #general: Dan and Eve. The channel #approvals has Cleo and Dan.
func newOffice(t *testing.T, policy approvals.Policy, steps ...scripted.Step) *world {
	t.Helper()
	return newOfficeOf(t, &world{policy: policy, script: steps})
}

func newOfficeOf(t *testing.T, w *world) *world {
	t.Helper()
	startWorld(t, w)
	for _, name := range []string{"dan", "eve"} {
		w.slack.SetUser(slackdev.User{ID: "U0" + strings.ToUpper(name), Name: name, RealName: name + " Doe"})
	}
	w.slack.SetChannel(slackdev.Channel{
		ID: "C0APPROVE", Name: "approvals", BotMember: true, Members: []string{"U0CLEO", "U0DAN"},
	})
	w.slack.SetUserGroup(slackdev.UserGroup{
		ID: "S0FIN", Handle: "finance", Name: "Finance", Users: []string{"U0BEN", "U0DAN"},
	})
	return w
}

// cardsIn lists the messages in the conversation that show a request.
func (w *world) cardsIn(channel string) (all []slackdev.Message) {
	for _, m := range w.slack.Messages(channel) {
		if m.Metadata != nil && m.Metadata.EventType == cardEvent {
			all = append(all, m)
		}
	}
	return all
}

// copyIn waits for the first card in the conversation.
func (w *world) copyIn(channel string) (found slackdev.Message) {
	w.t.Helper()
	w.eventually("a card in "+channel, func() bool {
		all := w.cardsIn(channel)
		if len(all) > 0 {
			found = all[0]
		}
		return len(all) > 0
	})
	return found
}

// settledAt waits until the message shows the words and takes no answer any more.
func (w *world) settledAt(m slackdev.Message, words string) {
	w.t.Helper()
	w.eventually(words+" in "+m.Channel, func() bool {
		now, ok := w.slack.Message(m.Channel, m.TS)
		return ok && !takesAnswers(now) && strings.Contains(texts(w.t, now.Blocks)+now.Text, words)
	})
}

// takesAnswers reports whether the message has a button that answers; details are shown for ever.
func takesAnswers(m slackdev.Message) bool {
	return slices.ContainsFunc(m.Buttons(), func(b slackdev.Button) bool { return b.ActionID != "show_details" })
}

// pings lists whom a post has called: mentions in its first version, of people and groups. A message is there for
// readers a moment before Slack has answered its post, so the call is waited for.
func (w *world) pings(m slackdev.Message) (all []string) {
	w.t.Helper()
	w.eventually("the post of "+m.TS+" in "+m.Channel, func() bool {
		posts := slices.DeleteFunc(w.slack.Calls(), func(c slackdev.Call) bool {
			return c.Method != methodPost || c.Answer["ts"] != m.TS || c.Answer["channel"] != m.Channel
		})
		for _, c := range posts {
			eachMention(c.Args["blocks"], func(e map[string]any) {
				all = append(all, textOf(e["user_id"])+textOf(e["usergroup_id"]))
			})
			for _, u := range []string{"U0ANN", "U0BEN", "U0CLEO", "U0DAN", "U0EVE", "U0GUS"} {
				if strings.Contains(textOf(c.Args["text"]), "<@"+u+">") {
					all = append(all, u)
				}
			}
		}
		return len(posts) > 0
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// TestNamedApproversAreReached: Ben is in the channel and is mentioned there; Dan is not and has a card of his own;
// Ann, who asks, and Gus, a guest, may not decide and are not called. Dan decides where he is; every copy says so.
func TestNamedApproversAreReached(t *testing.T) {
	t.Parallel()
	policy := namedPolicy{
		who:    approvals.Approvers{Users: usersOf("U0ANN", "U0BEN", "U0DAN", "U0GUS")},
		notify: approvals.Notify{Channel: "C0APPROVE"},
	}
	w := newOffice(t, policy, pay("call_1"), scripted.Say("Acme has its money."))
	thread := w.mention("U0ANN", "pay acme", "")
	card, own, there := w.card(thread, 1), w.copyIn(w.slack.DM("U0DAN")), w.copyIn("C0APPROVE")
	if got := w.pings(card); !slices.Equal(got, []string{"U0ANN", "U0BEN"}) {
		t.Errorf("the card in the thread mentions %v", got)
	}
	if got := w.pings(there); len(got) != 0 {
		t.Errorf("the approvals channel is a second ping for %v", got)
	}
	said := texts(t, own.Blocks)
	if !strings.HasPrefix(said, "@U0ANN needs you in ") || !strings.Contains(string(own.Blocks), "C0GENERAL") {
		t.Errorf("Dan reads %s", said)
	}
	for _, m := range []slackdev.Message{own, there} {
		link := fmt.Sprintf("https://dev.slack.com/archives/C0GENERAL/p%s", strings.ReplaceAll(card.TS, ".", ""))
		root := fmt.Sprintf("https://dev.slack.com/archives/C0GENERAL/p%s", strings.ReplaceAll(thread, ".", ""))
		if !strings.Contains(string(m.Blocks), link) && !strings.Contains(string(m.Blocks), root) {
			t.Errorf("no way from %s to the thread: %s", m.Channel, m.Blocks)
		}
		if !strings.Contains(said, "amount  1200") || !strings.Contains(said, "to  acme") {
			t.Errorf("%s lacks the call: %s", m.Channel, said)
		}
	}
	for _, id := range []string{"U0ANN", "U0BEN", "U0GUS"} {
		if all := w.cardsIn(w.slack.DM(id)); len(all) != 0 {
			t.Errorf("%s has a card of their own", id)
		}
	}
	if err := w.click("U0DAN", own, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Acme has its money.")
	for _, m := range []slackdev.Message{card, own, there} {
		w.settledAt(m, "Approved by @U0DAN")
	}
	if got := len(w.bank.payments()); got != 1 {
		t.Errorf("%d payments", got)
	}
}

// TestCopiesAreJudgedAsTheCard: who may not decide may not in a copy either, wherever it is.
func TestCopiesAreJudgedAsTheCard(t *testing.T) {
	t.Parallel()
	policy := namedPolicy{
		who: approvals.Approvers{Users: usersOf("U0DAN")}, notify: approvals.Notify{Channel: "C0APPROVE"},
	}
	w := newOffice(t, policy, pay("call_1"), scripted.Say("Done."))
	w.mention("U0ANN", "pay acme", "")
	there := w.copyIn("C0APPROVE")
	if err := w.click("U0CLEO", there, "approve"); err != nil {
		t.Fatal(err)
	}
	w.hears("U0CLEO", "cannot decide")
	if got := w.bank.payments(); len(got) != 0 {
		t.Fatalf("paid: %v", got)
	}
	if err := w.click("U0DAN", there, "reject"); err != nil {
		t.Fatal(err)
	}
	w.settledAt(there, "Rejected by @U0DAN")
}

// TestWaysOfCalling tries each word of notify for people and groups.
func TestWaysOfCalling(t *testing.T) {
	t.Parallel()
	group := approvals.Approvers{Groups: []string{"S0FIN"}}
	users := approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")}
	for name, c := range map[string]struct {
		who    approvals.Approvers
		named  approvals.Naming
		asker  string
		thread []string // beside the asker
		direct []string
	}{
		"auto":                 {users, approvals.NamingAuto, "U0ANN", []string{"U0BEN"}, []string{"U0DAN"}},
		"dm":                   {users, approvals.NamingDM, "U0ANN", nil, []string{"U0BEN", "U0DAN"}},
		"mention":              {users, approvals.NamingMention, "U0ANN", []string{"U0BEN", "U0DAN"}, nil},
		"none":                 {users, approvals.NamingNone, "U0ANN", nil, nil},
		"a group":              {group, approvals.NamingAuto, "U0ANN", []string{"S0FIN"}, []string{"U0DAN"}},
		"a group of the asker": {group, approvals.NamingAuto, "U0BEN", nil, []string{"U0DAN"}},
		"a group, none":        {group, approvals.NamingNone, "U0ANN", nil, nil},
		"a group, dm":          {group, approvals.NamingDM, "U0ANN", nil, []string{"U0BEN", "U0DAN"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOffice(t, namedPolicy{who: c.who, notify: approvals.Notify{Named: c.named, Channel: "C0APPROVE"}},
				pay("call_1"), scripted.Say("Done."))
			thread := w.mention(c.asker, "pay acme", "")
			card := w.card(thread, 1)
			w.copyIn("C0APPROVE")
			for _, id := range c.direct {
				w.copyIn(w.slack.DM(id))
			}
			want := append([]string{c.asker}, c.thread...)
			slices.Sort(want)
			if got := w.pings(card); !slices.Equal(got, want) {
				t.Errorf("mentioned in the thread: %v, want %v", got, want)
			}
			for _, id := range []string{"U0ANN", "U0BEN", "U0DAN"} {
				if n := len(w.cardsIn(w.slack.DM(id))); n > 0 && !slices.Contains(c.direct, id) {
					t.Errorf("%s has %d cards of their own", id, n)
				}
			}
		})
	}
}

// TestDeadCopyStopsNoOther: nothing can be written to Dan. Everybody else is shown the request and how it ended, it is
// said in the thread, and the operator finds a dead letter that can be sent again.
func TestDeadCopyStopsNoOther(t *testing.T) {
	t.Parallel()
	policy := namedPolicy{
		who:    approvals.Approvers{Users: usersOf("U0BEN", "U0DAN", "U0EVE")},
		notify: approvals.Notify{Channel: "C0APPROVE"},
	}
	w := newOffice(t, policy, pay("call_1"), scripted.Say("Done."))
	isDan := func(a map[string]any) bool { return strings.Contains(fmt.Sprint(a["users"]), "U0DAN") }
	w.slack.Fail(slackdev.Fault{Method: methodOpenDM, Error: "cannot_dm_bot", Times: -1, Match: isDan})
	thread := w.mention("U0ANN", "pay acme", "")
	card, own, there := w.card(thread, 1), w.copyIn(w.slack.DM("U0EVE")), w.copyIn("C0APPROVE")
	dead := w.given(1)
	if dead[0].Copy != "dm:U0DAN" || dead[0].Kind != approvals.NotifyCard {
		t.Fatalf("given up: %+v", dead[0])
	}
	w.notice(thread, "no message reaches them")
	w.slack.ClearFaults()
	if n, err := w.engine.Replay(w.ctx(), testWorkspace, dead[0].ID); err != nil || n != 1 {
		t.Fatalf("sent %d again, %v", n, err)
	}
	again := w.copyIn(w.slack.DM("U0DAN"))
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	for _, m := range []slackdev.Message{card, own, there, again} {
		w.settledAt(m, "Approved by @U0BEN")
	}
}

// TestCopyThatCannotBeChangedAnyMore: the bot is removed from the approvals channel while a request waits. The others
// show the decision.
func TestCopyThatCannotBeChangedAnyMore(t *testing.T) {
	t.Parallel()
	policy := namedPolicy{
		who: approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")}, notify: approvals.Notify{Channel: "C0APPROVE"},
	}
	w := newOffice(t, policy, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	card, own, there := w.card(thread, 1), w.copyIn(w.slack.DM("U0DAN")), w.copyIn("C0APPROVE")
	if err := w.slack.Leave("C0APPROVE", "U0BOT"); err != nil {
		t.Fatal(err)
	}
	w.slack.Fail(slackdev.Fault{Method: methodUpdate, Error: "channel_not_found", Times: -1,
		Match: func(a map[string]any) bool { return a["channel"] == "C0APPROVE" }})
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.settledAt(card, "Approved by @U0BEN")
	w.settledAt(own, "Approved by @U0BEN")
	if dead := w.given(1); dead[0].Copy != "channel:C0APPROVE" {
		t.Errorf("given up: %+v", dead[0])
	}
	if err := w.click("U0DAN", there, "reject"); err == nil { // its buttons are there, and do nothing
		w.eventually("the late click is answered", func() bool { return len(w.bank.payments()) == 1 })
	}
}

// TestNoCopyIsPostedTwice breaks the answer of each first post, after Slack has taken the message, and starts the bot
// anew.
func TestNoCopyIsPostedTwice(t *testing.T) {
	t.Parallel()
	policy := namedPolicy{
		who: approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")}, notify: approvals.Notify{Channel: "C0APPROVE"},
	}
	w := newOffice(t, policy, pay("call_1"), scripted.Say("Done."))
	dm := w.slack.DM("U0DAN")
	for _, channel := range []string{"C0GENERAL", "C0APPROVE", dm} {
		w.slack.Fail(slackdev.Fault{Method: methodPost, Reset: true, AfterEffect: true,
			Match: func(a map[string]any) bool { return a["channel"] == channel }})
	}
	thread := w.mention("U0ANN", "pay acme", "")
	card, own, there := w.card(thread, 1), w.copyIn(dm), w.copyIn("C0APPROVE")
	w.restart()
	// A click proves that every copy is known: one that is not recorded could not be brought up to date.
	w.eventually("the click counts", func() bool {
		_ = w.click("U0BEN", card, "approve")
		return len(w.bank.payments()) == 1
	})
	for _, m := range []slackdev.Message{card, own, there} {
		w.settledAt(m, "Approved by @U0BEN")
	}
	for _, channel := range []string{dm, "C0APPROVE"} {
		if n := len(w.cardsIn(channel)); n != 1 {
			t.Errorf("%d cards in %s", n, channel)
		}
	}
}

// TestCopyOfASettledRequestIsPostedToNobody: Dan's conversation is slow, and Ben has decided meanwhile.
func TestCopyOfASettledRequestIsPostedToNobody(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{who: approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")}},
		pay("call_1"), scripted.Say("Done."))
	dm := w.slack.DM("U0DAN")
	w.slack.Fail(slackdev.Fault{Method: methodPost, RetryAfter: time.Second, Times: 2,
		Match: func(a map[string]any) bool { return a["channel"] == dm }})
	thread := w.mention("U0ANN", "pay acme", "")
	if err := w.click("U0BEN", w.card(thread, 1), "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Done.")
	w.eventually("nothing is left in the outbox", func() bool { return w.undelivered() == 0 })
	if all := w.slack.Messages(dm); len(all) != 0 {
		t.Errorf("Dan is called to what is settled: %s", all[0].Text)
	}
}

// undelivered counts the copies for which something waits.
func (w *world) undelivered() int {
	w.t.Helper()
	n := 0
	err := w.store.View(w.ctx(), func(tx approvals.Tx) error {
		keys, err := tx.UndeliveredPlaces(time.Now(), time.Now(), 100)
		n = len(keys)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// TestManyRequestsBecomeOneList: three cards, then one list; decided ones leave it, and every one is decided.
func TestManyRequestsBecomeOneList(t *testing.T) {
	t.Parallel()
	const all = 6
	w := newOffice(t, namedPolicy{who: approvals.Approvers{Users: usersOf("U0DAN")}},
		pay("call_1"), scripted.Say("Done."))
	dm := w.slack.DM("U0DAN")
	for i := range all {
		w.mention("U0ANN", fmt.Sprintf("pay acme %d", i), "")
		w.eventually("the request is told", func() bool {
			return len(w.pendingFor("U0DAN")) == i+1 && w.undelivered() == 0
		})
	}
	lists := func() (found []slackdev.Message) {
		for _, m := range w.slack.Messages(dm) {
			if m.Metadata != nil && m.Metadata.EventType == listEvent {
				found = append(found, m)
			}
		}
		return found
	}
	if cards, digests := w.cardsIn(dm), lists(); len(cards) != 3 || len(digests) != 1 {
		t.Fatalf("%d cards and %d lists", len(cards), len(digests))
	}
	listed := func(n int) {
		t.Helper()
		w.eventually(fmt.Sprintf("a list of %d", n), func() bool {
			m := lists()[0]
			return strings.Contains(m.Text, wordsWaitingForYou(n)) && len(m.Buttons()) == n
		})
	}
	listed(all)
	if err := w.click("U0DAN", w.cardsIn(dm)[0], "approve"); err != nil {
		t.Fatal(err)
	}
	listed(all - 1)
	for _, r := range w.pendingFor("U0DAN") {
		if _, err := w.engine.Decide(w.ctx(), approvals.Decision{
			Workspace: testWorkspace, Request: r.ID, By: user("U0DAN"), Verdict: approvals.Reject,
			Digest: r.Digest, Via: "cli",
		}); err != nil {
			t.Fatal(err)
		}
	}
	listed(0)
}

// pendingFor lists what waits for the person.
func (w *world) pendingFor(id string) []*approvals.Request {
	w.t.Helper()
	page, err := w.engine.Pending(w.ctx(), approvals.PendingQuery{
		Workspace: testWorkspace, Viewer: user(id), Mine: true, Limit: 50,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return page.Requests
}

// TestCopiesNameTheChannelWhoseMembersDecide: a card that stands in the approvals channel too is decided by members of
// the channel where the run was asked for. Nobody who reads a copy takes those around them for approvers.
func TestCopiesNameTheChannelWhoseMembersDecide(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{
		who: approvals.Approvers{ChannelMembers: true}, notify: approvals.Notify{Channel: "C0APPROVE"},
	}, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	there := w.copyIn("C0APPROVE")
	for where, m := range map[string]slackdev.Message{"in the thread": w.card(thread, 1), "there": there} {
		w.shown(m, "Needs 1 of the members of #C0GENERAL, not ", "not:this channel")
		if strings.Contains(m.Text, "this channel") {
			t.Errorf("%s the notification says %q", where, m.Text)
		}
	}
	if err := w.click("U0DAN", there, "approve"); err != nil {
		t.Fatal(err)
	}
	w.hears("U0DAN", "Other members of a channel can")
}
