// Builds elements from data. Text only ever becomes text nodes, so nothing a
// message says can turn into markup.

export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'class') el.className = value;
    else if (key === 'data') for (const [k, v] of Object.entries(value)) { if (v !== undefined && v !== null) el.dataset[k] = v; }
    else if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
    else if (key in el && typeof value !== 'string') el[key] = value;
    else if (key === 'value') el.value = value;
    else el.setAttribute(key, value === true ? '' : value);
  }
  append(el, children);
  return el;
}

export function append(el, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === '') continue;
    el.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return el;
}

// fill replaces the children of an element; empty ones are left out.
export function fill(el, ...children) {
  el.replaceChildren();
  return append(el, children);
}

// safeHref lets only ordinary addresses become links.
export function safeHref(url) {
  return /^(https?:|mailto:)/i.test(url) ? url : null;
}

export function link(url, label) {
  const href = safeHref(url);
  if (!href) return document.createTextNode(label || url);
  return h('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, label || url);
}

let counter = 0;
export function newID(prefix) {
  counter += 1;
  return `${prefix}-${counter}`;
}

export function toast(text, kind) {
  const el = h('div', { class: `toast ${kind || ''}`, data: { toast: kind || 'info' } }, text);
  document.getElementById('toasts').append(el);
  setTimeout(() => el.remove(), 6000);
}
