// Block Kit to DOM.

import { h, newID } from './dom.js';
import { plain, textObject } from './mrkdwn.js';
import { richText } from './richtext.js';
import { markdown } from './markdown.js';
import { image, renderElement } from './elements.js';

// Slack folds a long section; so does the page, unless the block says expand.
const foldAt = 700;

function section(b, surface, state) {
  const main = h('div', { class: 'section-main' });
  if (b.text) main.append(fold(h('div', { class: 'section-text' }, textObject(b.text)), b.text.text, b.expand));
  if (b.fields) main.append(h('div', { class: 'fields' }, b.fields.map((f) => h('div', { class: 'field-cell' }, textObject(f)))));
  return h('div', { class: 'section' }, main, b.accessory ? h('div', { class: 'accessory' }, renderElement(b.accessory, b.block_id, surface, state)) : null);
}

function fold(node, text, expand) {
  if (expand || text.length <= foldAt) return node;
  node.classList.add('folded');
  const more = h('button', {
    type: 'button', class: 'linkish', 'aria-expanded': 'false',
    onclick: () => {
      const open = node.classList.toggle('folded') === false;
      more.textContent = open ? 'See less' : 'See more';
      more.setAttribute('aria-expanded', String(open));
    },
  }, 'See more');
  return h('div', {}, node, more);
}

function input(b, surface, state) {
  const field = renderElement(b.element, b.block_id, surface, state, true);
  const grouped = field.tagName === 'FIELDSET';
  field.id ||= newID('input');
  const hint = b.hint ? h('div', { class: 'hint', id: newID('hint') }, plain(b.hint)) : null;
  const error = h('div', { class: 'error', id: newID('error'), role: 'alert', data: { errorFor: b.block_id } });
  field.setAttribute('aria-describedby', [hint?.id, error.id].filter(Boolean).join(' '));
  if (!b.optional) field.setAttribute('aria-required', 'true');
  const label = h(grouped ? 'div' : 'label', { class: 'label', for: grouped ? undefined : field.id, id: newID('label') }, plain(b.label),
    b.optional ? h('span', { class: 'optional' }, ' (optional)') : null);
  if (grouped) field.setAttribute('aria-labelledby', label.id);
  if (b.dispatch_action) {
    field.addEventListener('keydown', (ev) => {
      if (ev.key === 'Enter' && field.tagName === 'INPUT') { ev.preventDefault(); surface.run(field, b.element, b.block_id, ''); }
    });
  }
  return h('div', { class: 'input' }, label, field, hint, error);
}

function table(b) {
  const cell = (c) => (c.type === 'rich_text' ? richText(c) : document.createTextNode(c.text || ''));
  const [head, ...rest] = b.rows;
  return h('table', {}, h('thead', {}, h('tr', {}, head.map((c) => h('th', {}, cell(c))))),
    h('tbody', {}, rest.map((r) => h('tr', {}, r.map((c) => h('td', {}, cell(c)))))));
}

const taskMarks = { pending: '○', in_progress: '◐', complete: '✓', error: '✕' };

// task is a step of what an agent does.
function task(t) {
  const more = [t.details, t.output].filter(Boolean);
  return h('div', { class: `task ${t.status || 'pending'}`, data: { task: t.status || 'pending' } },
    h('span', { class: 'task-mark', role: 'img', 'aria-label': (t.status || 'pending').replace('_', ' ') }, taskMarks[t.status] || '○'),
    h('div', { class: 'task-main' }, h('div', { class: 'task-title' }, t.title?.text ?? t.title), more.map((m) => richText(m))));
}

function plan(b) {
  return h('div', { class: 'plan' }, h('div', { class: 'task-title' }, b.title?.text ?? b.title), (b.tasks || []).map(task));
}

function block(b, surface, state) {
  switch (b.type) {
    case 'section': return section(b, surface, state);
    case 'header': return h('div', { class: 'header', role: 'heading', 'aria-level': '3' }, plain(b.text));
    case 'divider': return h('hr');
    case 'context': return h('div', { class: 'context' }, b.elements.map((el) => h('span', { class: 'context-item' }, el.type === 'image' ? image(el) : textObject(el))));
    case 'actions': case 'context_actions':
      return h('div', { class: 'actions', role: 'group', 'aria-label': 'Actions' }, b.elements.map((el) => renderElement(el, b.block_id, surface, state)));
    case 'image': return h('div', {}, b.title ? h('div', { class: 'hint' }, plain(b.title)) : null, image(b));
    case 'input': return input(b, surface, state);
    case 'rich_text': return richText(b);
    case 'markdown': return markdown(b.text);
    case 'table': return h('div', { class: 'table', tabindex: '0' }, table(b));
    case 'task_card': return task(b);
    case 'plan': return plan(b);
    default: return h('div', { class: 'unsupported' }, `[${b.type} is not shown here]`);
  }
}

export function renderBlocks(blocks, surface, state) {
  return h('div', { class: 'blocks' }, (blocks || []).map((b) => {
    const node = block(b, surface, state);
    node.classList.add('block', `block-${b.type}`);
    node.dataset.blockId = b.block_id;
    node.dataset.blockType = b.type;
    return node;
  }));
}
