// Lists of messages, redrawn only where something changed, so that what a
// person types into a message survives what happens elsewhere.

import { act } from './api.js';
import { h } from './dom.js';
import { mrkdwn } from './mrkdwn.js';
import { renderBlocks } from './blocks.js';
import { Surface } from './elements.js';
import { hue, initials, me, person } from './names.js';
import { clock, dayLabel, formatDate, fullTime } from './dates.js';
import { emoji } from './emoji.js';
import { keep } from './focus.js';

export function avatar(p, size = '') {
  const el = h('span', { class: `avatar ${size} ${p.bot ? 'app-avatar' : ''}`, 'aria-hidden': 'true' }, p.bot ? '✓' : initials(p.real));
  el.style.setProperty('--hue', hue(p.id));
  return el;
}

export function badge(p) {
  if (!p.badge) return null;
  return h('span', { class: `badge ${p.badge}` }, p.badge);
}

function body(m, state, surface) {
  const drawn = m.blocks && m.bot ? renderBlocks(m.blocks, surface, state) : h('div', { class: 'text' }, mrkdwn(m.text));
  const streaming = m.streaming === 'in_progress' ? h('span', { class: 'streaming', role: 'status', 'aria-label': 'is being written', data: { streaming: '' } }, '●●●')
    : m.streaming === 'stopped' ? h('span', { class: 'edited', data: { stopped: '' } }, 'stopped') : null;
  const edited = m.edited && (!m.bot || !m.blocks); // cards of apps change without a mark
  return h('div', { class: 'message-body' }, drawn, edited ? h('span', { class: 'edited', data: { edited: '' } }, '(edited)') : null, streaming,
    m.files?.length ? h('div', { class: 'files' }, m.files.map((f) => h('span', { class: 'file', data: { file: f.id } }, h('span', { 'aria-hidden': 'true' }, '▤ '), f.name || f.title))) : null,
    m.reactions?.length ? h('div', { class: 'reactions', role: 'group', 'aria-label': 'Reactions' }, m.reactions.map(reaction)) : null);
}

function reaction(r) {
  const who = (r.users || []).map((u) => person(u).real).join(', ');
  return h('span', { class: `reaction ${(r.users || []).includes(me()) ? 'mine' : ''}`, role: 'img', 'aria-label': `${r.name.replace(/_/g, ' ')}: ${who}`, title: `${who}: :${r.name}:`, data: { reaction: r.name } },
    emoji(r.name), ' ', r.users?.length || 1);
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
    type: 'button', class: 'replies', data: { openThread: m.ts, focusKey: `replies-${m.ts}` }, onclick: () => openThread(m.channel, m.ts),
  }, authors.map((a) => avatar(person(a), 'tiny')), h('span', { class: 'replies-count' }, thread.length === 1 ? '1 reply' : `${thread.length} replies`),
  h('span', { class: 'replies-last' }, `Last reply ${formatDate(Number(last.ts), '{date_short_pretty} {time}')}`));
}

function draw(m, state, opts, follows, before) {
  if (m.deleted) return tombstone(m, opts);
  const p = person(m.user);
  const thread = opts.inThread ? [] : opts.thread(m);
  const surface = new Surface((a) => act('click', { ...a, User: me(), Channel: m.channel, TS: m.ts }));
  const row = h('article', {
    class: `message ${m.ephemeral ? 'ephemeral' : ''} ${follows ? 'follows' : ''}`, tabindex: '-1',
    'aria-label': `${p.real}, ${clock(m.ts)}${m.ephemeral ? ', only visible to you' : ''}`,
    data: { ts: m.ts, user: m.user, channel: m.channel, ephemeral: m.ephemeral ? '' : undefined },
  },
  follows ? h('span', { class: 'gutter-time', 'aria-hidden': 'true' }, clock(m.ts).replace(/ [AP]M/, '')) : avatar(p),
  h('div', { class: 'message-main' },
    m.ephemeral ? h('div', { class: 'only-you' }, h('span', { 'aria-hidden': 'true' }, '◔ '), 'Only visible to you') : null,
    follows ? null : head(m, p),
    body(m, state, surface),
    thread.length ? replies(m, thread, opts.openThread) : null),
  opts.inThread || m.ephemeral ? null : h('div', { class: 'hover-actions' }, h('button', {
    type: 'button', class: 'icon-btn', title: 'Reply in thread', 'aria-label': 'Reply in thread', data: { reply: m.ts, focusKey: `reply-${m.ts}` }, onclick: () => opts.openThread(m.channel, m.ts),
  }, '↩')));
  surface.takeOver(before);
  return { node: row, surface };
}

