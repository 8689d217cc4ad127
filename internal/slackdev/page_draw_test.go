package slackdev_test

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"

	"countersign/internal/slackdev"
)

// drawn are elements of Block Kit, what one does with them, and what the page's answer to a question about them is.
var drawn = []struct{ why, block, ask, want string }{
	{"no bar around what bots write", `{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Go"},"action_id":"a"}]}`,
		`getComputedStyle(d.querySelector('.blocks')).borderLeftWidth + getComputedStyle(d.querySelector('.blocks')).boxShadow`, "0pxnone"},
	{"an overflow menu opens, and sends its value", `{"type":"actions","elements":[{"type":"overflow","action_id":"more","options":[{"text":{"type":"plain_text","text":"One"},"value":"always_approve:req_1"},{"text":{"type":"plain_text","text":"Two"},"value":"b"}]}]}`,
		`(d.querySelector('[data-action-id=more]').click(), document.querySelector('.menu [data-option^="always_approve:"]').click(), JSON.stringify(sent[0].Value))`, `"always_approve:req_1"`},
	{"several of a list", `{"type":"input","label":{"type":"plain_text","text":"L"},"element":{"type":"multi_static_select","action_id":"m","initial_options":[{"text":{"type":"plain_text","text":"One"},"value":"1"}],"options":[{"text":{"type":"plain_text","text":"One"},"value":"1"},{"text":{"type":"plain_text","text":"Two"},"value":"2"}]}}`,
		`(d.querySelector('[data-action-id=m]').click(), document.querySelector('.menu [data-option="2"]').click(), JSON.stringify(surface.state()))`, `{"B":{"m":["1","2"]}}`},
	{"one of a list", `{"type":"input","label":{"type":"plain_text","text":"L"},"element":{"type":"static_select","action_id":"s","initial_option":{"text":{"type":"plain_text","text":"Two"},"value":"2"},"options":[{"text":{"type":"plain_text","text":"One"},"value":"1"},{"text":{"type":"plain_text","text":"Two"},"value":"2"}]}}`,
		`JSON.stringify(surface.state()) + d.querySelector('label').htmlFor.length`, `{"B":{"s":"2"}}7`},
	{"checkboxes and radio buttons", `{"type":"input","label":{"type":"plain_text","text":"L"},"element":{"type":"checkboxes","action_id":"c","options":[{"text":{"type":"plain_text","text":"One"},"value":"1"},{"text":{"type":"mrkdwn","text":"*Two*"},"value":"2"}]}}`,
		`(d.querySelectorAll('input')[1].click(), JSON.stringify(surface.state()) + d.querySelector('fieldset strong').innerText)`, `{"B":{"c":["2"]}}Two`},
	{"a date", `{"type":"input","label":{"type":"plain_text","text":"L"},"element":{"type":"datepicker","action_id":"d","initial_date":"2026-11-24"}}`,
		`JSON.stringify(surface.state())`, `{"B":{"d":"2026-11-24"}}`},
	{"a time", `{"type":"input","label":{"type":"plain_text","text":"L"},"element":{"type":"timepicker","action_id":"t","initial_time":"15:51"}}`,
		`d.querySelector('input').type + JSON.stringify(surface.state())`, `time{"B":{"t":"15:51"}}`},
	{"a number", `{"type":"input","label":{"type":"plain_text","text":"L"},"element":{"type":"number_input","action_id":"n","is_decimal_allowed":true,"min_value":"1"}}`,
		`['type', 'step', 'min'].map((k) => d.querySelector('input').getAttribute(k)).join()`, "number,any,1"},
	{"fields side by side", `{"type":"section","fields":[{"type":"mrkdwn","text":"*a*"},{"type":"plain_text","text":"*b*"}]}`,
		`getComputedStyle(d.querySelector('.fields')).gridTemplateColumns.split(' ').length + d.querySelector('.fields').innerText`, "2a\n*b*"},
	{"context is small and grey", `{"type":"context","elements":[{"type":"plain_text","text":"small"}]}`,
		`parseFloat(getComputedStyle(d.querySelector('.context')).fontSize) < 14 && getComputedStyle(d.querySelector('.context')).color !== getComputedStyle(document.body).color`, "true"},
	{"a list and an emoji", `{"type":"rich_text","elements":[{"type":"rich_text_list","style":"ordered","indent":1,"elements":[{"type":"rich_text_section","elements":[{"type":"emoji","name":"eyes"},{"type":"text","text":" <b>x</b>"}]}]}]}`,
		`d.querySelector('ol.indent-1 li').innerText`, "👀 <b>x</b>"},
	{"a step of an agent", `{"type":"task_card","task_id":"1","title":"Looks <b>it</b> up","status":"complete"}`,
		`d.querySelector('[data-task=complete]').innerText.replace(/\s+/g, ' ')`, "✓ Looks <b>it</b> up"},
}

// TestPageDraws renders elements as the page does.
func TestPageDraws(t *testing.T) {
	t.Parallel()
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
			d.append(b.renderBlocks([{ ...` + c.block + `, block_id: 'B' }], surface, { users: [], channels: [] }));
			const said = String(` + c.ask + `);
			document.querySelector('.menu')?.remove();
			d.remove();
			return said;
		})`
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, want %q (%v)", c.why, got, c.want, err)
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
		m := object{"channel": "C0GENERAL", "ts": "2.0", "thread": "", "user": "U0BEN", "bot": false, "text": "a &lt;b&gt;text", "rev": 1}
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
		{"a deleted one that the workspace keeps", []object{message(object{"ts": "1.0", "thread": "1.0", "deleted": true})},
			"This message was deleted."},
	} {
		raw, err := json.Marshal(c.messages)
		if err != nil {
			t.Fatal(err)
		}
		script := `import('/js/messages.js').then((m) => {
			const list = new m.MessageList('x');
			document.querySelector('#main').append(list.el);
			list.update(m.withTombstones(` + string(raw) + `), { users: [], channels: [], app: {} }, { inThread: true });
			const said = [...list.el.querySelectorAll('.message-body')].map((b) => b.innerText.replace(/\n+/g, '')).join('|');
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
	if err := chromedp.Do(ctx, chromedp.Navigate(w.URL()), chromedp.Click(`[data-reply]`),
		chromedp.WaitVisible(`#thread article`), chromedp.WaitNotPresent(`[data-ephemeral]`)); err != nil {
		t.Fatal(err)
	}
	call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "thread_ts": ts, "text": "not alone"})
	if err := chromedp.Do(ctx, chromedp.WaitVisible(`#thread [data-ephemeral]`)); err != nil {
		t.Fatal(err)
	}
}
