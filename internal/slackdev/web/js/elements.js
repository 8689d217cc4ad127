// Interactive elements. Each is built against a "surface": the message or view
// it stands in, which knows how to send actions and collects input values.

import { h, newID, safeHref } from './dom.js';
import { plain, textObject } from './mrkdwn.js';
import { confirmDialog } from './confirm.js';
import { menuButton } from './menu.js';
import { multiselect } from './multiselect.js';

// A Surface belongs to one rendering of a message or view.
export class Surface {
  constructor(send) {
    this.send = send; // (action) => Promise of an answer
    this.inputs = []; // { block, action, read, write }
  }

  register(block, action, read, write) { this.inputs.push({ block, action, read, write, drawn: JSON.stringify(read()) }); }

  state() {
    const out = {};
    for (const { block, action, read } of this.inputs) {
      const value = read();
      if (value === undefined) continue;
      out[block] = { ...out[block], [action]: value };
    }
    return out;
  }

  // takeOver fills in what people had entered before a redraw, where block and action are the same, as Slack does.
  takeOver(before) {
    for (const now of this.inputs) {
      const then = before?.inputs.find((i) => i.block === now.block && i.action === now.action);
      if (then && JSON.stringify(then.read()) !== then.drawn) now.write(then.read());
    }
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
const ids = (el, blockID) => ({ actionId: el.action_id, blockId: blockID });

function button(el, blockID, surface) {
  const icon = { trash: '🗑' }[el.icon];
  const node = h('button', {
    type: 'button', class: `btn ${icon ? 'icon' : ''} ${el.style || ''}`, 'aria-label': el.accessibility_label || (icon ? el.text?.text : undefined),
    data: { ...ids(el, blockID), value: el.value },
  }, h('span', { class: 'btn-label' }, icon || plain(el.text)));
  node.addEventListener('click', () => {
    if (el.url && safeHref(el.url)) window.open(el.url, '_blank', 'noopener,noreferrer');
    surface.run(node, el, blockID, el.value || '');
  });
  return control(node, el);
}

function overflow(el, blockID, surface) {
  const choose = (o, node) => {
    if (o.url && safeHref(o.url)) window.open(o.url, '_blank', 'noopener,noreferrer');
    surface.run(node, el, blockID, o.value);
  };
  const label = (o) => [h('span', {}, plain(o.text)), o.description ? h('span', { class: 'choice-more' }, plain(o.description)) : null];
  const node = menuButton({ class: 'btn more', 'aria-label': 'More actions', title: 'More actions', data: ids(el, blockID) }, '⋯',
    () => el.options.map((o) => ({ label: label(o), data: { option: o.value }, choose: (at) => choose(o, at) })));
  return control(node, el);
}

// feedback are the two buttons of an answer: good or bad.
function feedback(el, blockID, surface) {
  return [['positive_button', '👍'], ['negative_button', '👎']].map(([key, sign]) => {
    const b = el[key];
    const node = h('button', { type: 'button', class: 'btn icon', 'aria-label': b.accessibility_label || b.text?.text, title: b.text?.text, data: { ...ids(el, blockID), value: b.value } }, sign);
    node.addEventListener('click', () => surface.run(node, el, blockID, b.value));
    return control(node, el);
  });
}

const grouped = (el) => [...(el.options || []).map((o) => [o, '']), ...(el.option_groups || []).flatMap((g) => g.options.map((o) => [o, g.label.text]))];
const starts = (el) => new Set((el.initial_options || [el.initial_option].filter(Boolean)).map((o) => o.value));

function dropdown(el, blockID, surface, asInput) {
  const first = starts(el);
  if (el.type.startsWith('multi_')) return several(grouped(el).map(([o, group]) => ({ value: o.value, label: o.text.text, group })), first, el, blockID, surface, asInput);
  const one = (o) => h('option', { value: o.value, selected: first.has(o.value) }, plain(o.text));
  return single([(el.option_groups || []).map((g) => h('optgroup', { label: g.label.text }, g.options.map(one))), (el.options || []).map(one)], el, blockID, surface, asInput);
}

function directory(el, blockID, surface, asInput, state) {
  const options = el.type.includes('users')
    ? state.users.map((u) => [u.id, u.real])
    : state.channels.filter((c) => c.kind !== 'im').map((c) => [c.id, `#${c.name}`]);
  const first = new Set([el.initial_user, el.initial_channel, el.initial_conversation,
    ...(el.initial_users || el.initial_channels || el.initial_conversations || [])].filter(Boolean));
  if (el.type.startsWith('multi_')) return several(options.map(([value, label]) => ({ value, label })), first, el, blockID, surface, asInput);
  return single(options.map(([id, label]) => h('option', { value: id, selected: first.has(id) }, label)), el, blockID, surface, asInput);
}

function single(options, el, blockID, surface, asInput) {
  const node = h('select', { class: 'field', data: ids(el, blockID) },
    h('option', { value: '' }, el.placeholder ? plain(el.placeholder) : 'Choose…'), options);
  return register(node, () => node.value || undefined, (v) => { node.value = v ?? ''; }, el, blockID, surface, asInput);
}

function several(options, first, el, blockID, surface, asInput) {
  const list = multiselect(options, first, { data: ids(el, blockID) }, el.placeholder?.text || 'Choose…',
    () => { if (!asInput) surface.run(list.node, el, blockID, ''); });
  surface.register(blockID, el.action_id, list.read, list.write);
  return asInput ? list.node : control(list.node, el);
}

function choices(el, blockID, surface, asInput) {
  const many = el.type === 'checkboxes';
  const first = starts(el);
  const name = newID('choice');
  const node = h('fieldset', { class: 'choices', data: ids(el, blockID) }, el.options.map((o) => h('label', { class: 'choice' },
    h('input', { type: many ? 'checkbox' : 'radio', name, value: o.value, checked: first.has(o.value) }),
    h('span', {}, h('span', {}, textObject(o.text)), o.description ? h('span', { class: 'choice-more' }, textObject(o.description)) : null))));
  const values = () => [...node.querySelectorAll('input:checked')].map((i) => i.value);
  const write = (v) => node.querySelectorAll('input').forEach((i) => { i.checked = [v].flat().includes(i.value); });
  return register(node, () => (many ? values() : values()[0]), write, el, blockID, surface, asInput);
}

function picker(el, blockID, surface, asInput) {
  const kind = { datepicker: 'date', timepicker: 'time', datetimepicker: 'datetime-local' }[el.type];
  const initial = el.initial_date || el.initial_time || (el.initial_date_time ? localISO(el.initial_date_time) : '');
  const node = h('input', { class: 'field', type: kind, value: initial, data: ids(el, blockID) });
  const read = () => {
    if (!node.value) return undefined;
    return kind === 'datetime-local' ? String(Math.floor(new Date(node.value).getTime() / 1000)) : node.value;
  };
  const write = (v) => { node.value = kind === 'datetime-local' && v ? localISO(Number(v)) : v ?? ''; };
  return register(node, read, write, el, blockID, surface, asInput);
}

function localISO(seconds) {
  const d = new Date(seconds * 1000);
  return new Date(d.getTime() - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

// rowsFor has a text field show what it begins with, as far as that is no page.
function rowsFor(text) {
  return String(Math.min(16, Math.max(4, text.split('\n').length + 1)));
}

function textInput(el, blockID, surface) {
  const props = {
    class: 'field', value: el.initial_value || '', placeholder: el.placeholder?.text, 'data-focus': el.focus_on_load ? '' : undefined,
    maxlength: el.max_length ? String(el.max_length) : undefined, data: ids(el, blockID),
  };
  if (el.type === 'number_input') Object.assign(props, { inputmode: el.is_decimal_allowed ? 'decimal' : 'numeric', step: el.is_decimal_allowed ? 'any' : '1', min: el.min_value, max: el.max_value });
  const types = { email_text_input: 'email', url_text_input: 'url', number_input: 'number' };
  const node = el.multiline ? h('textarea', { ...props, rows: rowsFor(props.value) }) : h('input', { type: types[el.type] || 'text', ...props });
  surface.register(blockID, el.action_id, () => node.value, (v) => { node.value = v; });
  return node;
}

// register makes a control an input, or lets a change send an action at once.
function register(node, read, write, el, blockID, surface, asInput) {
  surface.register(blockID, el.action_id, read, write);
  if (asInput) return node;
  node.addEventListener('change', () => surface.run(node, el, blockID, ''));
  node.setAttribute('aria-label', el.placeholder?.text || el.action_id);
  return control(node, el);
}

export function renderElement(el, blockID, surface, state, asInput = false) {
  switch (el.type) {
    case 'button': case 'icon_button': case 'workflow_button': return button(el, blockID, surface);
    case 'overflow': return overflow(el, blockID, surface);
    case 'feedback_buttons': return feedback(el, blockID, surface);
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
