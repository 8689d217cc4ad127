package slackdev_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"countersign/internal/slackdev"
)

// TestPressOutlivesWhatArrives holds a button down while a message arrives that draws the button's pane anew: letting
// it go is still a click on it, and the message is shown after that.
func TestPressOutlivesWhatArrives(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{AckTimeout: patience, TriggerLife: patience})
	ctx := browser(t)
	step := func(why string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := walk(ctx, steps...); err != nil {
			t.Fatalf("%s: %v", why, err)
		}
	}
	step("open the page", chromedp.Navigate(w.URL()), chromedp.WaitReady(`body[data-me=U0ANN]`))
	at, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](`(() => {
		const r = document.querySelector('#sidebar [data-switch-user=U0BEN]').getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})()`))
	if err != nil {
		t.Fatal(err)
	}
	mouse := func(what input.DispatchMouseEventType) chromedp.Action[chromedp.Void] {
		return chromedp.MouseEvent(what, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1))
	}
	step("press", mouse(input.DispatchMouseEventTypeMousePressed))
	if _, err := w.Post(within(t), "U0CLEO", "C0GENERAL", "it is I, <@U0BEN>", ""); err != nil {
		t.Fatal(err)
	}
	step("the message comes", chromedp.WaitReady(`body[data-held], #main article`))
	step("let go", mouse(input.DispatchMouseEventTypeMouseReleased), chromedp.WaitReady(`body[data-me=U0BEN]`),
		chromedp.WaitReady(`#main article`), chromedp.WaitNotPresent(`body[data-held]`))
}