// tombstone stands where a message with replies was.
function tombstone(m, opts) {
  const thread = opts.inThread ? [] : opts.thread(m);
  return { node: h('article', { class: 'message deleted', tabindex: '-1', data: { ts: m.ts, deleted: '' } },
    h('span', { class: 'avatar gone', 'aria-hidden': 'true' }, '🗑'),
    h('div', { class: 'message-main' }, h('div', { class: 'message-body' }, 'This message was deleted.'),
      thread.length ? replies(m, thread, opts.openThread) : null)) };
}

// key says when a drawn message is out of date.
function key(m, opts, follows) {
  const t = opts.inThread ? [] : opts.thread(m);
  return [m.rev, m.streaming, m.reactions?.map((r) => r.name + r.users).join(), t.length, t[t.length - 1]?.ts, follows, me()].join('/');
}

function groups(previous, m) {
  return previous && previous.user === m.user && !m.ephemeral && !previous.ephemeral && !m.deleted && !previous.deleted && Number(m.ts) - Number(previous.ts) < 240
    && dayLabel(previous.ts) === dayLabel(m.ts);
}

// MessageList keeps the drawn messages of one pane.
export class MessageList {
  constructor(label) {
    this.drawn = new Map();
    this.el = h('div', { class: 'messages', role: 'log', 'aria-label': label, 'aria-live': 'polite', tabindex: '0', onkeydown: (ev) => this.walk(ev) });
  }

  // walk moves through the messages with the arrows; Enter opens the thread of one.
  walk(ev) {
    const at = document.activeElement;
    if (at !== this.el && !at.matches('article')) return;
    const all = [...this.el.querySelectorAll('article')];
    const now = all.indexOf(at);
    const next = {
      ArrowUp: now < 0 ? all.length - 1 : Math.max(now - 1, 0), ArrowDown: now < 0 ? 0 : Math.min(now + 1, all.length - 1), Home: 0, End: all.length - 1,
    }[ev.key];
    if (next !== undefined && all[next]) { ev.preventDefault(); all[next].focus(); all[next].scrollIntoView({ block: 'nearest' }); }
    if (ev.key === 'Enter' && now >= 0) at.querySelector('[data-open-thread], [data-reply]')?.click();
  }

  // show brings a message into view and puts the keyboard there.
  show(ts) {
    const el = this.el.querySelector(`[data-ts="${CSS.escape(ts)}"]`);
    el?.scrollIntoView({ block: 'center' });
    el?.focus();
  }

  update(messages, state, opts) {
    const atEnd = this.el.scrollHeight - this.el.scrollTop - this.el.clientHeight < 80;
    const wanted = [];
    const drawn = new Map();
    let previous = null;
    for (const m of messages) {
      if (!opts.inThread && (!previous || dayLabel(previous.ts) !== dayLabel(m.ts))) {
        const dayKey = `day-${dayLabel(m.ts)}`;
        const day = this.drawn.get(dayKey)?.node || h('div', { class: 'day', role: 'separator' }, h('span', {}, dayLabel(m.ts)));
        drawn.set(dayKey, { node: day, key: '' });
        wanted.push(day);
      }
      const follows = groups(previous, m);
      const k = key(m, opts, follows);
      let item = this.drawn.get(m.ts);
      if (!item || item.key !== k) item = { key: k, ...draw(m, state, opts, follows, item?.surface) };
      drawn.set(m.ts, item);
      wanted.push(item.node);
      previous = m;
    }
    if (opts.before) wanted.unshift(opts.before);
    if (opts.after) wanted.push(opts.after);
    keep(() => sync(this.el, wanted));
    const grown = drawn.size !== this.drawn.size;
    this.drawn = drawn;
    if (atEnd || grown) this.el.scrollTop = this.el.scrollHeight;
  }
}

// sync makes the children of el the wanted nodes without touching those in place.
export function sync(el, wanted) {
  const stay = new Set(wanted);
  for (const node of [...el.children]) if (!stay.has(node)) node.remove();
  wanted.forEach((node, i) => {
    if (el.children[i] !== node) el.insertBefore(node, el.children[i] || null);
  });
}

// withTombstones adds, for threads whose first message is gone, what Slack shows in its place.
export function withTombstones(messages) {
  const there = new Set(messages.map((m) => m.ts));
  const gone = new Map();
  for (const m of messages) {
    if (m.thread && !there.has(m.thread)) gone.set(m.thread, { ts: m.thread, channel: m.channel, user: '', thread: m.thread, rev: 0, deleted: true, text: '' });
  }
  return [...gone.values(), ...messages];
}
