// The left pane: the workspace, who you are, channels, direct messages, the app.

import { fill, h } from './dom.js';
import { avatar, badge } from './messages.js';
import { person } from './names.js';

export class Sidebar {
  constructor(el, hooks) {
    this.el = el;
    this.hooks = hooks;
    this.key = '';
  }

  update(state, open, unread) {
    const key = JSON.stringify([state.me, state.users, state.team, state.app, state.channels.map((c) => [c.id, c.name, c.archived, c.shared]), open, [...unread]]);
    if (key === this.key) return;
    const focused = document.activeElement?.closest?.('#sidebar [data-focus-key]')?.dataset.focusKey;
    this.key = key;
    const rooms = state.channels.filter((c) => c.kind !== 'im').sort((a, b) => a.name.localeCompare(b.name));
    const dm = state.channels.find((c) => c.kind === 'im');
    fill(this.el, h('div', { class: 'team' }, h('span', { class: 'team-mark', 'aria-hidden': 'true' }, '✓'), h('div', {}, h('div', { class: 'team-name' }, state.team.name), h('div', { class: 'team-sub' }, 'local workspace')),
        h('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Switch between light and dark', title: 'Light or dark', data: { theme: '', focusKey: 'theme' }, onclick: this.hooks.theme }, '◐')),
      this.people(state),
      h('div', { class: 'nav-head', id: 'nav-channels' }, 'Channels'),
      h('div', { role: 'group', 'aria-labelledby': 'nav-channels' }, rooms.map((c) => this.item(c.id, c.private || c.kind === 'group' ? '🔒' : '#', c.name, open, unread, c.archived ? 'archived' : c.shared ? 'shared' : ''))),
      h('div', { class: 'nav-head', id: 'nav-apps' }, 'Apps'),
      h('div', { role: 'group', 'aria-labelledby': 'nav-apps' }, dm ? this.item(dm.id, null, state.app.name, open, unread, '', state) : null));
    if (focused) this.el.querySelector(`[data-focus-key="${CSS.escape(focused)}"]`)?.focus();
  }

  people(state) {
    const self = person(state.me);
    return h('div', { class: 'people' },
      h('div', { class: 'nav-head', id: 'nav-people' }, 'You are'),
      h('div', { class: 'people-list', role: 'radiogroup', 'aria-labelledby': 'nav-people', onkeydown: (ev) => this.arrows(ev) }, state.users.map((u) => h('button', {
        type: 'button', class: 'person', role: 'radio', 'aria-checked': String(u.id === self.id), tabindex: u.id === self.id ? '0' : '-1',
        data: { switchUser: u.id, focusKey: `user-${u.id}` }, onclick: () => this.hooks.user(u.id),
      }, avatar(u, 'small'), h('span', { class: 'person-name' }, u.real), badge(u)))));
  }

  arrows(ev) {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[ev.key];
    if (!step) return;
    ev.preventDefault();
    const all = [...ev.currentTarget.querySelectorAll('[role=radio]')];
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
    next.click();
  }

  item(id, mark, name, open, unread, tag, state) {
    const n = unread.get(id) || 0;
    return h('button', {
      type: 'button', class: `nav-item ${n ? 'unread' : ''}`, 'aria-current': open === id ? 'page' : undefined,
      data: { channel: id, focusKey: `channel-${id}` }, onclick: () => this.hooks.open(id),
    }, mark ? h('span', { class: 'nav-mark', 'aria-hidden': 'true' }, mark) : avatar(person(state.app.user), 'tiny'),
    h('span', { class: 'nav-name' }, name), tag ? h('span', { class: 'badge' }, tag) : null,
    n ? h('span', { class: 'nav-count', 'aria-label': `${n} new` }, n) : null);
  }
}
