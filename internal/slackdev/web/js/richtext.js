// rich_text blocks: a tree of elements; their texts are never parsed.

import { h, link } from './dom.js';
import { channelName, groupName } from './names.js';
import { broadcast, dateNode, userMention } from './mrkdwn.js';
import { emoji } from './emoji.js';

function styled(node, style) {
  if (!style) return node;
  for (const [flag, tag] of [['code', 'code'], ['strike', 'del'], ['italic', 'em'], ['bold', 'strong'], ['underline', 'u'], ['highlight', 'mark']]) {
    if (style[flag]) node = h(tag, {}, node);
  }
  return node;
}

function element(el) {
  switch (el.type) {
    case 'text': return h('span', {}, el.text);
    case 'link': return link(el.url, el.text);
    case 'user': return userMention(el.user_id);
    case 'channel': return h('span', { class: 'mention' }, `#${channelName(el.channel_id)}`);
    case 'usergroup': return h('span', { class: 'mention' }, `@${groupName(el.usergroup_id)}`);
    case 'broadcast': return broadcast(el.range);
    case 'emoji': return document.createTextNode(emoji(el.name));
    case 'date': return dateNode(el.timestamp, el.format, el.url, el.fallback || '');
    case 'color': return h('code', {}, el.value);
    default: return h('span', { class: 'unsupported' }, `[${el.type}]`);
  }
}

const run = (elements) => (elements || []).map((el) => styled(element(el), el.style));

function list(el) {
  const tag = el.style === 'ordered' ? 'ol' : 'ul';
  const props = { class: `rt-list indent-${el.indent || 0}` };
  if (tag === 'ol' && el.offset) props.start = el.offset + 1;
  return h(tag, props, (el.elements || []).map((item) => h('li', {}, run(item.elements))));
}

export function richText(block) {
  return h('div', { class: 'rich-text' }, (block.elements || []).map((el) => {
    switch (el.type) {
      case 'rich_text_section': return h('div', { class: 'rt-section' }, run(el.elements));
      case 'rich_text_preformatted': return h('pre', { tabindex: 0 }, run(el.elements));
      case 'rich_text_quote': return h('blockquote', {}, run(el.elements));
      case 'rich_text_list': return list(el);
      default: return h('div', { class: 'unsupported' }, `[${el.type}]`);
    }
  }));
}
