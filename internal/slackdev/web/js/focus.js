// Where the keyboard is, in words that outlive a redraw.

const quote = (s) => CSS.escape(s);

// own are selectors of an element inside its message or view, the narrowest first.
function own(el) {
  const held = el.closest('[data-action-id]');
  if (el.dataset?.focusKey) return [`[data-focus-key="${quote(el.dataset.focusKey)}"]`];
  if (!held) return [];
  const action = `[data-action-id="${quote(held.dataset.actionId)}"]`;
  const out = [];
  if (el !== held && el.value !== undefined) out.push(`${action} [value="${quote(el.value)}"]`);
  if (held.dataset.value) out.push(`${action}[data-value="${quote(held.dataset.value)}"]`);
  out.push(action);
  return out;
}

// place describes an element by selectors, or is null when there is nothing to come back to.
export function place(el = document.activeElement) {
  if (!el || el === document.body) return null;
  const pane = ['#sidebar', '#main', '#thread', '#activity'].find((id) => el.closest(id)) || '';
  const holder = el.closest('[data-ts], [data-view]');
  let inside = pane;
  if (holder) inside += holder.dataset.ts ? ` [data-ts="${quote(holder.dataset.ts)}"]` : ` [data-view="${quote(holder.dataset.view)}"]`;
  const selectors = own(el).map((s) => `${inside} ${s}`);
  if (holder) selectors.push(inside);
  return selectors.length ? { el, selectors } : null;
}

// back focuses what the description finds: the element itself, its successor, or else the message it stood in.
export function back(where) {
  if (!where) return false;
  const found = [where.el.isConnected ? where.el : null, ...where.selectors.map((s) => document.querySelector(s))];
  return found.some((el) => {
    el?.focus();
    return el && document.activeElement === el;
  });
}

// keep runs a redraw and puts the keyboard back where it was, if the redraw took its place away.
export function keep(redraw) {
  const where = place();
  redraw();
  if (where && document.activeElement !== where.el) back(where);
}
