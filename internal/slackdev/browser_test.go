package slackdev_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/slack-go/slack/socketmode"

	"countersign/internal/slackdev"
)

// browser opens a headless Chromium that ends with the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		required(t, "chromium", "no Chromium is installed to try the page in")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.WindowSize(1380, 860))
	alloc, stopAlloc := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stopAlloc)
	ctx, stop := chromedp.NewContext(alloc)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(ctx, 60*time.Second)
	t.Cleanup(cancel)
	return limited
}

// TestPage walks through the page as people do: mention, card, modal with a
// field error, another person, a command only one person sees.
func TestPage(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{Commands: []string{"/approvals"}, Hint: "Try: @countersign <img src=x onerror=document.title='owned'>"})
	ctx := browser(t)
	api := client(w)
	bot := approvalBot(t, api)
	serve(t, w, func(sock *socketmode.Client, ev socketmode.Event) {
		if ev.Type == socketmode.EventTypeSlashCommand {
			sock.Ack(*ev.Request, object{"text": "nothing for *you*"})
			return
		}
		bot(sock, ev)
	})
	step := func(why string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatalf("%s: %v", why, err)
		}
	}
	step("write the hint", chromedp.Navigate(w.URL()), chromedp.WaitVisible(`[data-use-hint]`), chromedp.Click(`[data-use-hint]`), chromedp.Click(`#main [data-send]`))
	step("see the card in its thread", chromedp.WaitVisible(`#thread [data-action-id=reject]`))
	step("become Ben", chromedp.Click(`[data-switch-user=U0BEN]`), chromedp.WaitReady(`body[data-me=U0BEN]`))
	step("open the form", chromedp.Click(`#thread [data-action-id=reject]`), chromedp.WaitVisible(`dialog [data-submit]`))
	step("submit too little", chromedp.SendKeys(`dialog [data-action-id=text]`, "no"), chromedp.Click(`dialog [data-submit]`), chromedp.WaitVisible(`dialog [aria-invalid=true]`))
	if text, err := chromedp.Run(ctx, chromedp.Text(`[data-error-for=reason]`)); err != nil || text != "too short" {
		t.Errorf("field error %q, %v", text, err)
	}
	step("submit enough", chromedp.SendKeys(`dialog [data-action-id=text]`, " <b>way</b>"), chromedp.Click(`dialog [data-submit]`), chromedp.WaitNotPresent(`dialog`))
	step("see the decision", chromedp.WaitNotPresent(`#thread [data-action-id=reject]`))
	if text, err := chromedp.Run(ctx, chromedp.Text(`#thread`)); err != nil || !strings.Contains(text, "rejected: no <b>way</b>") {
		t.Errorf("thread shows %q, %v", text, err)
	}
	step("run a command by keyboard", chromedp.SendKeys(`#main [data-composer]`, "/app\rmine\r"), chromedp.WaitVisible(`[data-ephemeral]`))
	step("become Ann, who does not see the answer", chromedp.Click(`[data-switch-user=U0ANN]`), chromedp.WaitReady(`body[data-me=U0ANN]`), chromedp.WaitNotPresent(`[data-ephemeral]`))
	if got := w.Ephemerals("U0BEN"); len(got) != 1 {
		t.Errorf("ephemerals of Ben: %v", got)
	}
	if title, err := chromedp.Run(ctx, chromedp.Title()); err != nil || strings.Contains(title, "owned") {
		t.Errorf("title %q, %v: markup in a text was run", title, err)
	}
}
