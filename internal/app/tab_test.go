package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The widths that the page is tried at: a desk, and a phone.
const (
	desk  = 1280
	phone = 390
)

// chromium returns where the browser is. Without one the test is skipped, unless the environment says that it must run.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if strings.Contains(os.Getenv("COUNTERSIGN_TEST_REQUIRE"), "chromium") {
		t.Fatal("COUNTERSIGN_TEST_REQUIRE wants chromium, and none is installed")
	}
	t.Skip("SKIPPED: no Chromium is installed to use the demo with (Debian: apt-get install chromium)")
	return ""
}

// newBrowser starts a browser that ends with the test.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	alloc, stopAlloc := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stopAlloc)
	browser, stop := chromedp.NewContext(alloc)
	t.Cleanup(stop)
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	return browser
}

// tab is the page of a workspace, as somebody looks at it.
type tab struct {
	t     *testing.T
	ctx   context.Context
	width int
}

// newTab opens a page in a browser of its own.
func newTab(t *testing.T, url string, width, height int) *tab {
	t.Helper()
	limit := 2 * patience
	if *screenshots != "" {
		limit *= 10
	}
	ctx, cancel := context.WithTimeout(newBrowser(t), limit)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, width: width}
	if err := chromedp.Listen(ctx, func(ev any) {
		if thrown, ok := ev.(*runtime.EventExceptionThrown); ok {
			t.Errorf("the page's program fails: %+v", thrown.ExceptionDetails.Exception)
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.do("open the page", chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(url),
		chromedp.WaitReady(`body[data-me]`))
	return b
}

// do takes steps, and fails the test with what the page shows when one cannot be taken.
func (b *tab) do(why string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience/2)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fail(why, err)
	}
}

func (b *tab) fail(why string, err error) {
	b.t.Helper()
	shown, _ := chromedp.Run(b.ctx, chromedp.Text(`body`))
	b.t.Fatalf("%s: %v\nthe page shows:\n%s", why, err, shown)
}

// eval returns the value of an expression of the page's own language.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience/2)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fail(script, err)
	}
	return v
}

// until waits for a condition on the page: it is looked at after each change. A page that is loaded again meanwhile is
// looked at again.
func (b *tab) until(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience/2)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise((done) => {
			const look = () => { if (`+condition+`) { seen.disconnect(); done(true); } };
			const seen = new MutationObserver(look);
			seen.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
			look();
		})`, chromedp.EvalAwaitPromise))
		switch {
		case err == nil:
			return
		case ctx.Err() == nil && strings.Contains(err.Error(), "navigated"):
		default:
			b.fail("wait for "+condition, err)
		}
	}
}

// shows waits until an element shows all the texts.
func (b *tab) shows(selector string, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		b.until(fmt.Sprintf("document.querySelector(%s)?.innerText.includes(%s)", quote(selector), quote(text)))
	}
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text always can be
	}
	return string(raw)
}

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

// keys presses keys, wherever the keyboard is.
func (b *tab) keys(keys string) {
	b.t.Helper()
	b.do("press keys", chromedp.KeyEvent(keys))
}

// say writes a message into the channel.
func (b *tab) say(text string) {
	b.t.Helper()
	b.do("say "+text, chromedp.WaitVisible(`#main [data-composer]`), chromedp.SendKeys(`#main [data-composer]`, text),
		chromedp.Click(`#main [data-send]`))
}

// become makes the page somebody else's, at either width.
func (b *tab) become(user string) {
	b.t.Helper()
	if b.width == phone {
		b.click(`[data-pane=main] #main [data-people], [data-pane=thread] #thread [data-people]`)
		b.click(`.menu [data-switch-user=` + user + `]`)
	} else {
		b.click(`#sidebar [data-switch-user=` + user + `]`)
	}
	b.do("become "+user, chromedp.WaitReady(`body[data-me=`+user+`]`))
}

// press uses an action of a card in the open thread, or of the open dialog: its button or, where there is none, its
// entry in the menu "more".
func (b *tab) press(scope, action string) {
	b.t.Helper()
	button := scope + ` [data-action-id="` + action + `"]`
	more := scope + ` [data-action-id=more]`
	b.until(fmt.Sprintf(`document.querySelector(%s) || document.querySelector(%s)`, quote(button), quote(more)))
	if eval[bool](b, fmt.Sprintf(`!!document.querySelector(%s)`, quote(button))) {
		b.click(button)
		return
	}
	b.click(more)
	b.click(`.menu [data-option^="` + action + `:"]`)
}

// find puts the keyboard on an element by going forward with Tab, and fails the test when it cannot be reached.
func (b *tab) find(selector string) {
	b.t.Helper()
	for range 150 {
		if eval[bool](b, fmt.Sprintf(`document.activeElement?.matches(%s)`, quote(selector))) {
			return
		}
		b.keys(kb.Tab)
	}
	b.fail("reach "+selector, fmt.Errorf("the keyboard does not get there"))
}

// outside names what leaves the screen sideways: buttons, fields and links, and panes that are wider inside than out.
const outside = `(() => {
	const out = [], name = (el) => el.outerHTML.slice(0, 160);
	const root = document.documentElement;
	if (root.scrollWidth > root.clientWidth) out.push('the page is ' + root.scrollWidth + ' wide');
	for (const el of document.querySelectorAll('button, a, input, select, textarea, summary, [role=option], time')) {
		const r = el.getBoundingClientRect();
		if (!el.checkVisibility() || r.width === 0 || el.closest('.table, .activity-list')) continue;
		if (r.left < -0.5 || r.right > innerWidth + 0.5) out.push(r.left + ' to ' + r.right + ': ' + name(el));
	}
	const panes = '#sidebar, #main, #thread, .messages, .blocks, .home, dialog, .dialog-body, .menu';
	for (const el of document.querySelectorAll(panes)) {
		const more = el.scrollWidth - el.clientWidth;
		if (el.checkVisibility() && more > 1) out.push(more + ' too wide: ' + name(el));
	}
	return out;
})()`

// fits fails the test for everything that leaves the screen.
func (b *tab) fits(what string) {
	b.t.Helper()
	for _, problem := range eval[[]string](b, outside) {
		b.t.Errorf("%s, %d wide: %s", what, b.width, problem)
	}
}
