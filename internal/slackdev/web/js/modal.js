// Modals: the top view of the person's stack as a dialog.

import { act } from './api.js';
import { h, toast } from './dom.js';
import { renderBlocks } from './blocks.js';
import { Surface } from './elements.js';
import { me } from './names.js';

let shown = null; // { id, rev, dialog }

export function updateModal(state) {
  const top = state.views[state.views.length - 1];
  if (!top) { hide(); return; }
  if (shown && shown.id === top.id && shown.rev === top.rev && shown.user === state.me) return;
  const focus = shown && shown.id === top.id ? document.activeElement?.dataset?.actionId : null;
  hide();
  shown = { id: top.id, rev: top.rev, user: state.me, dialog: build(top, state) };
  document.body.append(shown.dialog);
  shown.dialog.showModal();
  const target = (focus && shown.dialog.querySelector(`[data-action-id="${CSS.escape(focus)}"]`)) || shown.dialog.querySelector('[data-focus], input, textarea, select');
  target?.focus();
}

function hide() {
  if (!shown) return;
  shown.dialog.close();
  shown.dialog.remove();
  shown = null;
}

function build(view, state) {
  const surface = new Surface((a) => act('click', { ...a, User: me(), ViewID: view.id }));
  const close = (all) => act('close', { User: me(), ViewID: view.id, All: all });
  const body = h('div', { class: 'dialog-body' }, renderBlocks(view.blocks, surface, state));
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
  return h('dialog', {
    class: 'dialog modal', 'aria-labelledby': 'modal-title', data: { view: view.id },
    oncancel: (ev) => { ev.preventDefault(); close(false); },
  }, form);
}

async function send(view, surface, form, submit) {
  if (!submit || submit.getAttribute('aria-busy') === 'true') return;
  showErrors(form, {});
  submit.setAttribute('aria-busy', 'true');
  submit.disabled = true;
  const answer = await act('submit', { User: me(), ViewID: view.id, State: surface.state() });
  submit.removeAttribute('aria-busy');
  submit.disabled = false;
  if (answer.errors) showErrors(form, answer.errors);
  else if (answer.kind === 'invalid') markInvalid(form, answer.error);
  else if (!answer.ok && form.isConnected) {
    form.querySelector('.form-error').textContent = answer.kind === 'trouble'
      ? 'We had some trouble connecting. Try again?' : answer.error;
  } else if (!answer.ok) toast(answer.error, 'bad');
}

function showErrors(form, errors) {
  form.querySelector('.form-error').textContent = '';
  for (const el of form.querySelectorAll('[data-error-for]')) {
    const message = errors[el.dataset.errorFor] || '';
    el.textContent = message;
    const field = el.closest('.input').querySelector('.field, .choices');
    if (message) field?.setAttribute('aria-invalid', 'true');
    else field?.removeAttribute('aria-invalid');
  }
  form.querySelector('[aria-invalid="true"]')?.focus();
}

// markInvalid shows what Slack's own client would complain about.
function markInvalid(form, error) {
  const block = error.match(/submit: (\S+) (.*): invalid input/);
  if (block) showErrors(form, { [block[1]]: `This field ${block[2]}` });
  else form.querySelector('.form-error').textContent = error;
}
