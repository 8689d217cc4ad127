// What a person was called to, newest first: mentions, direct messages, replies in threads that they follow.

import { h } from './dom.js';
import { avatar } from './messages.js';
import { channelName, person } from './names.js';
import { clock, dayLabel } from './dates.js';
import { mrkdwn } from './mrkdwn.js';

const kinds = { mention: 'mentioned you', dm: 'wrote to you', reply: 'replied in a thread' };

function where(n, state) {
  const c = state.channels.find((x) => x.id === n.channel);
  if (c?.kind === 'im') return '';
  return ` in ${c?.kind === 'mpim' ? 'a group message' : `#${channelName(n.channel)}`}`;
}

// excerpt is the message as text: inside a button nothing can be pressed.
function excerpt(text) {
  const all = h('span', {}, mrkdwn(text)).textContent;
  return all.length > 160 ? `${all.slice(0, 160)}…` : all;
}

function row(n, state, open) {
  const p = person(n.user);
  return h('li', {}, h('button', {
    type: 'button', class: `notification ${n.unread ? 'unread' : ''}`, data: { notification: n.kind, unread: n.unread ? '' : undefined, focusKey: `note-${n.ts}` },
    onclick: () => open(n),
  }, avatar(p, 'small'), h('span', { class: 'notification-main' },
    h('span', { class: 'notification-head' }, h('strong', {}, p.real), ` ${kinds[n.kind]}${where(n, state)}`,
      n.unread ? h('span', { class: 'visually-hidden' }, ' (new)') : null),
    h('span', { class: 'notification-text' }, excerpt(n.text))),
  h('span', { class: 'time' }, `${dayLabel(n.ts) === 'Today' ? '' : `${dayLabel(n.ts)} `}${clock(n.ts)}`)));
}

export function notificationList(state, open) {
  if (!state.notifications.length) return h('p', { class: 'empty' }, 'Nobody has called you yet.');
  return h('ul', { class: 'notifications' }, state.notifications.map((n) => row(n, state, open)));
}
