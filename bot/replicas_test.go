package bot

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/agent/trace"
	"countersign/approvals"
	"countersign/internal/slackdev"
	"countersign/store/storetest"
)

// pair is two bots, each with a service and a worker of its own, on one store and in one workspace: Slack gives what
// happens to the connection of one of them, in turn.
type pair struct {
	*world // the first
	second *world
	memory *storetest.Memory
}

func newPair(t *testing.T, w *world) *pair {
	t.Helper()
	return newPairTraced(t, w, nil)
}

// newPairTraced is newPair with a tracer for the second bot.
func newPairTraced(t *testing.T, w *world, second trace.Tracer) *pair {
	t.Helper()
	p := &pair{world: w, memory: storetest.NewMemory()}
	w.open = func() approvals.Store { return p.memory.Open() }
	startWorld(t, w)
	p.second = &world{
		stage: &stage{t: t, slack: w.slack, logs: w.logs}, bank: w.bank, policy: w.policy, tools: w.tools,
		model: w.model, script: w.script, tracer: second,
	}
	p.second.serve(p.memory.Open(), false)
	p.eventually("both hear Slack", func() bool { return p.slack.Connections() == 2 })
	return p
}

// connections counts by which connections deliveries of the type came.
func (p *pair) connections(kind string) map[int]int {
	by := map[int]int{}
	for _, d := range p.slack.Deliveries() {
		if d.Type == kind {
			by[d.Conn]++
		}
	}
	return by
}

// slowModel is a model that takes a while.
type slowModel struct {
	agent.Model
	takes time.Duration
}

