package app_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"countersign/internal/slackdev"
)

// focusShown fails the test unless one sees where the keyboard is.
func (b *tab) focusShown(where string) {
	b.t.Helper()
	if !eval[bool](b, `(() => {
		const el = document.activeElement, of = (x) => getComputedStyle(x);
		return el !== document.body && (of(el).outlineStyle !== 'none' || of(el).boxShadow !== 'none'
			|| !!el.parentElement && of(el.parentElement).boxShadow !== 'none');
	})()`) {
		b.t.Errorf("%s: one does not see where the keyboard is", where)
	}
}

// TestPageWithoutAMouse asks for a payment, becomes somebody else, approves, runs a shortcut and looks at the Home tab,
// with the keyboard alone.
func TestPageWithoutAMouse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{slack: slackdev.Config{
		Shortcuts: []slackdev.Shortcut{{Name: "Pending approvals", CallbackID: "approvals_list"}},
	}})
	w.start()
	b := w.tab(desk)
	b.find(`#main [data-composer]`)
	b.focusShown("the composer")
	b.keys("@countersign pay 40" + kb.Enter)
	b.until(`document.querySelector('#thread [data-action-id=approve]')`)

	b.find(`[role=radio][aria-checked=true]`)
	b.focusShown("who one is")
	b.keys(kb.ArrowDown)
	b.until(`document.body.dataset.me === 'U0BEN'`)
	b.find(`#thread [data-action-id=approve]`)
	b.focusShown("Approve")
	b.keys(kb.Enter)
	b.shows(`#thread`, "Approved", "answer:")
	b.until(`document.activeElement.closest('#thread')`) // the button is gone; the keyboard is where it was

	b.find(`#main [data-shortcuts]`)
	b.keys(kb.Enter)
	b.until(`document.activeElement.matches('[role=menu] [role=menuitem]')`)
	b.focusShown("a menu")
	b.keys(kb.Escape)
	b.until(`document.activeElement.matches('[data-shortcuts]') && !document.querySelector('.menu')`)
	b.keys(" ")
	b.until(`document.activeElement.matches('[role=menu] [role=menuitem]')`)
	b.keys(kb.Enter)
	b.until(`document.querySelector('dialog')?.contains(document.activeElement)`)
	b.keys(kb.Escape)
	b.until(`!document.querySelector('dialog') && document.activeElement.matches('[data-shortcuts]')`)

	b.find(`#sidebar [data-channel^=D]`)
	b.keys(kb.Enter)
	b.find(`[role=tab][aria-selected=true]`)
	b.keys(kb.ArrowLeft)
	b.until(`document.querySelector('[data-home]:not([hidden]) [data-view]')`)
	b.until(`document.activeElement.matches('[data-tab=home]')`)
}

// TestPageNamesItsControls finds nothing that can be used and has no name or no place in the order of Tab.
func TestPageNamesItsControls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{slack: slackdev.Config{
		Shortcuts: []slackdev.Shortcut{{Name: "Pending approvals", CallbackID: "approvals_list"}},
		Tries:     []slackdev.Try{{Text: "@countersign pay 40"}},
	}})
	w.start()
	b := w.tab(desk)
	b.ask("pay 40")
	for _, name := range eval[[]string](b, `
		[...document.querySelectorAll('button, input, select, textarea, [tabindex="0"]')]
		.filter((el) => el.checkVisibility() && !(el.getAttribute('aria-label') || el.getAttribute('aria-labelledby')
			|| el.labels?.length || el.innerText.trim()))
		.map((el) => el.outerHTML.slice(0, 200))`) {
		t.Errorf("it has no name: %s", name)
	}
	for _, el := range eval[[]string](b, `[...document.querySelectorAll('[onclick], .btn, .nav-item')]
		.filter((el) => el.tagName !== 'BUTTON').map((el) => el.outerHTML.slice(0, 200))`) {
		t.Errorf("it looks like a button and is none: %s", el)
	}
}
