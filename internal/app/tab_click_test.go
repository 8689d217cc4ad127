package app_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// click presses what one sees, once it has come to rest. What is drawn anew, or moves, at that moment is pressed again.
func (b *tab) click(selector string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience/2)
	defer cancel()
	for {
		hit, err := clicked(ctx, selector)
		switch {
		case err == nil && hit:
			return
		case err == nil:
			b.t.Logf("pressed beside %s, which has moved", selector)
		case ctx.Err() != nil || !strings.Contains(err.Error(), "Could not find node"):
			b.fail("click "+selector, err)
		}
	}
}

// atRest waits until an element, or what has taken its place, stands where it stood two frames before. It is only a
// help: an element that is gone is for who uses it to find out.
func atRest(ctx context.Context, selector string) {
	_, _ = chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise((done) => {
		const at = () => JSON.stringify(document.querySelector(`+quote(selector)+`)?.getBoundingClientRect());
		const frames = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
		const look = (before) => frames(() => { const now = at(); if (now === before) done(true); else look(now); });
		look(at());
	})`, chromedp.EvalAwaitPromise))
}

// clicked moves the mouse to where the element is and presses. It reports whether it was still there.
func clicked(ctx context.Context, selector string) (hit bool, err error) {
	if err := chromedp.Do(ctx, chromedp.WaitVisible(selector)); err != nil {
		return false, err
	}
	atRest(ctx, selector)
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(() => {
		const press = window.lastPress = { hit: false };
		document.addEventListener('click', (e) => { press.hit ||= !!e.target.closest(`+quote(selector)+`); }, true);
		return true;
	})()`)); err != nil {
		return false, err
	}
	if err := chromedp.Do(ctx, chromedp.Click(selector)); err != nil {
		return false, err
	}
	// A page that is loaded anew since has been pressed.
	return chromedp.Run(ctx, chromedp.Evaluate[bool](`window.lastPress?.hit ?? true`))
}

// TestClickOfWhatMoves has a button slip away below the mouse once: who clicks it does not go on as if it had been hit.
func TestClickOfWhatMoves(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `<!doctype html><body data-me=x><button id=b>Pay</button><script>
			b.onpointerdown = () => { b.style.marginLeft = '300px'; };
			b.onclick = () => { document.body.dataset.clicked = ''; };
		</script>`)
	}))
	t.Cleanup(page.Close)
	b := newTab(t, page.URL, desk, 900)
	b.click(`#b`)
	if !eval[bool](b, `'clicked' in document.body.dataset`) {
		t.Error("the button was not clicked")
	}
}