func (m slowModel) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	select {
	case <-time.After(m.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return m.Model.Respond(ctx, req)
}

// TestTwoBotsAreOne: many people ask and click, and Slack tells either bot, on a store that loses its answers, hands
// jobs out twice and late, so that both bots have the same one in hand, and answers of Slack get lost. Every call is
// carried out once, every question and every answer is shown once.
func TestTwoBotsAreOne(t *testing.T) {
	t.Parallel()
	const threads = 8
	const again = 300 * time.Millisecond // a job comes a second time within this, and all that it does takes as long
	steps := script{pay("call_1"), scripted.Say("Acme has its money.")}
	p := newPair(t, &world{
		policy: everybody{}, model: slowModel{scripted.New(steps...), again}, bank: &bank{takes: again},
	})
	p.slack.Fail(slackdev.Fault{Method: methodPost, Delay: again, Status: 500, AfterEffect: true, Times: threads})
	p.slack.Fail(slackdev.Fault{Method: methodPost, Delay: again, Times: -1})
	p.memory.Unreliable(storetest.Chaos{Seed: 7, Rerun: true, Defer: true, Unknown: 0.1, ShortPages: true,
		Late: 0.3, Delay: again, Twice: 0.5})
	var all []string
	for range threads {
		all = append(all, p.mention("U0ANN", "pay acme", ""))
	}
	for _, thread := range all {
		card := p.card(thread, 1)
		p.eventually("the click counts", func() bool { // a person who is told that it is not certain clicks again
			if err := p.click("U0BEN", card, "approve"); err != nil {
				m, _ := p.slack.Message(card.Channel, card.TS)
				return !takesAnswers(m)
			}
			r, err := p.engine.Recorded(p.ctx(), testWorkspace, approvals.RequestID(requestOf(t, card)))
			return err == nil && len(r.Decisions) > 0
		})
	}
	for _, thread := range all {
		p.said(thread, "Acme has its money.")
		p.eventually("the card says how it ended", func() bool {
			m, _ := p.slack.Message("C0GENERAL", p.card(thread, 1).TS)
			return strings.Contains(texts(t, m.Blocks), "Approved")
		})
	}
	if paid := p.bank.payments(); len(paid) != threads {
		t.Errorf("%d payments, want %d", len(paid), threads)
	}
	for _, thread := range all {
		cards, answers := 0, 0
		for _, m := range p.slack.Thread("C0GENERAL", thread) {
			switch {
			case m.Metadata == nil:
			case m.Metadata.EventType == cardEvent:
				cards++
			case m.Metadata.EventType == answerEvent:
				answers++
			}
		}
		if cards != 1 || answers != 1 {
			t.Errorf("%d cards and %d answers in a thread", cards, answers)
		}
	}
	for _, kind := range []string{"app_mention", "block_actions"} {
		if by := p.connections(kind); len(by) != 2 {
			t.Errorf("control: %s came by the connections %v, want both", kind, by)
		}
	}
}

// TestUncertainPostIsLookedForByOthers: Slack has the card and its answer is lost; the next try is the other bot's,
// and a new reason to deliver has come meanwhile, so that nothing counts the tries.
func TestUncertainPostIsLookedForByOthers(t *testing.T) {
	t.Parallel()
	p := newPair(t, &world{policy: everybody{}, script: script{pay("call_1"), scripted.Say("Done.")}})
	var posts atomic.Int64
	p.slack.Fail(slackdev.Fault{
		Method: methodPost, Status: 500, AfterEffect: true, Times: 1,
		Match: func(map[string]any) bool { return posts.Add(1) == 1 },
	})
	thread := p.mention("U0ANN", "pay acme", "")
	p.card(thread, 1)
	r := p.pendingOf()
	p.eventually("the card is recorded", func() bool {
		now, err := p.engine.Recorded(p.ctx(), testWorkspace, r.ID)
		return err == nil && len(now.Cards) > 0
	})
	// Each bot as if the other one had tried: neither remembers anything of it.
	n := cardNotification(r)
	n.Created, n.Begun = time.Now(), true
	n.Card.Cards = nil
	before := len(p.cardsIn("C0GENERAL"))
	for _, b := range []*Bot{p.bot, p.second.bot} {
		if _, err := b.Notify(p.ctx(), n); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(p.cardsIn("C0GENERAL")); got != before || got != 1 {
		t.Errorf("%d cards, want 1", got)
	}
	n.Begun = false // control: what is known to be the first try is not looked for
	if _, err := p.second.bot.Notify(p.ctx(), n); err != nil {
		t.Fatal(err)
	}
	if got := len(p.cardsIn("C0GENERAL")); got != before+1 {
		t.Errorf("control: %d cards, want %d", got, before+1)
	}
}

// pendingOf waits for a request that waits, and returns it.
func (p *pair) pendingOf() (r *approvals.Request) {
	p.t.Helper()
	p.eventually("a request waits", func() bool {
		page, err := p.engine.Pending(p.ctx(), approvals.PendingQuery{Workspace: testWorkspace, Limit: 1})
		if err != nil || len(page.Requests) == 0 {
			return false
		}
		r = page.Requests[0]
		return true
	})
	return r
}

// TestCardLeadsToWhatAnotherBotHasPosted: a stale card leads to the question that was asked in its place, whichever of
// the bots shows the one, and the other.
func TestCardLeadsToWhatAnotherBotHasPosted(t *testing.T) {
	t.Parallel()
	for i := range 4 { // who delivers is left to chance
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var contents atomic.Value
			contents.Store("aa")
			p := newPair(t, &world{policy: everybody{}, tools: []agent.Tool{patcher(&contents)}, script: reload()})
			p.memory.Unreliable(storetest.Chaos{Seed: uint64(i), Late: 0.5, Delay: 100 * time.Millisecond, Twice: 0.5})
			thread := p.mention("U0ANN", "reload", "")
			card := p.card(thread, 1)
			contents.Store("bb")
			if err := p.click("U0BEN", card, "approve"); err != nil {
				t.Fatal(err)
			}
			next := p.card(thread, 2)
			p.eventually("the first card leads to the second", func() bool {
				m, _ := p.slack.Message("C0GENERAL", card.TS)
				return strings.Contains(string(m.Blocks), strings.ReplaceAll(next.TS, ".", ""))
			})
		})
	}
}

