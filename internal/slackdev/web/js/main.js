// The middle pane: header, messages or App Home, hint, composer.

import { act } from './api.js';
import { fill, h, toast } from './dom.js';
import { Composer } from './composer.js';
import { MessageList } from './messages.js';
import { renderBlocks } from './blocks.js';
import { Surface } from './elements.js';
import { me } from './names.js';

export class Main {
  constructor(el, hooks) {
    this.hooks = hooks;
    this.tab = 'messages';
    this.head = h('header', { class: 'pane-head' });
    this.list = new MessageList('Messages');
    this.home = h('div', { class: 'home', tabindex: '0', data: { home: '' }, hidden: true });
    this.hint = h('div', { class: 'hint-card', data: { hint: '' }, hidden: true });
    this.composer = new Composer(() => ({ channel: this.channel?.id }), this.shortcuts());
    this.foot = h('div', { class: 'pane-foot' }, this.hint, this.composer.el);
    el.append(this.head, this.list.el, this.home, this.foot);
  }

  shortcuts() {
    this.menu = h('div', { class: 'menu', role: 'menu' });
    this.shortcutBox = h('details', { class: 'overflow shortcut-menu', hidden: true }, h('summary', { class: 'icon-btn', 'aria-label': 'Shortcuts', title: 'Shortcuts', data: { shortcuts: '' } }, '⚡'), this.menu);
    return this.shortcutBox;
  }

  update(state, channelID) {
    const before = this.channel?.id;
    this.channel = state.channels.find((c) => c.id === channelID);
    if (!this.channel) return;
    if (before !== channelID) this.tab = 'messages';
    const dm = this.channel.kind === 'im';
    this.drawHead(state, dm);
    const messages = [...this.channel.messages, ...this.channel.ephemeral].sort((a, b) => Number(a.ts) - Number(b.ts));
    const replies = new Map();
    for (const m of this.channel.messages) {
      if (m.thread && m.thread !== m.ts) replies.set(m.thread, [...(replies.get(m.thread) || []), m]);
    }
    this.list.update(messages.filter((m) => !m.thread || m.thread === m.ts || m.broadcast), state, {
      thread: (m) => (m.ephemeral ? [] : replies.get(m.ts) || []), openThread: this.hooks.openThread,
      before: this.intro(state, dm),
    });
    this.list.el.hidden = this.tab !== 'messages';
    this.drawHome(state, dm && this.tab === 'home');
    this.foot.hidden = this.tab === 'home';
    this.drawHint(state);
    this.drawShortcuts(state);
    this.composer.update(state, this.channel.archived ? 'This channel is archived' : dm ? `Message ${state.app.name}` : `Message #${this.channel.name}`, this.channel.archived);
  }

  drawHead(state, dm) {
    const key = JSON.stringify([this.channel.id, this.channel.name, this.channel.topic, this.channel.members, this.tab, state.app.name, this.channel.bot]);
    if (key === this.headKey) return;
    this.headKey = key;
    const c = this.channel;
    fill(this.head, h('div', { class: 'pane-title' }, h('h1', {}, dm ? state.app.name : `${c.kind === 'group' ? '🔒' : '#'} ${c.name}`),
        h('div', { class: 'pane-sub' }, dm ? 'Direct message with the app' : [c.topic, `${c.members} people`, c.bot ? '' : 'the bot is not in this channel'].filter(Boolean).join(' · '))),
      dm ? h('div', { class: 'tabs', role: 'tablist' }, this.tabButton('home', 'Home'), this.tabButton('messages', 'Messages')) : null);
  }

  tabButton(id, label) {
    return h('button', { type: 'button', class: 'tab', role: 'tab', 'aria-selected': String(this.tab === id), data: { tab: id }, onclick: () => this.show(id) }, label);
  }

  async show(tab) {
    this.tab = tab;
    this.hooks.redraw();
    if (tab !== 'home') return;
    const answer = await act('home', { User: me() });
    if (!answer.ok) toast(answer.error, 'bad');
  }

  drawHome(state, visible) {
    this.home.hidden = !visible;
    if (!visible) return;
    const view = state.home[0];
    const key = view ? `${view.id}/${view.rev}/${state.me}` : 'none';
    if (key === this.homeKey) return;
    this.homeKey = key;
    const surface = view && new Surface((a) => act('click', { ...a, User: me(), ViewID: view.id }));
    fill(this.home, view ? h('div', { class: 'home-inner', data: { view: view.id } }, renderBlocks(view.blocks, surface, state)) : h('p', { class: 'empty' }, 'The app has not published a Home tab for you yet.'));
  }

  intro(state, dm) {
    const c = this.channel;
    if (this.introFor !== c.id) {
      this.introFor = c.id;
      this.introNode = h('div', { class: 'intro' }, h('div', { class: 'intro-title' }, dm ? state.app.name : `# ${c.name}`),
        h('p', {}, dm ? 'Whatever you write here goes to the app alone.' : `This is the beginning of #${c.name}. Mention @${state.app.name} to put it to work.`));
    }
    return this.introNode;
  }

  drawHint(state) {
    this.hint.hidden = !state.hint || this.hintClosed;
    if (this.hint.hidden || this.hintText === state.hint) return;
    this.hintText = state.hint;
    const text = state.hint.replace(/^\s*Try:\s*/i, '');
    fill(this.hint, h('span', { class: 'hint-label' }, 'Try'), h('span', { class: 'hint-text' }, text),
      h('button', { type: 'button', class: 'btn small', data: { useHint: '' }, onclick: () => this.composer.fill(text) }, 'Use this'),
      h('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Hide this hint', onclick: () => { this.hintClosed = true; this.hint.hidden = true; } }, '✕'));
  }

  drawShortcuts(state) {
    this.shortcutBox.hidden = !state.shortcuts.length;
    const key = JSON.stringify(state.shortcuts);
    if (key === this.shortcutKey) return;
    this.shortcutKey = key;
    fill(this.menu, state.shortcuts.map((s) => h('button', {
      type: 'button', class: 'menu-item', role: 'menuitem', data: { shortcut: s.id },
      onclick: async () => {
        this.shortcutBox.open = false;
        const answer = await act('shortcut', { User: me(), CallbackID: s.id });
        if (!answer.ok) toast(`${s.name}: ${answer.error}`, 'bad');
      },
    }, s.name)));
  }
}
