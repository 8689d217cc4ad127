// What the head of a pane has on a narrow screen, where one pane is shown at a time: the way back, and who one is.

import { h } from './dom.js';
import { menuButton } from './menu.js';
import { avatar } from './messages.js';
import { person } from './names.js';

// called is the red badge: how often somebody was called and has not looked.
export function called(n, what) {
  return n ? h('span', { class: 'nav-count', data: { called: n } }, h('span', { 'aria-hidden': 'true' }, n > 99 ? '99+' : n), h('span', { class: 'visually-hidden' }, ` ${what}`)) : null;
}

export function personLabel(u) {
  return [avatar(u, 'small'), h('span', { class: 'person-name' }, u.real), called(u.called, `unread for ${u.real}`), !u.called && u.news ? h('span', { class: 'news', title: 'Something new' }, h('span', { class: 'visually-hidden' }, 'something new')) : null];
}

export function paneTools(state, hooks) {
  const self = person(state.me);
  const mine = state.users.find((u) => u.id === state.me)?.called || 0;
  const others = state.users.some((u) => u.id !== state.me && u.called);
  return {
    back: h('button', { type: 'button', class: 'icon-btn back narrow', 'aria-label': 'Back', title: 'Back', data: { backPane: '', focusKey: 'back' }, onclick: hooks.back }, '‹', called(mine, 'unread')),
    people: menuButton({ class: 'who narrow', 'aria-label': `You are ${self.real}. Become somebody else`, data: { people: '', focusKey: 'who' } },
      [avatar(self, 'small'), others ? h('span', { class: 'news' }) : null],
      () => state.users.map((u) => ({ label: h('span', { class: 'person-row' }, personLabel(u)), data: { switchUser: u.id }, checked: u.id === state.me, choose: () => hooks.user(u.id) }))),
  };
}
