// The dialog in front of an element with "confirm".

import { h } from './dom.js';
import { back, place } from './focus.js';
import { plain, textObject } from './mrkdwn.js';

export function confirmDialog(def) {
  return new Promise((resolve) => {
    const from = place();
    const done = (yes) => { dialog.close(); dialog.remove(); back(from); resolve(yes); };
    const dialog = h('dialog', { class: 'dialog confirm', 'aria-labelledby': 'confirm-title', data: { confirm: '' }, oncancel: (ev) => { ev.preventDefault(); done(false); } },
      h('h2', { id: 'confirm-title' }, plain(def.title)),
      h('div', { class: 'dialog-body' }, textObject(def.text)),
      h('div', { class: 'dialog-buttons' },
        h('button', { type: 'button', class: 'btn', data: { confirm: 'no' }, onclick: () => done(false) }, plain(def.deny)),
        h('button', { type: 'button', class: `btn ${def.style || 'primary'}`, data: { confirm: 'yes' }, onclick: () => done(true) }, plain(def.confirm))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
