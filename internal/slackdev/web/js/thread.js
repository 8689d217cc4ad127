// The right pane: one thread.

import { h } from './dom.js';
import { Composer } from './composer.js';
import { MessageList } from './messages.js';

export class Thread {
  constructor(el, hooks) {
    this.el = el;
    this.open = null; // { channel, ts }
    this.list = new MessageList('Replies');
    this.sub = h('div', { class: 'pane-sub' });
    this.status = h('div', { class: 'status', role: 'status', data: { status: '' } });
    this.composer = new Composer(() => ({ channel: this.open?.channel, thread: this.open?.ts }));
    el.append(
      h('header', { class: 'pane-head' }, h('div', { class: 'pane-title' }, h('h2', {}, 'Thread'), this.sub),
        h('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Close thread', data: { closeThread: '' }, onclick: hooks.close }, '✕')),
      this.list.el, this.status, h('div', { class: 'pane-foot' }, this.composer.el));
    el.addEventListener('keydown', (ev) => { if (ev.key === 'Escape') hooks.close(); });
  }

  update(state, open) {
    this.open = open;
    const channel = open && state.channels.find((c) => c.id === open.channel);
    const parent = channel?.messages.find((m) => m.ts === open.ts);
    this.el.hidden = !parent;
    document.getElementById('app').classList.toggle('with-thread', !!parent);
    if (!parent) return;
    this.el.dataset.threadTs = open.ts;
    this.sub.textContent = channel.kind === 'im' ? state.app.name : `# ${channel.name}`;
    const messages = [...channel.messages, ...channel.ephemeral].filter((m) => m.ts === open.ts || m.thread === open.ts).sort((a, b) => Number(a.ts) - Number(b.ts));
    const status = state.statuses[`${open.channel}/${open.ts}`];
    this.status.textContent = status ? `${state.app.name} ${{ processing: 'is working…', suspended: 'waits for a person' }[status] || status}` : '';
    this.list.update(messages, state, { inThread: true });
    this.composer.update(state, 'Reply…', channel.archived);
  }
}