// TestOthersHearThatAChannelIsShared: Slack says to one bot that people of another organisation read the channel now,
// and the other one, which has just found that they do not, shows the card.
func TestOthersHearThatAChannelIsShared(t *testing.T) {
	t.Parallel()
	p := newPair(t, &world{policy: everybody{}, script: script{pay("call_1"), scripted.Say("Done.")}})
	thread := p.mention("U0ANN", "pay acme", "")
	p.card(thread, 1)
	r := p.pendingOf()
	for _, b := range []*Bot{p.bot, p.second.bot} { // both know that it is not shared
		if ext, err := b.outsiders(p.ctx(), testWorkspace, "C0GENERAL"); err != nil || ext {
			t.Fatal(ext, err)
		}
	}
	p.shares()
	p.eventually("the card says that the channel is shared", func() bool {
		return len(p.argumentsIn("C0GENERAL")) == 0
	})
	for name, b := range map[string]*Bot{"the one": p.bot, "the other": p.second.bot} {
		n := cardNotification(r)
		n.Anew = true
		if bare, err := b.showsBare(p.ctx(), n); err != nil || !bare {
			t.Errorf("%s would show the call: %v", name, err)
		}
	}
}

// TestStateMarksOfAnotherBot: a bot has set the reaction of a state and died before that was recorded. The other one,
// which has run for long, takes it away with the next one.
func TestStateMarksOfAnotherBot(t *testing.T) {
	t.Parallel()
	p := newPair(t, &world{policy: everybody{}, script: script{pay("call_1"), scripted.Say("Done.")}})
	ts := p.mention("U0ANN", "pay acme", "")
	p.card(ts, 1)
	p.marked(ts, "raised_hand")
	run := p.pendingOf().Run
	died := func(status approvals.RunStatus, begun bool) *approvals.Notification {
		return &approvals.Notification{
			Workspace: testWorkspace, ID: approvals.NotificationID("ntf_" + string(status)), Run: run,
			Kind: approvals.NotifyState, Created: time.Now(), Begun: begun,
			Marked: &approvals.Marked{Channel: "C0GENERAL", Message: ts, Status: status, Shown: approvals.RunWaiting},
		}
	}
	// The first one gets as far as to show that it works, and nobody records that.
	if _, err := p.bot.Notify(p.ctx(), died(approvals.RunRunning, false)); err != nil {
		t.Fatal(err)
	}
	p.marked(ts, "hourglass_flowing_sand")
	if _, err := p.second.bot.Notify(p.ctx(), died(approvals.RunDone, true)); err != nil {
		t.Fatal(err)
	}
	p.marked(ts, "white_check_mark")
}

// TestLateDeliveryIsNotSent: nothing is begun past the deadline of a delivery, also when its timer has not noticed: the
// process may have been stopped for a while, and another one has taken the delivery over.
func TestLateDeliveryIsNotSent(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	before := len(s.slack.Calls())
	ctx := untimely{t.Context(), time.Now().Add(-time.Millisecond)}
	if _, err := s.bot.client.postMessage(ctx, r.Place.Channel, message{text: "late"}); err == nil {
		t.Error("it was sent")
	}
	if got := len(s.slack.Calls()); got != before {
		t.Errorf("%d calls were made", got-before)
	}
	ctx.deadline = time.Now().Add(time.Minute)
	if _, err := s.bot.client.postMessage(ctx, r.Place.Channel, message{text: "in time"}); err != nil {
		t.Errorf("control: %v", err)
	}
}

// untimely is a context whose timer has not noticed yet that the deadline has passed.
type untimely struct {
	context.Context
	deadline time.Time
}

func (u untimely) Deadline() (time.Time, bool) { return u.deadline, true }
