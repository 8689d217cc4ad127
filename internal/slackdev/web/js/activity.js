// The drawer with what went to and fro between the workspace and the bot.

import { detail } from './api.js';
import { fill, h } from './dom.js';
import { sync } from './messages.js';

const when = (iso) => new Date(iso).toLocaleTimeString('en', { hour12: false });

export class Activity {
  constructor(el) {
    this.open = localStorage.getItem('activity') === 'open';
    this.rows = new Map();
    this.bar = h('button', { type: 'button', class: 'activity-bar', 'aria-controls': 'activity-list', data: { activity: '' }, onclick: () => this.toggle() });
    this.list = h('div', { class: 'activity-list', id: 'activity-list', tabindex: '0', role: 'list', 'aria-label': 'Newest first' });
    el.append(this.bar, this.list);
    this.show();
  }

  toggle() {
    this.open = !this.open;
    localStorage.setItem('activity', this.open ? 'open' : 'closed');
    this.show();
  }

  show() {
    this.list.hidden = !this.open;
    this.bar.setAttribute('aria-expanded', String(this.open));
  }

  update(state) {
    const last = state.activity[state.activity.length - 1];
    const link = state.mode === 'socket'
      ? (state.connections ? 'Socket Mode connected' : 'bot not connected')
      : 'HTTP delivery';
    fill(this.bar, h('span', { class: 'chevron', 'aria-hidden': 'true' }, this.open ? '▾' : '▸'), h('span', { class: 'activity-title' }, 'What the bot did'),
      h('span', { class: `dot ${state.mode !== 'socket' || state.connections ? 'on' : 'off'}`, 'aria-hidden': 'true' }), h('span', { class: 'activity-link', data: { link: state.connections } }, link),
      last ? h('span', { class: 'activity-last' }, summary(last)) : null);
    if (!this.open) return;
    const wanted = state.activity.toReversed().map((e) => {
      const key = `${e.id}/${e.open}/${e.result}`;
      const row = this.rows.get(e.id)?.key === key ? this.rows.get(e.id) : { key, node: entry(e) };
      this.rows.set(e.id, row);
      return row.node;
    });
    sync(this.list, wanted);
  }
}

const summary = (e) => `${e.way === 'in' ? '→' : '←'} ${e.what} · ${e.open ? '…' : e.result}${e.ms ? ` · ${e.ms} ms` : ''}`;

function entry(e) {
  const pre = h('pre', { class: 'activity-detail', tabindex: '0', hidden: true });
  const row = h('button', {
    type: 'button', class: 'activity-row', 'aria-expanded': 'false',
    onclick: async () => {
      pre.hidden = !pre.hidden;
      row.setAttribute('aria-expanded', String(!pre.hidden));
      if (!pre.hidden) pre.textContent = await detail(e.id);
    },
  },
  h('span', { class: 'activity-time' }, when(e.at)),
  h('span', { class: `way ${e.way}`, title: e.way === 'in' ? 'to the bot' : 'from the bot' }, e.way === 'in' ? 'to bot' : 'from bot'),
  h('span', { class: 'activity-what' }, e.what),
  h('span', { class: `result ${e.open ? 'open' : e.good ? 'good' : 'bad'}` }, e.open ? 'waiting…' : e.result),
  h('span', { class: 'activity-ms' }, e.ms ? `${e.ms} ms` : ''));
  return h('div', { class: 'activity-entry', role: 'listitem', data: { entry: e.what, way: e.way, good: e.good ? 'yes' : 'no' } }, row, pre);
}
