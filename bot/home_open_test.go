package bot

import (
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestHomeThatHasToWaitIsNotForgotten: somebody opened their tab and met a 429. A tab that has changed meanwhile has to
// wait until Slack takes calls again, and is brought up to date then.
func TestHomeThatHasToWaitIsNotForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &Bot{
			pace: newPacing(), homes: newHomes(), way: newRightOfWay(), log: slog.New(slog.DiscardHandler),
		}
		opened := paced{method: methodPublishView, what: "somebody's"}
		b.pace.wait(opened)
		b.pace.done(opened, time.Now(), 30*time.Second)
		b.homes.opened(user("U0ANN"), "")
		if wait := b.refreshHome(t.Context(), user("U0ANN")); wait < 30*time.Second {
			t.Errorf("the next tab is tried after %s", wait)
		}
		if by, stale, _, ok := b.homes.next(); !ok || !stale || by != user("U0ANN") {
			t.Errorf("the tab is forgotten: %q, %v, %v", by, stale, ok)
		}
	})
}

// TestHomeThatSlackDidNotTakeIsTriedAgain: Slack does not answer while a tab is brought up to date. It is once Slack
// does.
func TestHomeThatSlackDidNotTakeIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{tune: func(b *Bot) { b.homes.pause, b.homes.every = time.Millisecond, time.Hour }})
	all := listed(s, 2)
	s.atHome("U0BEN")
	s.homeSays("U0BEN", string(all[0].ID))
	s.slack.Fail(slackdev.Fault{Method: methodPublishView, Times: 2, Status: http.StatusInternalServerError})
	s.service.edit(all[0].ID, func(r *approvals.Request) { r.Status, r.Settled = approvals.RequestExpired, time.Now() })
	s.bot.homes.changed(all[0])
	s.homeSays("U0BEN", "not:"+string(all[0].ID), string(all[1].ID))
}

// TestHomeShowsWhatCouldNotBeJudgedAtFirst: something new waits, and Slack does not say who Ben is at that moment. His
// tab shows it once Slack does.
func TestHomeShowsWhatCouldNotBeJudgedAtFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{tune: func(b *Bot) { b.homes.pause, b.homes.every = time.Millisecond, time.Hour }})
	s.atHome("U0BEN")
	all := listed(s, 1)
	s.bot.client.people.forget("U0BEN")
	s.slack.Fail(slackdev.Fault{Method: methodUserInfo, Status: http.StatusInternalServerError})
	s.bot.homes.changed(all[0])
	s.homeSays("U0BEN", string(all[0].ID))
}
