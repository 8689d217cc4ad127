// Slack's own markup: <…> tokens, *bold*, _italic_, ~strike~, `code`, ```pre```
// and > quotes. Everything becomes DOM nodes with text.

import { h, link } from './dom.js';
import { channelName, groupName, me, person } from './names.js';
import { formatDate } from './dates.js';
import { emoji } from './emoji.js';

const unescape = (s) => s.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');

export function userMention(id) {
  const p = person(id);
  return h('span', { class: id === me() ? 'mention self' : 'mention', data: { user: id } }, `@${p.name}`);
}

export function broadcast(range) {
  return h('span', { class: 'mention wide' }, `@${range}`);
}

export function dateNode(seconds, format, url, fallback) {
  const label = Number.isFinite(seconds) ? formatDate(seconds, format) : fallback;
  const time = h('time', { title: fallback || '', datetime: Number.isFinite(seconds) ? new Date(seconds * 1000).toISOString() : undefined }, label);
  const a = url ? link(url, label) : null;
  return a || time;
}

function token(body) {
  const cut = body.indexOf('|');
  const target = cut < 0 ? body : body.slice(0, cut);
  const label = cut < 0 ? '' : unescape(body.slice(cut + 1));
  if (target.startsWith('@')) return userMention(target.slice(1));
  if (target.startsWith('#')) return h('span', { class: 'mention' }, `#${channelName(target.slice(1))}`);
  if (target.startsWith('!subteam^')) return h('span', { class: 'mention' }, `@${groupName(target.slice(9))}`);
  if (target.startsWith('!date^')) {
    const [, seconds, format, url] = target.split('^');
    return dateNode(Number(seconds), unescape(format || ''), url && unescape(url), label);
  }
  if (/^!(here|channel|everyone)$/.test(target)) return broadcast(target.slice(1));
  if (target.startsWith('!')) return document.createTextNode(label || `<${target}>`);
  return link(unescape(target), label || unescape(target));
}

// inline parses one run of text without line structure.
const pattern = /<([^<>\n]+)>|`([^`\n]+)`|(?<![\w*])\*(?=\S)([^*\n]*?[^\s*])\*(?![\w*])|(?<![\w_])_(?=\S)([^_\n]*?[^\s_])_(?![\w_])|(?<![\w~])~(?=\S)([^~\n]*?[^\s~])~(?![\w~])|:([a-z0-9_+-]+):/g;

function inline(text) {
  const out = [];
  let at = 0;
  const plain = (s) => { if (s) out.push(document.createTextNode(unescape(s))); };
  for (const m of text.matchAll(pattern)) {
    plain(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[1] !== undefined) out.push(token(m[1]));
    else if (m[2] !== undefined) out.push(h('code', {}, unescape(m[2])));
    else if (m[3] !== undefined) out.push(h('strong', {}, inline(m[3])));
    else if (m[4] !== undefined) out.push(h('em', {}, inline(m[4])));
    else if (m[5] !== undefined) out.push(h('del', {}, inline(m[5])));
    else out.push(document.createTextNode(emoji(m[6])));
  }
  plain(text.slice(at));
  return out;
}

function lines(text) {
  const out = [];
  let quote = null;
  text.split('\n').forEach((line, i, all) => {
    const quoted = line.match(/^(?:&gt;|>) ?(.*)$/);
    if (quoted) {
      if (!quote) { quote = h('blockquote'); out.push(quote); } else quote.append(h('br'));
      quote.append(...inline(quoted[1]));
      return;
    }
    quote = null;
    out.push(...inline(line));
    if (i < all.length - 1) out.push(h('br'));
  });
  return out;
}

export function mrkdwn(text) {
  const out = [];
  text.split('```').forEach((part, i, all) => {
    if (i % 2 === 1 && i < all.length - 1) out.push(h('pre', {}, unescape(part.replace(/^\n|\n$/g, ''))));
    else if (i % 2 === 1) out.push(...lines('```' + part));
    else out.push(...lines(i > 0 ? part.replace(/^\n/, '') : part));
  });
  return out;
}

// plain shows text as it is; only :emoji: names are replaced, as in Slack.
export function plain(object) {
  const text = object?.text ?? '';
  if (object?.emoji === false) return [document.createTextNode(text)];
  return [document.createTextNode(text.replace(/:([a-z0-9_+-]+):/g, (all, name) => emoji(name)))];
}

export function textObject(object) {
  if (!object) return [];
  return object.type === 'mrkdwn' ? mrkdwn(object.text) : plain(object);
}
