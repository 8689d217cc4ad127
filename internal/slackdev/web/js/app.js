// Ties the panes together.

import { act, follow } from './api.js';
import { Activity } from './activity.js';
import { Main } from './main.js';
import { Sidebar } from './sidebar.js';
import { Thread } from './thread.js';
import { setNames } from './names.js';
import { updateModal } from './modal.js';
import { toast } from './dom.js';
import { back as focusBack } from './focus.js';
import { afterPress } from './press.js';

const $ = (id) => document.getElementById(id);
const narrow = matchMedia('(max-width: 760px)');

let state = null;
let user = new URLSearchParams(location.search).get('user') || sessionStorage.getItem('user') || '';
let channel = sessionStorage.getItem('channel') || '';
let view = 'channel'; // or notifications
let pane = 'main'; // of one pane at a time: list, main or thread
let thread = null;
let watch = null; // the newest message of mine whose first reply opens its thread
let switching = false; // somebody else's state is on its way
let connected = true;

const hooks = { openThread, redraw, back, user: switchTo, openNotification, close: closeThread };
const main = new Main($('main'), hooks);
const side = new Thread($('thread'), hooks);
const activity = new Activity($('activity'));
const sidebar = new Sidebar($('sidebar'), {
  user: switchTo, open: openChannel, activity: () => { view = 'notifications'; pane = 'main'; redraw(); },
  theme: () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    setTheme(dark ? 'light' : 'dark');
  },
});

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('theme', theme);
}

function openChannel(id) {
  channel = id;
  view = 'channel';
  pane = 'main';
  thread = null;
  watch = null;
  sessionStorage.setItem('channel', id);
  redraw();
  if (!narrow.matches) main.composer.input.focus(); // a touch keyboard would cover what is to be read
}

function openThread(channelID, ts) {
  channel = channelID;
  thread = { channel: channelID, ts };
  pane = 'thread';
  redraw();
  if (!narrow.matches) side.composer.input.focus();
}

function closeThread() {
  const ts = thread?.ts;
  thread = null;
  pane = 'main';
  redraw();
  if (ts) focusBack({ el: document.body, selectors: [`#main [data-open-thread="${ts}"]`, `#main [data-ts="${ts}"]`] });
}

// back leaves a pane for the one before it, where one is shown at a time.
function back() {
  if (pane === 'thread') { closeThread(); return; }
  pane = 'list';
  redraw();
  $('sidebar').querySelector('[aria-current]')?.focus();
}

function openNotification(n) {
  view = 'channel';
  channel = n.channel;
  if (n.thread) openThread(n.channel, n.thread);
  else openChannel(n.channel);
  (n.thread ? side : main).list.show(n.ts);
}

function switchTo(id) {
  user = id;
  watch = null;
  switching = true;
  sessionStorage.setItem('user', id);
  follow(id, arrive, online);
}

function online(yes) {
  if (connected === yes) return;
  connected = yes;
  document.body.classList.toggle('offline', !yes);
  if (!yes) toast('The connection to the workspace is lost.', 'bad');
}

function arrive(next) {
  const first = !state;
  if (state && state.instance !== next.instance) { sessionStorage.clear(); location.reload(); return; }
  state = next;
  user = state.me;
  if (!state.channels.some((c) => c.id === channel)) {
    channel = (state.channels.find((c) => c.kind !== 'im' && c.bot) || state.channels[0])?.id || '';
  }
  if (first) document.title = `${state.app.name} – ${state.team.name}`;
  if (switching) arrived();
  switching = false;
  followOwnThread();
  afterPress(redraw);
}

// arrived shows somebody what they were called to, unless that is before them already.
function arrived() {
  const news = state.notifications.filter((n) => n.unread && n.kind !== 'reply');
  const before = (n) => n.channel === (n.thread ? thread?.channel : channel) && n.thread === (n.thread ? thread?.ts : '') && (n.thread || view === 'channel');
  if (news.length && !news.some(before)) { view = 'notifications'; if (pane === 'thread') pane = 'main'; }
  else if (!news.length && view === 'notifications') view = 'channel';
}

// followOwnThread opens the thread of what I just wrote when it is answered.
function followOwnThread() {
  const current = state.channels.find((c) => c.id === channel);
  const mine = current?.messages.filter((m) => m.user === state.me && (!m.thread || m.thread === m.ts)).at(-1);
  if (watch === null) { watch = mine?.ts || ''; return; }
  if (!mine || mine.ts === watch) return;
  if (!current.messages.some((m) => m.thread === mine.ts && m.ts !== mine.ts)) return;
  watch = mine.ts;
  thread = { channel, ts: mine.ts };
  if (pane === 'main') pane = 'thread';
}

// seen tells the workspace how far somebody has read: what the page shows, where it shows it.
function seen(threadShown) {
  if (document.visibilityState !== 'visible') return;
  const current = state.channels.find((c) => c.id === channel);
  const mainShown = view === 'channel' && main.tab === 'messages' && (!narrow.matches || pane === 'main');
  if (current && mainShown) read(current, '', (m) => !m.thread || m.thread === m.ts || m.broadcast);
  if (threadShown && (!narrow.matches || pane === 'thread')) {
    const c = state.channels.find((x) => x.id === thread.channel);
    read(c, thread.ts, (m) => m.thread === thread.ts);
  }
}

const told = new Map();

function read(c, threadTS, shown) {
  const newest = c.messages.filter(shown).at(-1)?.ts;
  const key = `${state.me}/${c.id}/${threadTS}`;
  if (!newest || told.get(key) >= newest) return;
  told.set(key, newest);
  act('read', { User: state.me, Channel: c.id, Thread: threadTS, TS: newest });
}

function redraw() {
  if (!state) return;
  setNames(state);
  document.body.dataset.me = state.me;
  document.body.dataset.version = state.version;
  if (pane === 'thread' && !thread) pane = 'main';
  document.body.dataset.pane = pane;
  sidebar.update(state, channel, view);
  main.update(state, channel, view);
  const threadShown = side.update(state, thread, main.tries.then);
  if (!threadShown && pane === 'thread') { pane = 'main'; document.body.dataset.pane = pane; }
  activity.update(state);
  updateModal(state);
  seen(threadShown);
}

// F6 goes from pane to pane, as in Slack.
function nextPane(ev) {
  if (ev.key !== 'F6') return;
  ev.preventDefault();
  const stops = [['#sidebar', '[aria-current], button'], ['#main', '[data-composer], .tab, .home'], ['#thread', '.messages'], ['#activity', 'button']]
    .map(([p, inside]) => ({ p: document.querySelector(p), inside })).filter(({ p }) => p.checkVisibility());
  const now = stops.findIndex(({ p }) => p.contains(document.activeElement));
  const next = stops[(now + (ev.shiftKey ? stops.length - 1 : 1)) % stops.length];
  [...next.p.querySelectorAll(next.inside)].find((el) => el.checkVisibility())?.focus();
}

const theme = new URLSearchParams(location.search).get('theme') || localStorage.getItem('theme');
if (theme) document.documentElement.dataset.theme = theme;
document.addEventListener('keydown', nextPane);
document.addEventListener('visibilitychange', () => state && redraw());
narrow.addEventListener('change', () => redraw());
$('activity').addEventListener('click', () => state && activity.update(state));
follow(user, arrive, online);
