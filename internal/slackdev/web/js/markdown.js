// The markdown block: the part of standard Markdown that answers of models use.

import { h, link } from './dom.js';

const pattern = /`([^`]+)`|\[([^\]]+)\]\(([^()\s]+)\)|\*\*(.+?)\*\*|__(.+?)__|~~(.+?)~~|(?<!\w)[*_](?=\S)([^*_]+?)[*_](?!\w)|(https?:\/\/[^\s<>)]+)|\\([\\`*_{}[\]()#+\-.!~|>])/g;

function inline(text) {
  const out = [];
  let at = 0;
  for (const m of text.matchAll(pattern)) {
    out.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[1] !== undefined) out.push(h('code', {}, m[1]));
    else if (m[2] !== undefined) out.push(link(m[3], m[2]));
    else if (m[4] ?? m[5]) out.push(h('strong', {}, inline(m[4] ?? m[5])));
    else if (m[6] !== undefined) out.push(h('del', {}, inline(m[6])));
    else if (m[7] !== undefined) out.push(h('em', {}, inline(m[7])));
    else if (m[8] !== undefined) out.push(link(m[8]));
    else out.push(m[9]);
  }
  out.push(text.slice(at));
  return out;
}

function table(rows) {
  const cells = (row) => row.replace(/^\s*\||\|\s*$/g, '').split('|').map((c) => c.trim());
  return h('table', {},
    h('thead', {}, h('tr', {}, cells(rows[0]).map((c) => h('th', {}, inline(c))))),
    h('tbody', {}, rows.slice(2).map((r) => h('tr', {}, cells(r).map((c) => h('td', {}, inline(c)))))));
}

// take gathers the lines from i on that satisfy test.
function take(lines, i, test) {
  const from = i;
  while (i < lines.length && test(lines[i])) i += 1;
  return [lines.slice(from, i), i];
}

const bullet = /^\s*[-*+]\s+(.*)$/;
const number = /^\s*\d+[.)]\s+(.*)$/;

export function markdown(text) {
  const lines = text.split('\n');
  const root = h('div', { class: 'markdown' });
  let i = 0;
  while (i < lines.length) {
    const line = lines[i];
    let part;
    if (/^\s*```/.test(line)) {
      [part, i] = take(lines, i + 1, (l) => !/^\s*```/.test(l));
      i += 1;
      root.append(h('pre', { tabindex: 0 }, part.join('\n')));
    } else if (/^#{1,6}\s/.test(line)) {
      const level = line.match(/^#+/)[0].length;
      root.append(h('div', { class: `md-h md-h${Math.min(level, 3)}`, role: 'heading', 'aria-level': String(Math.min(level + 2, 6)) }, inline(line.replace(/^#+\s+/, ''))));
      i += 1;
    } else if (bullet.test(line) || number.test(line)) {
      const kind = bullet.test(line) ? bullet : number;
      [part, i] = take(lines, i, (l) => kind.test(l));
      root.append(h(kind === bullet ? 'ul' : 'ol', {}, part.map((l) => h('li', {}, inline(l.match(kind)[1])))));
    } else if (/^>/.test(line)) {
      [part, i] = take(lines, i, (l) => /^>/.test(l));
      root.append(h('blockquote', {}, part.flatMap((l, n) => [n ? h('br') : '', ...inline(l.replace(/^>\s?/, ''))])));
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      root.append(h('hr'));
      i += 1;
    } else if (/\|/.test(line) && /^\s*\|?[\s:|-]+\|[\s:|-]*$/.test(lines[i + 1] || '')) {
      [part, i] = take(lines, i, (l) => /\|/.test(l));
      root.append(table(part));
    } else if (line.trim() === '') {
      i += 1;
    } else {
      [part, i] = take(lines, i, (l) => l.trim() !== '' && !/^(\s*```|#{1,6}\s|>)/.test(l) && !bullet.test(l) && !number.test(l));
      if (!part.length) { part = [line]; i += 1; }
      root.append(h('p', {}, part.flatMap((l, n) => [n ? h('br') : '', ...inline(l)])));
    }
  }
  return root;
}
