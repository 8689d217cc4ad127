// Lists of messages, redrawn only where something changed, so that what a
// person types into a message survives what happens elsewhere.

import { act } from './api.js';
import { h } from './dom.js';
import { mrkdwn } from './mrkdwn.js';
import { renderBlocks } from './blocks.js';
import { Surface } from './elements.js';
import { hue, initials, me, person } from './names.js';
import { clock, dayLabel, formatDate, fullTime } from './dates.js';

export function avatar(p, size = '') {
  const el = h('span', { class: `avatar ${size} ${p.bot ? 'app-avatar' : ''}`, 'aria-hidden': 'true' }, p.bot ? '✓' : initials(p.real));
  el.style.setProperty('--hue', hue(p.id));
  return el;
}

export function badge(p) {
  if (!p.badge) return null;
  return h('span', { class: `badge ${p.badge}` }, p.badge);
}

function body(m, state) {
  const surface = new Surface((a) => act('click', { ...a, User: me(), Channel: m.channel, TS: m.ts }));
  const own = m.blocks && m.bot ? renderBlocks(m.blocks, surface, state) : h('div', { class: 'text' }, mrkdwn(m.text));
  return h('div', { class: 'message-body' }, own, m.edited && !m.bot ? h('span', { class: 'edited' }, '(edited)') : null);
}

function head(m, p) {
  return h('div', { class: 'message-head' },
    h('span', { class: 'author' }, p.real), badge(p),
    h('time', { class: 'time', title: fullTime(m.ts), datetime: new Date(Number(m.ts) * 1000).toISOString() }, clock(m.ts)));
}

function replies(m, thread, openThread) {
  const authors = [...new Set(thread.map((r) => r.user))].slice(0, 3);
  const last = thread[thread.length - 1];
  return h('button', {
    type: 'button', class: 'replies', data: { openThread: m.ts }, onclick: () => openThread(m.channel, m.ts),
  }, authors.map((a) => avatar(person(a), 'tiny')), h('span', { class: 'replies-count' }, thread.length === 1 ? '1 reply' : `${thread.length} replies`),
  h('span', { class: 'replies-last' }, `Last reply ${formatDate(Number(last.ts), '{date_short_pretty} {time}')}`));
}

function draw(m, state, opts, follows) {
  const p = person(m.user);
  const thread = opts.inThread ? [] : opts.thread(m);
  const row = h('article', {
    class: `message ${m.ephemeral ? 'ephemeral' : ''} ${follows ? 'follows' : ''}`, tabindex: '-1',
    'aria-label': `${p.real}, ${clock(m.ts)}`,
    data: { ts: m.ts, user: m.user, channel: m.channel, ephemeral: m.ephemeral ? '' : undefined },
  },
  follows ? h('span', { class: 'gutter-time', 'aria-hidden': 'true' }, clock(m.ts).replace(/ [AP]M/, '')) : avatar(p),
  h('div', { class: 'message-main' },
    m.ephemeral ? h('div', { class: 'only-you' }, h('span', { 'aria-hidden': 'true' }, '◔ '), 'Only visible to you') : null,
    follows ? null : head(m, p),
    body(m, state),
    thread.length ? replies(m, thread, opts.openThread) : null),
  opts.inThread || m.ephemeral ? null : h('div', { class: 'hover-actions' }, h('button', {
    type: 'button', class: 'icon-btn', title: 'Reply in thread', 'aria-label': 'Reply in thread', data: { reply: m.ts }, onclick: () => opts.openThread(m.channel, m.ts),
  }, '↩')));
  return row;
}

// key says when a drawn message is out of date.
function key(m, opts, follows) {
  const t = opts.inThread ? [] : opts.thread(m);
  return [m.rev, t.length, t[t.length - 1]?.ts, follows, me()].join('/');
}

function groups(previous, m) {
  return previous && previous.user === m.user && !m.ephemeral && !previous.ephemeral && Number(m.ts) - Number(previous.ts) < 240
    && dayLabel(previous.ts) === dayLabel(m.ts);
}

// MessageList keeps the drawn messages of one pane.
export class MessageList {
  constructor(label) {
    this.drawn = new Map();
    this.el = h('div', { class: 'messages', role: 'log', 'aria-label': label, 'aria-live': 'polite', tabindex: '0' });
  }

  update(messages, state, opts) {
    const atEnd = this.el.scrollHeight - this.el.scrollTop - this.el.clientHeight < 80;
    const wanted = [];
    const keep = new Map();
    let previous = null;
    for (const m of messages) {
      if (!opts.inThread && (!previous || dayLabel(previous.ts) !== dayLabel(m.ts))) {
        const dayKey = `day-${dayLabel(m.ts)}`;
        const day = this.drawn.get(dayKey)?.node || h('div', { class: 'day', role: 'separator' }, h('span', {}, dayLabel(m.ts)));
        keep.set(dayKey, { node: day, key: '' });
        wanted.push(day);
      }
      const follows = groups(previous, m);
      const k = key(m, opts, follows);
      let item = this.drawn.get(m.ts);
      if (!item || item.key !== k) item = { key: k, node: draw(m, state, opts, follows) };
      keep.set(m.ts, item);
      wanted.push(item.node);
      previous = m;
    }
    if (opts.before) wanted.unshift(opts.before);
    if (opts.after) wanted.push(opts.after);
    sync(this.el, wanted);
    const grown = keep.size !== this.drawn.size;
    this.drawn = keep;
    if (atEnd || grown) this.el.scrollTop = this.el.scrollHeight;
  }
}

// sync makes the children of el the wanted nodes without touching those in place.
export function sync(el, wanted) {
  wanted.forEach((node, i) => {
    if (el.children[i] !== node) el.insertBefore(node, el.children[i] || null);
  });
  while (el.children.length > wanted.length) el.lastElementChild.remove();
}
