// The middle pane: header, messages, App Home or notifications, what to try, composer.

import { act } from './api.js';
import { fill, h, toast } from './dom.js';
import { Composer } from './composer.js';
import { MessageList, withTombstones } from './messages.js';
import { renderBlocks } from './blocks.js';
import { Surface } from './elements.js';
import { keep } from './focus.js';
import { menuButton } from './menu.js';
import { me, person } from './names.js';
import { notificationList } from './notifications.js';
import { paneTools } from './pane.js';
import { Tries } from './tries.js';
import { newChat } from './assistant.js';

// title is how a conversation is called.
export function title(c, state) {
  if (c.kind === 'im') return state.app.name;
  if (c.kind === 'mpim') return c.people.filter((u) => u !== state.me).map((u) => person(u).real).join(', ');
  return c.name;
}

export const mark = (c) => (c.kind === 'group' ? '🔒' : c.kind === 'mpim' ? '👥' : '#');

export class Main {
  constructor(el, hooks) {
    this.hooks = hooks;
    this.tab = 'messages';
    this.head = h('header', { class: 'pane-head' });
    this.list = new MessageList('Messages');
    this.home = h('div', { class: 'home', tabindex: '0', role: 'tabpanel', 'aria-label': 'Home', data: { home: '' }, hidden: true });
    this.notes = h('div', { class: 'home', data: { notifications: '' }, hidden: true });
    this.composer = new Composer(() => ({ channel: this.channel?.id }), this.shortcuts());
    this.tries = new Tries(this.composer);
    this.foot = h('div', { class: 'pane-foot' }, this.tries.el, this.composer.el);
    el.append(this.head, this.list.el, this.home, this.notes, this.foot);
  }

  shortcuts() {
    this.shortcutBox = menuButton({ class: 'icon-btn', 'aria-label': 'Shortcuts', title: 'Shortcuts', data: { shortcuts: '' } }, '⚡',
      () => this.offered.map((s) => ({ label: s.name, data: { shortcut: s.id }, choose: () => runShortcut(s) })));
    return this.shortcutBox;
  }

  update(state, channelID, view) {
    const before = this.channel?.id;
    this.channel = state.channels.find((c) => c.id === channelID);
    if (!this.channel) return;
    if (before !== channelID) this.tab = 'messages';
    const c = this.channel;
    const dm = c.kind === 'im';
    const notes = view === 'notifications';
    this.drawHead(state, dm, notes);
    const all = withTombstones(c.messages);
    const replies = new Map();
    for (const m of all) {
      if (m.thread && m.thread !== m.ts) replies.set(m.thread, [...(replies.get(m.thread) || []), m]);
    }
    const shown = [...all, ...c.ephemeral].sort((a, b) => Number(a.ts) - Number(b.ts));
    this.list.update(shown.filter((m) => !m.thread || m.thread === m.ts || m.broadcast), state, {
      thread: (m) => (m.ephemeral ? [] : replies.get(m.ts) || []), openThread: this.hooks.openThread,
      before: this.intro(state, dm),
    });
    this.list.el.hidden = notes || this.tab !== 'messages';
    this.drawHome(state, !notes && dm && this.tab === 'home');
    this.drawNotes(state, notes);
    this.foot.hidden = notes || this.tab === 'home';
    this.tries.update(state);
    this.offered = state.shortcuts;
    this.shortcutBox.hidden = !state.shortcuts.length;
    this.composer.update(state, c.archived ? 'This channel is archived' : `Message ${dm || c.kind === 'mpim' ? '' : '#'}${title(c, state)}`, c.archived);
  }

  drawHead(state, dm, notes) {
    const c = this.channel;
    const key = JSON.stringify([c.id, c.name, c.topic, c.members, this.tab, state.app.name, c.bot, notes, state.me, state.users.map((u) => [u.called, u.news]), state.channels.map((x) => x.called)]);
    if (key === this.headKey) return;
    this.headKey = key;
    const about = dm ? 'Direct message with the app' : [c.topic, `${c.members} people`, c.bot ? '' : 'the bot is not in this channel'].filter(Boolean).join(' · ');
    const tools = paneTools(state, this.hooks);
    keep(() => fill(this.head, tools.back,
      h('div', { class: 'pane-title' }, h('h1', {}, notes ? 'Activity' : dm || c.kind === 'mpim' ? title(c, state) : `${mark(c)} ${c.name}`),
        h('div', { class: 'pane-sub' }, notes ? `What ${person(state.me).real} was called to` : about)),
      dm && !notes ? h('div', { class: 'tabs', role: 'tablist', 'aria-label': state.app.name, onkeydown: (ev) => this.arrows(ev) }, this.tabButton('home', 'Home'), this.tabButton('messages', 'Messages')) : null,
      dm && !notes && state.agent ? newChat(c.id, this.hooks.openThread) : null,
      tools.people));
  }

  tabButton(id, label) {
    const on = this.tab === id;
    return h('button', { type: 'button', class: 'tab', role: 'tab', 'aria-selected': String(on), tabindex: on ? '0' : '-1', data: { tab: id, focusKey: `tab-${id}` }, onclick: () => this.show(id) }, label);
  }

  arrows(ev) {
    if (ev.key !== 'ArrowLeft' && ev.key !== 'ArrowRight') return;
    const other = this.tab === 'home' ? 'messages' : 'home';
    this.show(other);
    this.head.querySelector(`[data-tab="${other}"]`)?.focus();
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
    const at = this.home.scrollTop;
    keep(() => fill(this.home, view ? h('div', { class: 'home-inner', data: { view: view.id } }, renderBlocks(view.blocks, surface, state)) : h('p', { class: 'empty' }, 'The app has not published a Home tab for you yet.')));
    surface?.takeOver(this.homeSurface);
    this.homeSurface = surface;
    this.home.scrollTop = at;
  }

  drawNotes(state, visible) {
    this.notes.hidden = !visible;
    const key = visible && JSON.stringify([state.me, state.notifications]);
    if (!visible || key === this.notesKey) return;
    this.notesKey = key;
    keep(() => fill(this.notes, notificationList(state, this.hooks.openNotification)));
  }

  intro(state, dm) {
    const c = this.channel;
    const key = `${c.id}/${state.me}`;
    if (this.introFor !== key) {
      this.introFor = key;
      const name = title(c, state);
      this.introNode = h('div', { class: 'intro' }, h('div', { class: 'intro-title' }, dm || c.kind === 'mpim' ? name : `${mark(c)} ${name}`),
        h('p', {}, dm ? 'Whatever you write here goes to the app alone.' : c.kind === 'mpim' ? `Only ${name} and you see this.` : `This is the beginning of #${name}. Mention @${state.app.name} to put it to work.`));
    }
    return this.introNode;
  }
}

export async function runShortcut(s) {
  const answer = await act('shortcut', { User: me(), CallbackID: s.id });
  if (!answer.ok) toast(`${s.name}: ${answer.error}`, 'bad');
}
