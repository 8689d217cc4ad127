// What one can try next: a card above the composer.

import { act } from './api.js';
import { fill, h, toast } from './dom.js';
import { menuButton } from './menu.js';
import { me } from './names.js';

// plainText is a message as somebody would type it, for comparing.
const plainText = (s) => s.replace(/<@[^>]*>|@\w+/g, '@').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&').trim();

// waiting are the time stamps of the app's messages that have a button to decide something with.
const waiting = (state) => state.channels.flatMap((c) => c.messages)
  .filter((m) => m.bot && (m.blocks || []).some((b) => (b.elements || []).some((e) => e.style === 'primary' || e.style === 'danger')))
  .map((m) => m.ts);

export class Tries {
  constructor(composer) {
    this.composer = composer;
    this.el = h('div', { class: 'hint-card', data: { hint: '' }, hidden: true, role: 'group', 'aria-label': 'What to try' });
    this.at = Number(sessionStorage.getItem('try') || 0);
    this.closed = sessionStorage.getItem('tries') === 'closed';
  }

  go(i) {
    this.at = i;
    sessionStorage.setItem('try', i);
    this.draw();
  }

  // update goes on to the next idea when this one was sent.
  update(state) {
    this.tries = state.tries;
    this.startOver = state.startOver;
    const said = state.channels.flatMap((c) => c.messages).filter((m) => !m.bot).map((m) => plainText(m.text));
    this.answered(waiting(state));
    const count = (t) => said.filter((s) => s === plainText(t.text)).length;
    const now = this.tries[this.at];
    const key = JSON.stringify([this.at, this.tries.length, now && count(now), this.closed, this.then]);
    if (key === this.key) return;
    const sent = now && this.seen && this.seen.at === this.at && count(now) > this.seen.count;
    if (sent) this.sent(now);
    this.seen = { at: this.at, count: this.tries[this.at] ? count(this.tries[this.at]) : 0 };
    this.key = key;
    this.draw();
  }

  // answered takes away what is to be done about the cards that came of the last idea, once none of them waits.
  answered(cards) {
    if (!this.then) { this.before = cards; this.came = false; return; }
    const left = cards.filter((ts) => !this.before?.includes(ts));
    if (this.came && !left.length) this.then = '';
    this.came = left.length > 0;
  }

  sent(idea) {
    this.then = idea.then;
    this.came = false;
    this.go(this.at + 1);
  }

  draw() {
    this.el.hidden = this.closed || !this.tries?.length;
    if (this.el.hidden) return;
    const idea = this.tries[this.at];
    fill(this.el,
      this.then ? h('p', { class: 'hint-then', data: { then: '' } }, h('span', { class: 'hint-label' }, 'Now'), h('span', { class: 'hint-text' }, this.then)) : null,
      h('div', { class: 'hint-line' }, h('span', { class: 'hint-label' }, idea ? 'Try' : 'Done'),
        h('span', { class: 'hint-text', data: { try: this.at } }, idea ? idea.text || idea.then : 'That was everything. Ask what you like, pick an idea again, or start over.'),
        h('span', { class: 'hint-buttons' },
          idea?.text ? h('button', { type: 'button', class: 'btn small', data: { useHint: '' }, onclick: () => this.use(idea) }, 'Use this') : null,
          idea ? h('button', { type: 'button', class: 'btn small quiet', data: { nextTry: '' }, onclick: () => { this.then = ''; this.go(this.at + 1); } }, 'Next') : null,
          menuButton({ class: 'icon-btn', 'aria-label': 'All ideas', title: 'All ideas', data: { tries: '' } }, '☰', () => this.entries()),
          h('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Hide this', title: 'Hide this', onclick: () => this.hide() }, '✕'))));
  }

  use(idea) {
    this.composer.fill(idea.text);
    if (idea.text.startsWith('/')) { this.sent(idea); }
  }

  hide() {
    this.closed = true;
    this.then = '';
    sessionStorage.setItem('tries', 'closed');
    this.el.hidden = true;
    this.composer.input.focus();
  }

  entries() {
    const ideas = this.tries.map((t, i) => ({ label: t.text || t.then, data: { tryNumber: i }, checked: i === this.at, choose: () => { this.then = ''; this.go(i); this.el.querySelector('button')?.focus(); } }));
    if (this.startOver) ideas.push({ label: 'Start over: a new workspace and an empty store', data: { startOver: '' }, choose: startOver });
    return ideas;
  }
}

async function startOver() {
  toast('Starting over…');
  const answer = await act('startover', { User: me() });
  if (!answer.ok) toast(answer.error, 'bad');
}
