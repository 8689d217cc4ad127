// Talks to the workspace: one stream of states, and acts in a person's name.

export async function act(what, body) {
  try {
    const resp = await fetch(`/dev/${what}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
    });
    if (!resp.ok) return { ok: false, error: `the workspace answered ${resp.status}`, kind: 'gone' };
    return await resp.json();
  } catch {
    return { ok: false, error: 'the workspace is not running', kind: 'gone' };
  }
}

export async function detail(id) {
  const resp = await fetch(`/dev/detail?id=${encodeURIComponent(id)}`);
  return resp.text();
}

let source = null;

// follow streams the state of one person's page until it is called again.
export function follow(user, onState, onConnection) {
  if (source) source.close();
  source = new EventSource(`/dev/stream?user=${encodeURIComponent(user)}`);
  source.onmessage = (ev) => { onConnection(true); onState(JSON.parse(ev.data)); };
  source.onerror = () => onConnection(false);
}
