package app_test

import "testing"

// TestTipGoesWithItsCard: what the page says is to be done about a card is gone once that was done, and not before.
func TestTipGoesWithItsCard(t *testing.T) {
	t.Parallel()
	_, url, _ := startDemo(t)
	b := newTab(t, url, desk, 800)
	b.click(`[data-use-hint]`)
	b.click(`#main [data-send]`)
	b.until(`document.querySelector('#thread [data-action-id=approve]')`)
	b.shows(`[data-then]`, "The card waits in the thread")
	b.become(ben)
	b.shows(`[data-then]`, "The card waits in the thread")
	b.press(`#thread`, "approve")
	b.shows(`#thread`, "Approved")
	b.until(`!document.querySelector('[data-then]') && document.querySelector('[data-try]')`)
}
