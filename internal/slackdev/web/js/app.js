// Ties the panes together.

import { follow } from './api.js';
import { Activity } from './activity.js';
import { Main } from './main.js';
import { Sidebar } from './sidebar.js';
import { Thread } from './thread.js';
import { setNames } from './names.js';
import { updateModal } from './modal.js';
import { toast } from './dom.js';

const $ = (id) => document.getElementById(id);
const seen = JSON.parse(sessionStorage.getItem('seen') || '{}'); // user -> channel -> newest ts seen

let state = null;
let user = new URLSearchParams(location.search).get('user') || sessionStorage.getItem('user') || '';
let channel = sessionStorage.getItem('channel') || '';
let thread = null;
let watch = null; // the newest message of mine whose first reply opens its thread
let connected = true;

const main = new Main($('main'), { openThread, redraw });
const pane = new Thread($('thread'), { close: () => { thread = null; redraw(); } });
const activity = new Activity($('activity'));
const sidebar = new Sidebar($('sidebar'), {
  user: switchTo,
  open: (id) => { channel = id; thread = null; watch = null; sessionStorage.setItem('channel', id); redraw(); main.composer.input.focus(); },
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

function openThread(channelID, ts) {
  channel = channelID;
  thread = { channel: channelID, ts };
  redraw();
  pane.composer.input.focus();
}

function switchTo(id) {
  user = id;
  watch = null;
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
  state = next;
  user = state.me;
  if (!state.channels.some((c) => c.id === channel)) {
    channel = (state.channels.find((c) => c.kind !== 'im' && c.bot) || state.channels[0])?.id || '';
  }
  if (first) document.title = `${state.app.name} – ${state.team.name}`;
  followOwnThread();
  redraw();
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
}

function unread() {
  const out = new Map();
  const mine = (seen[state.me] ||= {});
  for (const c of state.channels) {
    const last = [...c.messages, ...c.ephemeral].map((m) => m.ts).sort().at(-1) || '0';
    if (c.id === channel || mine[c.id] === undefined) mine[c.id] = last;
    const n = [...c.messages, ...c.ephemeral].filter((m) => m.ts > mine[c.id] && m.user !== state.me).length;
    if (n) out.set(c.id, n);
  }
  sessionStorage.setItem('seen', JSON.stringify(seen));
  return out;
}

function redraw() {
  if (!state) return;
  setNames(state);
  document.body.dataset.me = state.me;
  document.body.dataset.version = state.version;
  sidebar.update(state, channel, unread());
  main.update(state, channel);
  pane.update(state, thread);
  activity.update(state);
  updateModal(state);
}

const theme = new URLSearchParams(location.search).get('theme') || localStorage.getItem('theme');
if (theme) document.documentElement.dataset.theme = theme;
document.addEventListener('click', (ev) => {
  for (const open of document.querySelectorAll('details.overflow[open]')) {
    if (!open.contains(ev.target)) open.open = false;
  }
});
$('activity').addEventListener('click', () => state && activity.update(state));
follow(user, arrive, online);
