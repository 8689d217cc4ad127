// Interactive elements. Each is built against a "surface": the message or view
// it stands in, which knows how to send actions and collects input values.

import { h, newID, safeHref } from './dom.js';
import { plain, textObject } from './mrkdwn.js';
import { confirmDialog } from './confirm.js';

// A Surface belongs to one rendering of a message or view.
export class Surface {
  constructor(send) {
    this.send = send; // (action) => Promise of an answer
    this.readers = []; // [block id, action id, () => value or undefined]
  }

  register(blockID, actionID, read) { this.readers.push([blockID, actionID, read]); }

  state() {
    const out = {};
    for (const [block, action, read] of this.readers) {
      const value = read();
      if (value === undefined) continue;
      out[block] = { ...out[block], [action]: value };
    }
    return out;
  }

  // run performs an action with the in-flight and failed looks of its control.
  async run(control, el, blockID, value) {
    if (control.getAttribute('aria-busy') === 'true') return;
    if (el.confirm && !(await confirmDialog(el.confirm))) return;
    const holder = control.closest('.control') || control;
    holder.querySelector('.trouble')?.remove();
    control.setAttribute('aria-busy', 'true');
    control.setAttribute('aria-disabled', 'true');
    const answer = await this.send({ BlockID: blockID, ActionID: el.action_id, Value: value, State: this.state() });
    control.removeAttribute('aria-busy');
    control.removeAttribute('aria-disabled');
    if (!answer.ok) holder.append(trouble(answer));
  }
}

function trouble(answer) {
  const why = answer.kind === 'trouble'
    ? 'The app did not answer in time. Try again.'
    : `This did not work: ${answer.error}`;
  return h('span', { class: 'trouble', role: 'alert', title: why, data: { trouble: answer.kind } },
    h('span', { 'aria-hidden': 'true' }, '⚠'), h('span', { class: 'visually-hidden' }, why));
}

const control = (node, el) => h('span', { class: 'control', data: { action: el.action_id } }, node);

function button(el, blockID, surface) {
  const node = h('button', {
    type: 'button', class: `btn ${el.style || ''}`, 'aria-label': el.accessibility_label,
    data: { actionId: el.action_id, blockId: blockID, value: el.value },
  }, h('span', { class: 'btn-label' }, plain(el.text)));
  node.addEventListener('click', () => {
    if (el.url && safeHref(el.url)) window.open(el.url, '_blank', 'noopener,noreferrer');
    surface.run(node, el, blockID, el.value || '');
  });
  return control(node, el);
}

function overflow(el, blockID, surface) {
  const details = h('details', { class: 'overflow' },
    h('summary', { class: 'btn', 'aria-label': 'More actions', data: { actionId: el.action_id } }, '⋯'),
    h('div', { class: 'menu', role: 'menu' }, el.options.map((o) => h('button', {
      type: 'button', role: 'menuitem', class: 'menu-item', data: { option: o.value },
      onclick: (ev) => { details.open = false; surface.run(ev.currentTarget.closest('.control'), el, blockID, o.value); },
    }, plain(o.text)))));
  return control(details, el);
}

const allOptions = (el) => [...(el.options || []), ...(el.option_groups || []).flatMap((g) => g.options)];

function dropdown(el, blockID, surface, asInput) {
  const multi = el.type.startsWith('multi_');
  const chosen = new Set((multi ? el.initial_options || [] : [el.initial_option].filter(Boolean)).map((o) => o.value));
  const one = (o) => h('option', { value: o.value, selected: chosen.has(o.value) }, plain(o.text));
  const node = h('select', { class: 'field', multiple: multi, size: multi ? Math.min(6, allOptions(el).length) : undefined, data: { actionId: el.action_id, blockId: blockID } },
    multi ? null : h('option', { value: '' }, el.placeholder ? plain(el.placeholder) : 'Choose…'),
    (el.option_groups || []).map((g) => h('optgroup', { label: g.label.text }, g.options.map(one))), (el.options || []).map(one));
  const read = () => (multi ? [...node.selectedOptions].map((o) => o.value) : node.value || undefined);
  return register(node, read, el, blockID, surface, asInput);
}

