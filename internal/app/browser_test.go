package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// startDemo starts the demo as a newcomer does, and returns the address of its page.
func startDemo(t *testing.T, args ...string) (p *process, url, home string) {
	t.Helper()
	home = t.TempDir()
	env := append(os.Environ(), "TMPDIR="+home, "OPENAI_API_KEY=")
	p = spawn(t, binary(t), home, env, append([]string{"demo"}, args...)...)
	p.says("http://")
	return p, regexp.MustCompile(`http://\S+`).FindString(p.out.String()), home
}

// TestDemoInBrowser uses the demo as a newcomer does: start it, open the page it names, mention the bot as the page
// proposes, become somebody else, approve, read the answer, see what else there is to try, start over, stop it.
func TestDemoInBrowser(t *testing.T) {
	t.Parallel()
	chromium(t)
	p, url, home := startDemo(t)
	b := newTab(t, url, desk, 900)
	b.click(`[data-use-hint]`)
	b.click(`#main [data-send]`)
	b.until(`document.querySelector('#thread [data-action-id=approve]')`)
	b.shows(`[data-hint]`, "Ben", "pay both invoices") // what to do now, and what to try next
	b.become("U0CLEO")
	b.press(`#thread`, "approve")
	b.shows(`#thread`, "Approved", "@cleo", "250", "transferred 250 to Acme")
	b.until(`!document.querySelector('[data-hint]').innerText.includes('Ben')`) // done
	b.shows(`[data-hint]`, "pay both invoices")
	b.click(`[data-tries]`)
	b.click(`.menu [data-start-over]`)
	b.until(`!document.querySelector('article')`)
	b.shows(`[data-hint]`, "pay invoice 1042")
	b.click(`[data-use-hint]`)
	b.click(`#main [data-send]`)
	b.until(`document.querySelector('#thread [data-action-id=approve]')`)
	p.signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("Ctrl-C ends the demo with %d", code)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "*countersign*")); len(left) > 0 {
		t.Errorf("the demo left %v behind", left)
	}
}
