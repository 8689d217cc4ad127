package app_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// tab opens the page of the workspace.
func (w *world) tab(width int) *tab {
	w.t.Helper()
	return newTab(w.t, w.slack.URL(), width, 900)
}

// ask says it to the bot in the page, and waits for the card.
func (b *tab) ask(words string) {
	b.t.Helper()
	b.say("@countersign " + words)
	b.until(`document.querySelector('#thread [data-action-id]')`)
}

// TestPageApproves approves a payment at both widths: the card says who, and the answer comes.
func TestPageApproves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	for _, width := range []int{desk, phone} {
		b := w.tab(width)
		b.ask("pay 40")
		b.fits("the card")
		b.press(`#thread`, "approve") // Ann asked for it: she is told why she may not
		b.until(`document.querySelector('[data-ephemeral]')`)
		b.become(ben)
		b.press(`#thread`, "approve")
		b.shows(`#thread`, "Approved", "@ben", "answer:")
		b.until(`!document.querySelector('#thread [data-action-id=approve]')`)
		b.fits("the answer")
	}
	if n := len(w.effects.all()); n != 2 {
		t.Errorf("%d payments, want 2", n)
	}
}

// TestPageRejectsWithReason gives a reason in the form, which the agent reads.
func TestPageRejectsWithReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	b := w.tab(phone)
	b.ask("pay 40")
	b.become(ben)
	b.press(`#thread`, "reject_with_reason")
	b.until(`document.querySelector('dialog [data-submit]')`)
	b.fits("the form")
	b.do("give the reason", chromedp.SendKeys(`dialog textarea, dialog input[type=text]`, "wrong <b>account</b>"))
	b.click(`dialog [data-submit]`)
	b.until(`!document.querySelector('dialog')`)
	b.shows(`#thread`, "Rejected", "wrong <b>account</b>")
	w.noEffect()
}

// TestPageShowsDetails opens the details of a call, which stand in a dialog of their own, and closes them with Escape.
func TestPageShowsDetails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	b := w.tab(phone)
	b.ask("pay 40")
	b.become(ben)
	b.press(`#thread`, "show_details")
	b.shows(`dialog`, "pay", "40")
	b.fits("the details")
	b.keys("\u001b")
	b.until(`!document.querySelector('dialog')`)
	b.until(`document.activeElement.closest('#thread')`)
	w.noEffect()
}

// TestPageAlwaysApproves makes a standing answer: the other payment of the run needs nobody.
func TestPageAlwaysApproves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: "default_policy: { approvers: { channel_members: true }, " +
		"always: { scopes: [run, thread], max_ttl: 24h } }\n"})
	w.start()
	b := w.tab(desk)
	b.ask("pay 40 then 41")
	b.become(ben)
	b.press(`#thread`, "always_approve")
	b.until(`document.querySelector('dialog [data-submit], dialog [data-confirm=yes]')`) // no longer the loading view
	b.fits("the choice")
	if eval[bool](b, `!!document.querySelector('dialog [data-submit]')`) {
		if eval[bool](b, `!!document.querySelector('dialog input[value=thread]')`) {
			b.click(`dialog input[value=thread]`)
		}
		b.click(`dialog [data-submit]`)
	} else {
		b.click(`dialog [data-confirm=yes]`)
	}
	b.shows(`#thread`, "Approved", "answer:")
	if n := len(w.effects.all()); n != 2 {
		t.Errorf("%d payments, want both", n)
	}
	w.must("audit", "verify")
}

// TestPageProvidesResult reports what came of a call that somebody carried out elsewhere.
func TestPageProvidesResult(t *testing.T) {
	t.Parallel()
	w, _ := newKindsWorld(t)
	w.start()
	b := w.tab(phone)
	b.ask("deploy")
	b.become(ben)
	b.press(`#thread`, "provide_result")
	b.until(`document.querySelector('dialog [data-submit]')`)
	b.fits("the form")
	b.do("write the result", chromedp.SendKeys(`dialog textarea, dialog input[type=text]`, "build 4711"))
	b.click(`dialog [data-submit]`)
	b.shows(`#thread`, "build 4711", "@ben")
}

// TestPageAnswersQuestion answers what an agent asks of its own accord, by a button.
func TestPageAnswersQuestion(t *testing.T) {
	t.Parallel()
	w, _ := newKindsWorld(t)
	w.start()
	b := w.tab(phone)
	b.ask("ask the team")
	b.fits("the question")
	b.shows(`#thread`, "Which <!here> *colour*?", "blue", "red")
	b.become(ben)
	b.click(`#thread [data-action-id=option_1]`)
	b.shows(`#thread`, "Answered", `red`)
}

// TestPageFillsIn fills in what the model does not know; a field whose value will not do says so, and keeps it.
func TestPageFillsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.write("countersign.yaml", strings.NewReplacer("needs_approval: args.amount > 1", "requires_user_input: [to]",
		"to: { type: string }", "to: { type: string, minLength: 3 }").Replace(w.read("countersign.yaml")))
	w.start()
	b := w.tab(phone)
	b.ask("pay 40")
	b.become(ben)
	b.press(`#thread`, "provide_input")
	b.until(`document.querySelector('dialog [data-submit]')`)
	b.fits("the form")
	b.do("write too little", chromedp.SetValue(`dialog .input .field`, "Ac"))
	b.click(`dialog [data-submit]`)
	b.until(`document.querySelector('dialog [aria-invalid=true]')`)
	b.until(`document.querySelector('dialog .input .field').value === "Ac"`)
	b.do("write the rest", chromedp.SendKeys(`dialog .input .field`, "me"))
	b.click(`dialog [data-submit]`)
	b.until(`!document.querySelector('dialog')`)
	b.shows(`#thread`, "Acme")
}

// TestPageSaysWhatHappened settles a call that was under way when the program died.
func TestPageSaysWhatHappened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	release := w.effects.holdBack()
	defer release()
	p := w.start()
	b := w.tab(phone)
	b.ask("pay 40")
	b.become(ben)
	b.press(`#thread`, "approve")
	<-w.effects.came
	p.kill()
	release()
	next := w.start()
	b.until(`document.querySelector('#thread [data-action-id=mark_done]')`)
	b.fits("the question what happened")
	b.press(`#thread`, "mark_done")
	b.until(`document.querySelector('dialog [data-submit], dialog [data-confirm=yes]')`)
	b.fits("the form")
	if eval[bool](b, `!!document.querySelector('dialog .input .field')`) {
		b.do("say what happened", chromedp.SendKeys(`dialog .input .field`, "It is in the ledger."))
	}
	b.click(`dialog [data-submit], dialog [data-confirm=yes]`)
	b.shows(`#thread`, "answer:")
	if n := len(w.effects.all()); n != 1 {
		t.Errorf("%d payments, want 1", n)
	}
	w.decider(ben) // on the page
	w.judged(next)
}
