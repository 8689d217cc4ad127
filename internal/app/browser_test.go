package app_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var screenshot = flag.String("screenshot", "", "write a picture of the demo after the approval to this PNG file")

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

// TestDemoInBrowser uses the demo as a newcomer does: start it, open the page it names, mention the bot as the page
// proposes, become somebody else, approve, read the answer, stop it.
func TestDemoInBrowser(t *testing.T) {
	t.Parallel()
	path := chromium(t)
	home := t.TempDir()
	p := spawn(t, binary(t), home, append(os.Environ(), "TMPDIR="+home, "OPENAI_API_KEY="), "demo")
	p.says("http://")
	url := regexp.MustCompile(`http://\S+`).FindString(p.out.String())

	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WindowSize(1440, 1130))
	alloc, stopAlloc := chromedp.NewExecAllocator(t.Context(), opts...)
	defer stopAlloc()
	tab, stopTab := chromedp.NewContext(alloc)
	defer stopTab()
	if err := chromedp.Do(tab); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tab, 2*patience)
	defer cancel()
	step := func(why string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			shown, _ := chromedp.Run(tab, chromedp.Text(`body`))
			t.Fatalf("%s: %v\nthe page shows:\n%s", why, err, shown)
		}
	}
	step("open the page", chromedp.Navigate(url), chromedp.WaitVisible(`#main [data-composer]`))
	step("send what the page proposes", chromedp.Click(`[data-use-hint]`), chromedp.Click(`#main [data-send]`))
	step("see the card", chromedp.WaitVisible(`#thread [data-action-id=approve]`))
	step("become an approver", chromedp.Click(`[data-switch-user=U0CLEO]`), chromedp.WaitReady(`body[data-me=U0CLEO]`))
	if *screenshot != "" {
		picture(t, ctx, strings.TrimSuffix(*screenshot, ".png")+"-card.png")
	}
	step("approve", chromedp.Click(`#thread [data-action-id=approve]`),
		chromedp.WaitNotPresent(`#thread [data-action-id=approve]`))
	var thread string
	for deadline := time.Now().Add(patience); !strings.Contains(thread, "transferred 250 to Acme") &&
		time.Now().Before(deadline); {
		var err error
		if thread, err = chromedp.Run(ctx, chromedp.Text(`#thread`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"Approved by @cleo", "Show details", "transferred 250 to Acme"} {
		if !strings.Contains(thread, want) {
			t.Errorf("the thread does not show %q:\n%s", want, thread)
		}
	}
	if *screenshot != "" {
		picture(t, ctx, *screenshot)
	}
	p.signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("Ctrl-C ends the demo with %d", code)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "*countersign*")); len(left) > 0 {
		t.Errorf("the demo left %v behind", left)
	}
}

func picture(t *testing.T, ctx context.Context, file string) {
	t.Helper()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, png, 0o644); err != nil {
		t.Fatal(err)
	}
}
