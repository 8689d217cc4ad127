// Menus and lists that open below a button: arrows move, Enter and Space choose, Escape and Tab close.

import { h, newID } from './dom.js';

const edge = 8; // pixels between a menu and the edge of the window

function put(menu, anchor) {
  const at = anchor.getBoundingClientRect();
  const width = Math.min(menu.offsetWidth, innerWidth - 2 * edge);
  const below = innerHeight - at.bottom - edge;
  const up = menu.offsetHeight > below && at.top > below;
  const room = (up ? at.top : below + edge) - 2 * edge;
  menu.style.maxHeight = `${Math.max(room, 120)}px`;
  menu.style.left = `${Math.max(edge, Math.min(at.left, innerWidth - width - edge))}px`;
  menu.style.top = `${up ? Math.max(edge, at.top - 4 - Math.min(menu.offsetHeight, room)) : at.bottom + 4}px`;
}

function move(menu, ev) {
  const items = [...menu.querySelectorAll('[data-item]')];
  const now = items.indexOf(document.activeElement);
  const last = items.length - 1;
  const next = {
    ArrowDown: now < last ? now + 1 : 0, ArrowUp: now > 0 ? now - 1 : last, Home: 0, End: last,
  }[ev.key];
  if (next !== undefined) return items[next];
  if (ev.key.length !== 1 || ev.key === ' ' || ev.ctrlKey || ev.metaKey || ev.altKey) return null;
  const after = [...items.slice(now + 1), ...items.slice(0, now + 1)];
  return after.find((el) => el.textContent.trim().toLowerCase().startsWith(ev.key.toLowerCase())) || null;
}

let shown = null;

// closeMenu closes the open menu, if there is one.
export function closeMenu() { shown?.hidePopover(); }

// popup opens a menu or list box below its button. done is called when it closes, whatever closed it.
export function popup(anchor, props, items, done) {
  const menu = h('div', { class: 'menu', popover: 'auto', id: newID('menu'), tabindex: '-1', ...props }, items);
  let focusBack = true;
  menu.addEventListener('keydown', (ev) => {
    const next = move(menu, ev);
    if (next) { ev.preventDefault(); ev.stopPropagation(); next.focus(); }
    if (ev.key === 'Tab') { anchor.focus(); menu.hidePopover(); }
    if (ev.key === 'Escape') { ev.preventDefault(); ev.stopPropagation(); menu.hidePopover(); }
  });
  menu.addEventListener('toggle', (ev) => {
    if (ev.newState !== 'closed') return;
    const inside = menu.contains(document.activeElement) || document.activeElement === document.body;
    menu.remove();
    if (shown === menu) shown = null;
    anchor.setAttribute('aria-expanded', 'false');
    if (inside && focusBack) anchor.focus();
    done?.();
  });
  closeMenu();
  (anchor.closest('dialog') || document.body).append(menu);
  menu.showPopover();
  shown = menu;
  anchor.setAttribute('aria-expanded', 'true');
  put(menu, anchor);
  (menu.querySelector('[aria-checked="true"], [aria-selected="true"]') || menu.querySelector('[data-item]') || menu).focus();
  return { close: (keepFocus) => { focusBack = !keepFocus; menu.hidePopover(); }, el: menu };
}

// opener is a button that opens a popup. It must not open again with the press that has just closed it.
export function opener(props, label, open) {
  let closing = false;
  const button = h('button', {
    type: 'button', 'aria-expanded': 'false', ...props,
    onpointerdown: () => { closing = button.getAttribute('aria-expanded') === 'true'; },
    onclick: () => { if (!closing) open(button); closing = false; },
    onkeydown: (ev) => {
      if (ev.key !== 'ArrowDown' && ev.key !== 'ArrowUp') return;
      ev.preventDefault();
      ev.stopPropagation();
      open(button);
    },
  }, label);
  return button;
}

// menuButton is a button with a menu. entries says, each time, what is in it: [{label, data, choose, checked}].
export function menuButton(props, label, entries) {
  return opener({ 'aria-haspopup': 'menu', ...props }, label, (button) => {
    const list = entries();
    const menu = popup(button, { role: 'menu', 'aria-label': props['aria-label'] || '' }, list.map((e) => h('button', {
      type: 'button', class: 'menu-item', tabindex: '-1', role: e.checked === undefined ? 'menuitem' : 'menuitemradio',
      'aria-checked': e.checked === undefined ? undefined : String(e.checked), data: { item: '', ...e.data },
      onclick: () => { menu.close(); e.choose(button); },
    }, e.label)));
  });
}
