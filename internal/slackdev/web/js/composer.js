// The box in which messages and slash commands are written, with suggestions
// for /commands and @names.

import { act } from './api.js';
import { fill, h, newID, toast } from './dom.js';
import { me } from './names.js';

export class Composer {
  constructor(where, extra) {
    this.where = where; // () => ({channel, thread})
    this.state = { commands: [], users: [], app: { name: '' } };
    this.picked = 0;
    const listID = newID('suggestions');
    this.menu = h('div', { class: 'suggestions', role: 'listbox', id: listID, hidden: true });
    this.input = h('textarea', {
      class: 'composer-input', rows: '1', 'aria-label': 'Message', 'aria-autocomplete': 'list', 'aria-controls': listID,
      data: { composer: '' }, oninput: () => { this.grow(); this.suggest(); }, onkeydown: (ev) => this.key(ev),
      onbeforeinput: (ev) => { if (ev.inputType === 'insertLineBreak' && !this.input.value) ev.preventDefault(); }, // no message begins with one
      onblur: () => setTimeout(() => this.hide(), 150),
    });
    this.button = h('button', { type: 'button', class: 'send', 'aria-label': 'Send', title: 'Send', data: { send: '' }, onclick: () => this.send() }, '➤');
    this.el = h('div', { class: 'composer' }, this.menu,
      h('div', { class: 'composer-box' }, this.input, h('div', { class: 'composer-bar' }, extra || null, h('span', { class: 'composer-tip' }, 'Enter sends, Shift+Enter breaks the line'), this.button)));
  }

  update(state, placeholder, disabled) {
    this.state = state;
    this.input.placeholder = placeholder;
    this.input.disabled = disabled;
  }

  fill(text) {
    this.input.value = text;
    this.grow();
    this.input.focus();
  }

  grow() {
    this.input.style.height = 'auto';
    this.input.style.height = `${Math.min(this.input.scrollHeight, 180)}px`;
  }

  word() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    return before.match(/(?:^|\s)([@/][\w.-]*)$/)?.[1] || '';
  }

  suggest() {
    const word = this.word();
    let found = [];
    if (word.startsWith('/') && this.input.value.startsWith('/') && !this.where().thread) found = this.state.commands.filter((c) => c.startsWith(word)).map((c) => [c, 'Command']);
    if (word.startsWith('@')) {
      const names = [[this.state.app.name, 'App'], ...this.state.users.map((u) => [u.name, u.real])];
      found = names.filter(([n]) => n.toLowerCase().startsWith(word.slice(1).toLowerCase())).map(([n, d]) => [`@${n}`, d]);
    }
    this.found = found.filter(([n]) => n !== word).slice(0, 8);
    this.picked = 0;
    this.drawMenu();
  }

  drawMenu() {
    this.menu.hidden = !this.found.length;
    fill(this.menu, this.found.map(([name, about], i) => h('div', {
      class: 'suggestion', role: 'option', id: `${this.menu.id}-${i}`, 'aria-selected': String(i === this.picked), data: { suggestion: name },
      onmousedown: (ev) => { ev.preventDefault(); this.take(name); },
    }, h('strong', {}, name), h('span', {}, about))));
    if (this.found.length) this.input.setAttribute('aria-activedescendant', `${this.menu.id}-${this.picked}`);
    else this.input.removeAttribute('aria-activedescendant');
  }

  hide() { this.found = []; this.drawMenu(); }

  take(name) {
    const at = this.input.selectionStart;
    const start = at - this.word().length;
    this.input.setRangeText(`${name} `, start, at, 'end');
    this.hide();
    this.input.focus();
  }

  key(ev) {
    if (ev.isComposing) return;
    const open = this.found?.length > 0;
    if (open && (ev.key === 'ArrowDown' || ev.key === 'ArrowUp')) {
      ev.preventDefault();
      this.picked = (this.picked + (ev.key === 'ArrowDown' ? 1 : this.found.length - 1)) % this.found.length;
      this.drawMenu();
    } else if (open && (ev.key === 'Tab' || ev.key === 'Enter')) {
      ev.preventDefault();
      this.take(this.found[this.picked][0]);
    } else if (open && ev.key === 'Escape') {
      ev.stopPropagation();
      this.hide();
    } else if (ev.key === 'Enter' && !ev.shiftKey) {
      ev.preventDefault();
      this.send();
    }
  }

  async send() {
    const text = this.input.value.trim();
    if (!text) return;
    const { channel, thread } = this.where();
    this.hide();
    this.input.value = '';
    this.grow();
    const command = text.match(/^(\/[a-z0-9_-]+)\s*([\s\S]*)$/i);
    const answer = command && !thread
      ? await act('command', { User: me(), Channel: channel, Command: command[1], Text: command[2] })
      : await act('post', { User: me(), Channel: channel, Thread: thread || '', Text: text });
    if (answer.ok) return;
    toast(command ? `${command[1]}: ${answer.error}` : answer.error, 'bad');
    if (!this.input.value) { this.input.value = text; this.grow(); }
  }
}
