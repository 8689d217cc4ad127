// The left pane: the workspace, who you are, what you were called to, channels, messages, the app.

import { fill, h } from './dom.js';
import { keep } from './focus.js';
import { avatar, badge } from './messages.js';
import { mark, runShortcut, title } from './main.js';
import { person } from './names.js';
import { called, personLabel } from './pane.js';

export class Sidebar {
  constructor(el, hooks) {
    this.el = el;
    this.hooks = hooks;
    this.key = '';
  }

  update(state, open, view) {
    const key = JSON.stringify([state.me, state.users, state.team, state.app, state.shortcuts, open, view,
      state.channels.map((c) => [c.id, c.name, c.archived, c.shared, c.called, c.unread]), state.notifications.filter((n) => n.unread).length]);
    if (key === this.key) return;
    this.key = key;
    const of = (...kinds) => state.channels.filter((c) => kinds.includes(c.kind)).sort((a, b) => title(a, state).localeCompare(title(b, state)));
    const item = (c) => this.item(c, state, open, view);
    const groups = of('mpim');
    const news = state.notifications.filter((n) => n.unread);
    const badgeCount = news.filter((n) => n.kind !== 'reply').length;
    keep(() => fill(this.el, this.team(state), this.people(state),
      this.nav({ id: 'activity', open: view === 'notifications', icon: h('span', { class: 'nav-mark', 'aria-hidden': 'true' }, '♢'), name: 'Activity', unread: news.length > 0, count: badgeCount, data: { openActivity: '' }, go: this.hooks.activity }),
      this.group('Channels', of('channel', 'group').map(item)),
      groups.length ? this.group('Direct messages', groups.map(item)) : null,
      this.group('Apps', [of('im').map(item), state.shortcuts.map((s) => this.nav({
        id: `shortcut-${s.id}`, icon: h('span', { class: 'nav-mark', 'aria-hidden': 'true' }, '⚡'), name: s.name, data: { runShortcut: s.id }, go: () => runShortcut(s),
      }))])));
  }

  team(state) {
    return h('div', { class: 'team' }, h('span', { class: 'team-mark', 'aria-hidden': 'true' }, '✓'),
      h('div', {}, h('div', { class: 'team-name' }, state.team.name), h('div', { class: 'team-sub' }, 'local workspace')),
      h('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Switch between light and dark', title: 'Light or dark', data: { theme: '', focusKey: 'theme' }, onclick: this.hooks.theme }, '◐'));
  }

  group(name, items) {
    const id = `nav-${name.toLowerCase().replace(/ /g, '-')}`;
    return [h('h2', { class: 'nav-head', id }, name), h('div', { role: 'group', 'aria-labelledby': id }, items)];
  }

  people(state) {
    const self = person(state.me);
    return h('div', { class: 'people' },
      h('h2', { class: 'nav-head', id: 'nav-people' }, 'You are'),
      h('div', { class: 'people-list', role: 'radiogroup', 'aria-labelledby': 'nav-people', onkeydown: (ev) => this.arrows(ev) }, state.users.map((u) => h('button', {
        type: 'button', class: 'person', role: 'radio', 'aria-checked': String(u.id === self.id), tabindex: u.id === self.id ? '0' : '-1',
        data: { switchUser: u.id, focusKey: `user-${u.id}` }, onclick: () => this.hooks.user(u.id),
      }, personLabel(u), badge(u)))));
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

  item(c, state, open, view) {
    const tag = c.archived ? 'archived' : c.shared ? 'shared' : '';
    const icon = c.kind === 'im' ? avatar(person(state.app.user), 'tiny') : h('span', { class: 'nav-mark', 'aria-hidden': 'true' }, mark(c));
    return this.nav({
      id: `channel-${c.id}`, open: open === c.id && view === 'channel', icon, name: title(c, state), tag, unread: c.unread > 0 || c.called > 0, count: c.called,
      data: { channel: c.id }, go: () => this.hooks.open(c.id),
    });
  }

  nav({ id, open, icon, name, tag, unread, count, data, go }) {
    return h('button', {
      type: 'button', class: `nav-item ${unread ? 'unread' : ''}`, 'aria-current': open ? 'page' : undefined,
      data: { ...data, focusKey: id, unread: unread ? '' : undefined }, onclick: go,
    }, icon, h('span', { class: 'nav-name' }, name), unread && !count ? h('span', { class: 'visually-hidden' }, ' has something new') : null,
    tag ? h('span', { class: 'badge' }, tag) : null, called(count, 'unread'));
  }
}