function directory(el, blockID, surface, asInput, state) {
  const people = el.type.includes('users');
  const options = people
    ? state.users.map((u) => [u.id, u.real])
    : state.channels.filter((c) => c.kind !== 'im').map((c) => [c.id, `#${c.name}`]);
  const multi = el.type.startsWith('multi_');
  const key = Object.keys(el).find((k) => k.startsWith('initial_'));
  const initial = new Set([key ? el[key] : []].flat());
  const node = h('select', { class: 'field', multiple: multi, data: { actionId: el.action_id, blockId: blockID } },
    multi ? null : h('option', { value: '' }, el.placeholder ? plain(el.placeholder) : 'Choose…'),
    options.map(([id, label]) => h('option', { value: id, selected: initial.has(id) }, label)));
  const read = () => (multi ? [...node.selectedOptions].map((o) => o.value) : node.value || undefined);
  return register(node, read, el, blockID, surface, asInput);
}

function choices(el, blockID, surface, asInput) {
  const many = el.type === 'checkboxes';
  const initial = new Set((many ? el.initial_options || [] : [el.initial_option].filter(Boolean)).map((o) => o.value));
  const name = newID('choice');
  const node = h('fieldset', { class: 'choices', data: { actionId: el.action_id, blockId: blockID } }, el.options.map((o) => h('label', { class: 'choice' },
    h('input', { type: many ? 'checkbox' : 'radio', name, value: o.value, checked: initial.has(o.value) }),
    h('span', {}, h('span', {}, textObject(o.text)), o.description ? h('span', { class: 'choice-more' }, textObject(o.description)) : null))));
  const values = () => [...node.querySelectorAll('input:checked')].map((i) => i.value);
  return register(node, () => (many ? values() : values()[0]), el, blockID, surface, asInput);
}

function picker(el, blockID, surface, asInput) {
  const kind = { datepicker: 'date', timepicker: 'time', datetimepicker: 'datetime-local' }[el.type];
  const initial = el.initial_date || el.initial_time || (el.initial_date_time ? localISO(el.initial_date_time) : '');
  const node = h('input', { class: 'field', type: kind, value: initial, data: { actionId: el.action_id, blockId: blockID } });
  const read = () => {
    if (!node.value) return undefined;
    return kind === 'datetime-local' ? String(Math.floor(new Date(node.value).getTime() / 1000)) : node.value;
  };
  return register(node, read, el, blockID, surface, asInput);
}

function localISO(seconds) {
  const d = new Date(seconds * 1000);
  return new Date(d.getTime() - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

function textInput(el, blockID, surface) {
  const props = {
    class: 'field', value: el.initial_value || '', placeholder: el.placeholder?.text, 'data-focus': el.focus_on_load ? '' : undefined,
    maxlength: el.max_length ? String(el.max_length) : undefined, data: { actionId: el.action_id, blockId: blockID },
  };
  const types = { email_text_input: 'email', url_text_input: 'url', number_input: 'number' };
  const node = el.multiline ? h('textarea', { ...props, rows: '4' }) : h('input', { type: types[el.type] || 'text', ...props });
  if (el.type === 'number_input' && el.is_decimal_allowed) node.step = 'any';
  surface.register(blockID, el.action_id, () => node.value);
  return node;
}

// register makes a control an input, or lets a change send an action at once.
function register(node, read, el, blockID, surface, asInput) {
  surface.register(blockID, el.action_id, read);
  if (asInput) return node;
  node.addEventListener('change', () => surface.run(node, el, blockID, ''));
  node.setAttribute('aria-label', el.placeholder?.text || el.action_id);
  return control(node, el);
}

export function renderElement(el, blockID, surface, state, asInput = false) {
  switch (el.type) {
    case 'button': case 'icon_button': case 'workflow_button': return button(el, blockID, surface);
    case 'overflow': return overflow(el, blockID, surface);
    case 'static_select': case 'multi_static_select': return dropdown(el, blockID, surface, asInput);
    case 'users_select': case 'multi_users_select': case 'channels_select': case 'multi_channels_select':
    case 'conversations_select': case 'multi_conversations_select': return directory(el, blockID, surface, asInput, state);
    case 'radio_buttons': case 'checkboxes': return choices(el, blockID, surface, asInput);
    case 'datepicker': case 'timepicker': case 'datetimepicker': return picker(el, blockID, surface, asInput);
    case 'plain_text_input': case 'email_text_input': case 'url_text_input': case 'number_input': return textInput(el, blockID, surface);
    case 'image': return image(el);
    default: return h('span', { class: 'unsupported' }, `[${el.type} is not shown here]`);
  }
}

// Images are shown by their text: the page loads nothing from elsewhere.
export function image(el) {
  return h('span', { class: 'image', role: 'img', 'aria-label': el.alt_text }, h('span', { 'aria-hidden': 'true' }, '▨ '), el.alt_text);
}
