// The assistant's panel: a thread of the conversation with the app that has a title and prompts of its own.

import { act } from './api.js';
import { fill, h, toast } from './dom.js';
import { me } from './names.js';

export const chatOf = (state, open) => state.chats?.[`${open.channel}/${open.ts}`];

// newChat opens the panel for whoever looks at the channel.
export function newChat(channel, openThread) {
  return h('button', {
    type: 'button', class: 'btn new-chat', data: { newChat: '', focusKey: 'new-chat' },
    onclick: async () => {
      const answer = await act('assistant', { User: me() });
      if (answer.ok) openThread(channel, answer.ts);
      else toast(answer.error, 'bad');
    },
  }, '+ New chat');
}

// Prompts are what the app proposes; choosing one sends it.
export class Prompts {
  constructor(el = h('div', { class: 'prompts', role: 'group', 'aria-label': 'Suggestions', hidden: true })) { this.el = el; }

  update(state, open, replies) {
    const chat = chatOf(state, open);
    const shown = replies.length <= 1 ? chat?.prompts || [] : [];
    const key = JSON.stringify([open, shown]);
    if (key === this.key) return;
    this.key = key;
    this.el.hidden = !shown.length;
    fill(this.el, shown.map((p, i) => h('button', {
      type: 'button', class: 'prompt', title: p.message, data: { prompt: i, focusKey: `prompt-${i}` },
      onclick: () => act('post', { User: me(), Channel: open.channel, Thread: open.ts, Text: p.message }),
    }, p.title)));
  }
}

// stopButton is Slack's own, shown while the app works in a thread.
export function stopButton(open) {
  return h('button', {
    type: 'button', class: 'btn stop', data: { stop: '', focusKey: 'stop' },
    onclick: async () => {
      const answer = await act('stop', { User: me(), Channel: open.channel, Thread: open.ts });
      if (!answer.ok) toast(answer.error, 'bad');
    },
  }, h('span', { 'aria-hidden': 'true' }, '■ '), 'Stop');
}
