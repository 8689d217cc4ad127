// A select with several answers: what is chosen stands on the button, the list opens below it.

import { h } from './dom.js';
import { opener, popup } from './menu.js';

// multiselect returns the button. options are [{value, label, group}]; changed is called when the list closes and
// something else is chosen than before.
export function multiselect(options, initial, props, placeholder, changed) {
  let chosen = options.map((o) => o.value).filter((v) => initial.has(v));
  const button = opener({ 'aria-haspopup': 'listbox', class: 'field tokens', ...props }, null, () => {
    const before = chosen.join('\n');
    const list = popup(button, { role: 'listbox', 'aria-multiselectable': 'true', 'aria-label': placeholder, class: 'menu options' },
      options.map((o, i) => [o.group && o.group !== options[i - 1]?.group ? h('div', { class: 'menu-group', role: 'presentation' }, o.group) : null, option(o)]),
      () => { if (chosen.join('\n') !== before) changed?.(); });
    list.el.addEventListener('keydown', (ev) => {
      if (ev.key !== ' ' && ev.key !== 'Enter') return;
      ev.preventDefault();
      document.activeElement.closest('[data-item]')?.click();
    });
  });

  function option(o) {
    const on = () => chosen.includes(o.value);
    const el = h('div', {
      class: 'menu-item', role: 'option', tabindex: '-1', 'aria-selected': String(on()), data: { item: '', option: o.value },
      onclick: () => {
        chosen = options.map((x) => x.value).filter((v) => (v === o.value ? !on() : chosen.includes(v)));
        el.setAttribute('aria-selected', String(on()));
        draw();
      },
    }, o.label);
    return el;
  }

  function draw() {
    const tokens = options.filter((o) => chosen.includes(o.value)).map((o) => h('span', { class: 'token' }, o.label));
    button.replaceChildren(...(tokens.length ? tokens : [h('span', { class: 'placeholder' }, placeholder)]));
  }

  draw();
  return {
    node: button, read: () => chosen,
    write: (values) => { chosen = options.map((o) => o.value).filter((v) => values.includes(v)); draw(); },
  };
}
