// The right pane: one thread.

import { fill, h } from './dom.js';
import { Composer } from './composer.js';
import { MessageList, withTombstones } from './messages.js';
import { keep } from './focus.js';
import { title } from './main.js';
import { paneTools } from './pane.js';
import { Prompts, chatOf, stopButton } from './assistant.js';

const statusWords = { processing: 'is working…', suspended: 'waits for a person', active: '' };

export class Thread {
  constructor(el, hooks) {
    this.el = el;
    this.hooks = hooks;
    this.open = null; // { channel, ts }
    this.list = new MessageList('Replies');
    this.head = h('header', { class: 'pane-head' });
    this.status = h('div', { class: 'status', role: 'status', data: { status: '' } });
    this.working = h('div', { class: 'working' }, this.status);
    this.prompts = new Prompts();
    this.composer = new Composer(() => ({ channel: this.open?.channel, thread: this.open?.ts }));
    this.now = h('p', { class: 'hint-card narrow-only', data: { now: '' }, hidden: true });
    el.append(this.head, this.list.el, this.working, h('div', { class: 'pane-foot' }, this.prompts.el, this.now, this.composer.el));
    el.addEventListener('keydown', (ev) => { if (ev.key === 'Escape' && !ev.defaultPrevented) hooks.close(); });
  }

  // update draws the thread that is open; now is what one could do next, said here where the channel is not seen.
  update(state, open, now) {
    this.open = open;
    this.now.textContent = now || '';
    this.now.hidden = !now;
    const channel = open && state.channels.find((c) => c.id === open.channel);
    const all = channel ? withTombstones(channel.messages) : [];
    const parent = all.find((m) => m.ts === open.ts);
    this.el.hidden = !parent;
    document.getElementById('app').classList.toggle('with-thread', !!parent);
    if (!parent) return false;
    this.el.dataset.threadTs = open.ts;
    this.drawHead(state, channel);
    const replies = all.filter((m) => m.ts === open.ts || m.thread === open.ts);
    // Slack shows nobody an ephemeral reply in a thread that has no other.
    const whispers = replies.length > 1 ? channel.ephemeral.filter((m) => m.thread === open.ts) : [];
    const status = state.statuses[`${open.channel}/${open.ts}`];
    const words = statusWords[status] ?? status;
    this.status.textContent = words ? `${state.app.name} ${words}` : '';
    this.drawStop(state, open);
    this.prompts.update(state, open, replies);
    this.list.update([...replies, ...whispers].sort((a, b) => Number(a.ts) - Number(b.ts)), state, { inThread: true });
    this.composer.update(state, 'Reply…', channel.archived);
    return true;
  }

  drawStop(state, open) {
    const key = state.stoppable?.[`${open.channel}/${open.ts}`] ? `${open.channel}/${open.ts}` : '';
    if (key === this.stopKey) return;
    this.stopKey = key;
    keep(() => fill(this.working, this.status, key ? stopButton(open) : null));
  }

  drawHead(state, channel) {
    const chat = chatOf(state, this.open);
    const key = JSON.stringify([channel.id, channel.name, chat?.title, !!chat, state.me, state.users.map((u) => [u.called, u.news])]);
    if (key === this.headKey) return;
    this.headKey = key;
    const tools = paneTools(state, this.hooks);
    const name = title(channel, state);
    keep(() => fill(this.head, tools.back, h('div', { class: 'pane-title' }, h('h2', { data: { threadTitle: '' } }, chat ? chat.title || 'New chat' : 'Thread'), h('div', { class: 'pane-sub' }, channel.kind === 'im' || channel.kind === 'mpim' ? name : `# ${name}`)),
      tools.people,
      h('button', { type: 'button', class: 'icon-btn wide', 'aria-label': 'Close thread', title: 'Close', data: { closeThread: '', focusKey: 'close-thread' }, onclick: this.hooks.close }, '✕')));
  }
}
