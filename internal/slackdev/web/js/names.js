// Looks up people, channels and groups in the current state.

let state = { users: [], channels: [], groups: [], app: { name: 'app', user: '' } };

export function setNames(s) { state = s; }

export function person(id) {
  if (id === state.app.user) return { id, name: state.app.name, real: state.app.name, badge: 'app', bot: true };
  return state.users.find((u) => u.id === id) || { id, name: id, real: id, badge: '' };
}

export function channelName(id) {
  const c = state.channels.find((x) => x.id === id);
  return c ? c.name : id;
}

export function groupName(id) {
  const g = state.groups.find((x) => x.id === id);
  return g ? g.handle : id;
}

export function me() { return state.me; }

export function initials(name) {
  const parts = name.split(/[\s._-]+/).filter(Boolean);
  return (parts.length > 1 ? parts[0][0] + parts[1][0] : name.slice(0, 2)).toUpperCase();
}

// hue gives everybody a colour of their own.
export function hue(id) {
  let n = 7;
  for (const c of id) n = (n * 31 + c.charCodeAt(0)) % 360;
  return Math.round(n / 24) * 24;
}
