package bot

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
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
