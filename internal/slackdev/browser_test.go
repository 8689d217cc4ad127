package slackdev_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
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
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(patience), // how long it may take to start
		chromedp.WindowSize(1380, 860))
	alloc, stopAlloc := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stopAlloc)
	ctx, stop := chromedp.NewContext(alloc)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(ctx, 5*patience) // so that what never comes does not hang the test
	t.Cleanup(cancel)
	return limited
}

// walk takes the steps one after the other. The page may replace a node between the look for it and its use, when
// something arrives. Nothing has been done then, as the browser knows no such node, and the step is taken again.
func walk(ctx context.Context, steps ...chromedp.Action[chromedp.Void]) error {
	for _, step := range steps {
		err := chromedp.Do(ctx, step)
		for replaced(err) && ctx.Err() == nil {
			err = chromedp.Do(ctx, step)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replaced reports whether a step found a node that was not there any more when it was to be used.
func replaced(err error) bool {
	var e *cdproto.Error
	if !errors.As(err, &e) {
		return errors.Is(err, chromedp.ErrInvalidDimensions)
	}
	for _, words := range []string{
		"Could not find node", "Node is detached", "Node does not have a layout object",
		"Could not compute content quads",
	} {
		if strings.HasPrefix(e.Message, words) {
			return true
		}
	}
	return false
}

// TestPage walks through the page as people do: mention, card, modal with a
// field error, another person, a command only one person sees.
func TestPage(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{
		AckTimeout: patience, TriggerLife: patience, // nothing fails because the machine is slow
		Commands: []string{"/approvals"}, Tries: []slackdev.Try{
			{Text: "@countersign <img src=x onerror=document.title='owned'>", Then: "<b>look</b>"},
		},
	})
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
		if err := walk(ctx, steps...); err != nil {
			t.Fatalf("%s: %v", why, err)
		}
	}
	step("write the hint", chromedp.Navigate(w.URL()), chromedp.WaitVisible(`[data-use-hint]`),
		chromedp.Click(`[data-use-hint]`), chromedp.Click(`#main [data-send]`))
	step("see the card in its thread", chromedp.WaitVisible(`#thread [data-action-id=reject]`))
	step("become Ben", chromedp.Click(`[data-switch-user=U0BEN]`), chromedp.WaitReady(`body[data-me=U0BEN]`))
	step("open the form", chromedp.Click(`#thread [data-action-id=reject]`),
		chromedp.WaitVisible(`dialog [data-submit]`))
	step("submit too little", chromedp.SendKeys(`dialog [data-action-id=text]`, "no"),
		chromedp.Click(`dialog [data-submit]`), chromedp.WaitVisible(`dialog [aria-invalid=true]`))
	if text, err := chromedp.Run(ctx, chromedp.Text(`[data-error-for=reason]`)); err != nil || text != "too short" {
		t.Errorf("field error %q, %v", text, err)
	}
	step("submit enough", chromedp.SendKeys(`dialog [data-action-id=text]`, " <b>way</b>"),
		chromedp.Click(`dialog [data-submit]`), chromedp.WaitNotPresent(`dialog`))
	step("see the decision", chromedp.WaitNotPresent(`#thread [data-action-id=reject]`))
	text, err := chromedp.Run(ctx, chromedp.Text(`#thread`))
	if err != nil || !strings.Contains(text, "rejected: no <b>way</b>") {
		t.Errorf("thread shows %q, %v", text, err)
	}
	step("run a command by keyboard", chromedp.SendKeys(`#main [data-composer]`, "/app\rmine\r"),
		chromedp.WaitVisible(`[data-ephemeral]`))
	step("become Ann, who does not see the answer", chromedp.Click(`[data-switch-user=U0ANN]`),
		chromedp.WaitReady(`body[data-me=U0ANN]`), chromedp.WaitNotPresent(`[data-ephemeral]`))
	if got := w.Ephemerals("U0BEN"); len(got) != 1 {
		t.Errorf("ephemerals of Ben: %v", got)
	}
	if title, err := chromedp.Run(ctx, chromedp.Title()); err != nil || strings.Contains(title, "owned") {
		t.Errorf("title %q, %v: markup in a text was run", title, err)
	}
}

// TestMarkup renders texts in the browser: what is markup becomes elements,
// what people and models wrote as text stays text.
func TestMarkup(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(w.URL()), chromedp.WaitReady(`body[data-me]`)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ how, text, want string }{
		{"mrkdwn", "*b* _i_ ~s~ `c`", "<strong>b</strong> <em>i</em> <del>s</del> <code>c</code>"},
		{"mrkdwn", "2*3*4 a_b_c", "2*3*4 a_b_c"},
		{"mrkdwn", "<@U0BEN> &lt;@U0BEN&gt;", `<span class="mention" data-user="U0BEN">@ben</span> &lt;@U0BEN&gt;`},
		{"mrkdwn", "<https://a.example|Approve>",
			`<a href="https://a.example" target="_blank" rel="noopener noreferrer nofollow">Approve</a>`},
		{"mrkdwn", "<javascript:alert(1)|x>", "x"},
		{"mrkdwn", "```*a*\n<b>```", "<pre>*a*\n&lt;b&gt;</pre>"},
		{"mrkdwn", "&gt; q\nr", "<blockquote>q</blockquote>r"},
		{"mrkdwn", "<!channel>", `<span class="mention wide">@channel</span>`},
		{"plain", "*b* <@U0BEN> <!channel> `c`", "*b* &lt;@U0BEN&gt; &lt;!channel&gt; `c`"},
		{"rich", "*b* <@U0BEN> <img src=x>", "*b* &lt;@U0BEN&gt; &lt;img src=x&gt;"},
		{"markdown", "**b** `<i>` [x](javascript:alert)", "<strong>b</strong> <code>&lt;i&gt;</code> x"},
	} {
		raw, err := json.Marshal(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		script := `Promise.all(
			['mrkdwn', 'richtext', 'markdown'].map((m) => import('/js/' + m + '.js'))
		).then(([s, r, m]) => {
			const text = ` + string(raw) + `, d = document.createElement('div');
			const section = { type: 'rich_text_section', elements: [{ type: 'text', text }] };
			d.append(...{
				mrkdwn: () => s.mrkdwn(text),
				plain: () => s.plain({ text }),
				rich: () => r.richText({ elements: [section] }).querySelector('span').childNodes,
				markdown: () => m.markdown(text).firstChild.childNodes,
			}['` + tc.how + `']());
			return d.innerHTML;
		})`
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
		if err != nil || got != tc.want {
			t.Errorf("%s %q\n got %s\nwant %s (%v)", tc.how, tc.text, got, tc.want, err)
		}
	}
}
