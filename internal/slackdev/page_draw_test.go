package slackdev_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"countersign/internal/slackdev"
)

// TestPageDraws renders the elements of testdata/draw.json as the page does, and asks the page's own language
// about them.
func TestPageDraws(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "draw.json"))
	var drawn []struct {
		Why, Ask, Want string
		Block          json.RawMessage
	}
	if err = errors.Join(err, json.Unmarshal(data, &drawn)); err != nil || len(drawn) < 12 {
		t.Fatal(len(drawn), err)
	}
	w := start(t, slackdev.Config{})
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(w.URL()), chromedp.WaitReady(`body[data-me]`)); err != nil {
		t.Fatal(err)
	}
	for _, c := range drawn {
		script := `Promise.all(['blocks', 'elements'].map((m) => import('/js/' + m + '.js'))).then(([b, e]) => {
			const sent = [], surface = new e.Surface((a) => { sent.push(a); return Promise.resolve({ ok: true }); });
			const d = document.createElement('div');
			document.querySelector('#main').append(d);
			d.className = 'message-main';
			const block = { ...` + string(c.Block) + `, block_id: 'B' };
			d.append(b.renderBlocks([block], surface, { users: [], channels: [] }));
			const said = String(` + c.Ask + `);
			document.querySelector('.menu')?.remove();
			d.remove();
			return said;
		})`
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
		if err != nil || got != c.Want {
			t.Errorf("%s: got %q, want %q (%v)", c.Why, got, c.Want, err)
		}
	}
}

// TestPageDrawsMessages shows what stands around and under messages: deleted ones with replies, edits, reactions, and
// whispers only where Slack shows them.
func TestPageDrawsMessages(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(w.URL()), chromedp.WaitReady(`body[data-me]`)); err != nil {
		t.Fatal(err)
	}
	message := func(extra object) object {
		m := object{"channel": "C0GENERAL", "ts": "2.0", "thread": "", "user": "U0BEN", "bot": false,
			"text": "a &lt;b&gt;text", "rev": 1}
		for k, v := range extra {
			m[k] = v
		}
		return m
	}
	for _, c := range []struct {
		why      string
		messages []object
		want     string
	}{
		{"a text", []object{message(nil)}, "a <b>text"},
		{"an edited text", []object{message(object{"edited": true})}, "a <b>text(edited)"},
		{"reactions", []object{message(object{"reactions": []object{{"name": "eyes", "users": []string{"U0ANN"}}}})},
			"a <b>text👀 1"},
		{"a file", []object{message(object{"files": []object{{"id": "F1", "name": "<i>.txt"}}})}, "a <b>text▤ <i>.txt"},
		{"what is left of a thread", []object{message(object{"ts": "3.0", "thread": "1.0"})},
			"This message was deleted.|a <b>text"},
		{"a deleted one that the workspace keeps",
			[]object{message(object{"ts": "1.0", "thread": "1.0", "deleted": true})}, "This message was deleted."},
	} {
		raw, err := json.Marshal(c.messages)
		if err != nil {
			t.Fatal(err)
		}
		script := `import('/js/messages.js').then((m) => {
			const list = new m.MessageList('x');
			document.querySelector('#main').append(list.el);
			const state = { users: [], channels: [], app: {} };
			list.update(m.withTombstones(` + string(raw) + `), state, { inThread: true });
			const said = [...list.el.querySelectorAll('.message-body')]
				.map((b) => b.innerText.replace(/\n+/g, '')).join('|');
			list.el.remove();
			return said;
		})`
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, want %q (%v)", c.why, got, c.want, err)
		}
	}
}

// TestPageHidesWhispersOfEmptyThreads shows an ephemeral reply only in a thread that has another one, as Slack does.
func TestPageHidesWhispersOfEmptyThreads(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	ctx := browser(t)
	ts, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "alone", "")
	if err != nil {
		t.Fatal(err)
	}
	whisper := object{"channel": "C0GENERAL", "user": "U0ANN", "thread_ts": ts, "text": "psst"}
	call(t, w, "chat.postEphemeral", whisper)
	if err := walk(ctx, chromedp.Navigate(w.URL()), chromedp.Click(`[data-reply]`),
		chromedp.WaitVisible(`#thread article`), chromedp.WaitNotPresent(`[data-ephemeral]`)); err != nil {
		t.Fatal(err)
	}
	call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "thread_ts": ts, "text": "not alone"})
	call(t, w, "chat.postEphemeral", whisper)
	if err := chromedp.Do(ctx, chromedp.WaitVisible(`#thread [data-ephemeral]`)); err != nil {
		t.Fatal(err)
	}
}
