// Modals: the top view of the person's stack as a dialog.

import { act } from './api.js';
import { h, toast } from './dom.js';
import { renderBlocks } from './blocks.js';
import { Surface } from './elements.js';
import { back, place } from './focus.js';
import { me } from './names.js';

let shown = null; // { id, rev, user, dialog, surface }
let from = null; // where the keyboard was before the first dialog

export function updateModal(state) {
  const top = state.views[state.views.length - 1];
  if (!top) { hide(true); return; }
  if (shown && shown.id === top.id && shown.rev === top.rev && shown.user === state.me) return;
  const same = shown && shown.id === top.id;
  const before = same ? shown.surface : null;
  const scrolled = same ? shown.dialog.querySelector('.dialog-body').scrollTop : 0;
  const where = same ? place() : null;
  if (!shown) from = place();
  hide(false);
  const built = build(top, state);
  built.surface.takeOver(before);
  shown = { id: top.id, rev: top.rev, user: state.me, ...built };
  document.body.append(shown.dialog);
  shown.dialog.showModal();
  const body = shown.dialog.querySelector('.dialog-body');
  body.scrollTop = scrolled;
  if (!back(where)) (shown.dialog.querySelector('[data-focus]') || body.querySelector('input, textarea, select, .tokens') || body).focus();
}

function hide(last) {
  if (!shown) return;
  shown.dialog.close();
  shown.dialog.remove();
  shown = null;
  if (!last) return;
  back(from);
  from = null;
}

function build(view, state) {
  const surface = new Surface((a) => act('click', { ...a, User: me(), ViewID: view.id }));
  const close = (all) => act('close', { User: me(), ViewID: view.id, All: all });
  const body = h('div', { class: 'dialog-body', tabindex: '-1' }, renderBlocks(view.blocks, surface, state));
  const submit = view.submit ? h('button', { type: 'submit', class: 'btn primary', data: { submit: '' } }, h('span', { class: 'btn-label' }, view.submit)) : null;
  const form = h('form', {
    method: 'dialog', novalidate: '',
    onsubmit: (ev) => { ev.preventDefault(); send(view, surface, form, submit); },
  },
  h('div', { class: 'dialog-head' },
    state.views.length > 1 ? h('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Back', data: { back: '' }, onclick: () => close(false) }, '←') : null,
    h('h2', { id: 'modal-title' }, view.title),
    h('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Close', data: { dismiss: '' }, onclick: () => close(true) }, '✕')),
  body,
  h('div', { class: 'dialog-foot' }, h('div', { class: 'form-error', role: 'alert' }),
    h('div', { class: 'dialog-buttons' },
      h('button', { type: 'button', class: 'btn', data: { close: '' }, onclick: () => close(false) }, view.close || (submit ? 'Cancel' : 'Close')), submit)));
  const dialog = h('dialog', {
    class: 'dialog modal', 'aria-labelledby': 'modal-title', data: { view: view.id },
    oncancel: (ev) => { if (ev.target === dialog) { ev.preventDefault(); close(false); } },
    onclose: () => { if (shown?.dialog === dialog) close(false); }, // the browser closed it by itself
  }, form);
  return { dialog, surface };
}

async function send(view, surface, form, submit) {
  if (!submit || submit.getAttribute('aria-busy') === 'true') return;
  showErrors(form, {});
  submit.setAttribute('aria-busy', 'true');
  const answer = await act('submit', { User: me(), ViewID: view.id, State: surface.state() });
  submit.removeAttribute('aria-busy');
  if (answer.errors) showErrors(form, answer.errors);
  else if (answer.kind === 'invalid') markInvalid(form, answer.error);
  else if (!answer.ok && form.isConnected) {
    form.querySelector('.form-error').textContent = answer.kind === 'trouble'
      ? 'We had some trouble connecting. Try again?' : answer.error;
  } else if (!answer.ok) toast(answer.error, 'bad');
}

function showErrors(form, errors) {
  form.querySelector('.form-error').textContent = '';
  let first = null;
  for (const el of form.querySelectorAll('[data-error-for]')) {
    const message = errors[el.dataset.errorFor] || '';
    el.textContent = message;
    const field = el.closest('.input').querySelector('.field, .choices');
    if (message) field?.setAttribute('aria-invalid', 'true');
    else field?.removeAttribute('aria-invalid');
    if (message && !first) first = field?.matches('fieldset') ? field.querySelector('input') : field;
  }
  first?.focus();
}

// markInvalid shows what Slack's own client would complain about.
function markInvalid(form, error) {
  const block = error.match(/submit: (\S+) (.*): invalid input/);
  if (block) showErrors(form, { [block[1]]: `This field ${block[2]}` });
  else form.querySelector('.form-error').textContent = error;
}
