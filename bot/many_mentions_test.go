package bot

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

var long = flag.Bool("long", false, "run the slow tests too")

// TestThousandMentionsAtOnce: 1,000 mentions over 100 channels of a workspace that counts calls. Its minute lasts three
// seconds; its limits are Slack's. Nothing is lost, Slack says 429 hardly more often than it takes to learn from, and
// clicks are taken while the queue drains.
func TestThousandMentionsAtOnce(t *testing.T) {
	if !*long {
		t.Skip("slow; -long runs it")
	}
	const channels, each, clicks = 100, 10, 50
	var all []slackdev.Channel
	for i := range channels {
		all = append(all, slackdev.Channel{
			ID: fmt.Sprintf("C%03d", i), Members: []string{"U0ANN", "U0BEN"}, BotMember: true,
		})
	}
	said := pay("call_1")
	said.Items = append([]agent.Item{agent.AssistantMessage("I will pay.\n")}, said.Items...)
	w := startWorld(t, &world{
		policy: everybody{}, script: script{said, scripted.Say("Paid.")}, tune: streamsSoon, with: slackdev.Config{
			Channels: all, RateLimits: true, RateMinute: 3 * time.Second,
			RetryAfter: []time.Duration{0, time.Second, time.Second},
		},
	})
	var posting sync.WaitGroup
	for i := range channels {
		posting.Go(func() {
			for range each {
				if _, err := w.slack.Post(w.ctx(), "U0ANN", all[i].ID, "<@U0BOT> pay acme", ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	posting.Wait()
	cards := func() (found []slackdev.Message) {
		for _, c := range all {
			for _, m := range w.slack.Messages(c.ID) {
				if m.Metadata != nil && m.Metadata.EventType == cardEvent {
					found = append(found, m)
				}
			}
		}
		return found
	}
	w.eventually("the first cards", func() bool { return len(cards()) >= clicks })
	clicked := cards()[:clicks]
	for _, c := range clicked { // while most of the cards wait for their turn
		if err := w.click("U0BEN", c, "approve"); err != nil {
			t.Fatalf("a click was not acknowledged while the queue drains: %v", err)
		}
	}
	if n := len(cards()); n == channels*each {
		t.Error("the queue was empty before the clicks; the test shows nothing about them")
	}
	w.eventually("all cards", func() bool { // turns are promised, so that what waits is bounded by what there is to say
		w.bot.pace.mu.Lock()
		defer w.bot.pace.mu.Unlock()
		promised := 0
		for _, l := range w.bot.pace.lanes {
			promised += len(l.turns)
		}
		if lanes := len(w.bot.pace.lanes); lanes > channels+20 || promised > 2*channels*each {
			t.Errorf("%d lanes, %d turns", lanes, promised)
		}
		return len(cards()) == channels*each
	})
	// Whose right could not be looked up in time was told that nothing is recorded, and presses again.
	told := len(w.slack.Ephemerals("U0BEN"))
	if told > clicks/10 {
		t.Errorf("%d of %d clicks were not recorded", told, clicks)
	}
	for _, c := range clicked {
		r, err := w.engine.Request(w.ctx(), testWorkspace, approvals.RequestID(requestOf(t, c)))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != approvals.RequestPending {
			continue
		}
		if told--; told < 0 {
			t.Fatal("a click was lost, and nobody was told")
		}
		if err := w.click("U0BEN", c, "approve"); err != nil {
			t.Fatal(err)
		}
	}
	w.eventually("every approved card says so", func() bool {
		return len(w.bank.payments()) == clicks && !slices.ContainsFunc(w.approved(), func(r *approvals.Request) bool {
			m, _ := w.slack.Message(r.Cards[0].Channel, r.Cards[0].Message)
			return takesAnswers(m)
		})
	})
	byRequest, refused := map[any]int{}, map[string]int{}
	for _, c := range cards() {
		byRequest[c.Metadata.EventPayload["request"]]++
	}
	if len(byRequest) != channels*each || len(cards()) != channels*each {
		t.Errorf("%d cards of %d requests", len(cards()), len(byRequest))
	}
	for _, c := range w.slack.Calls() {
		if c.Status == 429 {
			refused[c.Method]++
		}
	}
	t.Logf("answers of 429: %v", refused)
	for method, n := range refused {
		if n > 4*mostInFlight {
			t.Errorf("%s: %d answers of 429", method, n)
		}
	}
	begun := 0
	for _, c := range w.calls(methodStartStream) {
		if c.OK {
			begun++
		}
	}
	if begun == 0 || begun > mostStreamStarts || refused[methodStartStream]+refused[methodAppendStream] > 0 {
		t.Errorf("%d streams have begun; %v", begun, refused)
	}
	w.eventually("the goroutines to have gone", func() bool { return runtime.NumGoroutine() <= 500 })
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	if memory.HeapAlloc > 1<<30 {
		t.Errorf("%d bytes in use afterwards", memory.HeapAlloc)
	}
}

// approved lists the requests that people approved.
func (w *world) approved() (found []*approvals.Request) {
	w.t.Helper()
	page, err := w.engine.History(w.ctx(), approvals.HistoryQuery{
		Workspace: testWorkspace, Viewer: user("U0BEN"), Limit: 50,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, head := range page.Requests {
		if head.Status == approvals.RequestApproved && len(head.Cards) > 0 {
			found = append(found, &approvals.Request{RequestHead: *head})
		}
	}
	return found
}
