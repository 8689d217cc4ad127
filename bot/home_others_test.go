package bot

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// TestHomeShowsWhatOthersAsk: another process has posted the card, so that this one, at which Ben has opened his tab,
// is told nothing. The tab shows the request all the same; one that it does not concern is published no second time.
func TestHomeShowsWhatOthersAsk(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{tune: func(b *Bot) { b.homes.pause, b.homes.every = time.Millisecond, time.Millisecond }})
	if err := s.slack.OpenHome(s.ctx(), "U0BEN"); err != nil {
		t.Fatal(err)
	}
	s.eventually("a tab", func() bool { return s.slack.HomeView("U0BEN") != nil })
	all := listed(s, 1)
	s.homeSays("U0BEN", string(all[0].ID), `"approve"`)
	published := func() (n int) {
		for _, c := range s.slack.Calls() {
			if c.Method == methodPublishView {
				n++
			}
		}
		return n
	}
	before, looked := published(), s.service.looks()
	s.eventually("more looks", func() bool { return s.service.looks() > looked+5 })
	if n := published(); n != before {
		t.Errorf("published %d times more, though nothing is new", n-before)
	}
}

// TestNewRequestsAreSoughtForWatchedTabs: the store is asked only where several share it, and while somebody may look
// at a tab.
func TestNewRequestsAreSoughtForWatchedTabs(t *testing.T) {
	t.Parallel()
	h := newHomes()
	if h.watched() != "" {
		t.Error("tabs are watched that nobody has opened")
	}
	h.opened(user("U0BEN"), "")
	if h.watched() != testWorkspace {
		t.Error("an open tab is not watched")
	}
	_, o := h.get(user("U0BEN"))
	o.at = time.Now().Add(-homeLife - time.Second)
	if h.watched() != "" {
		t.Error("a tab that was opened long ago is watched")
	}
	o.at = time.Now()
	r := transfer(small)
	o.shown = map[approvals.RequestID]bool{r.ID: true}
	h.appeared(r)
	if _, _, _, ok := h.next(); ok {
		t.Error("a tab that shows the request is brought up to date for it")
	}
	o.shown = nil
	h.appeared(r)
	if _, _, candidates, ok := h.next(); !ok || len(candidates) != 1 {
		t.Error("a tab that does not show the request is not")
	}
}

// TestMoreAreAskedThanOneLookReads: where so much has come between two looks that there may be more than was read, tabs
// are brought up to date without looking whom that concerns. The control is a look that has read all.
func TestMoreAreAskedThanOneLookReads(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{mostNew - 1: false, mostNew: true, mostNew + 5: true} {
		synctest.Test(t, func(t *testing.T) {
			b := &Bot{service: newFakeService(), homes: newHomes(), log: slog.New(slog.DiscardHandler)}
			listed(&stage{t: t, service: b.service.(*fakeService)}, n)
			b.homes.opened(user("U0BEN"), "")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go b.seekNew(ctx)
			time.Sleep(homesEvery)
			synctest.Wait()
			if _, stale, candidates, ok := b.homes.next(); !ok || stale != want {
				t.Errorf("of %d new requests the tab knows %d, stale: %v", n, len(candidates), stale)
			}
			time.Sleep(homesEvery)
			synctest.Wait()
			if _, _, _, ok := b.homes.next(); ok {
				t.Errorf("%d requests are new twice", n)
			}
		})
	}
}
