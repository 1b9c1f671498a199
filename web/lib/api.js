// Requests to the server, and the difference between its clock and ours.

/** How far the server's clock is ahead of ours, in ms. Ages follow the server's clock, because it set the time stamps. */
let skew = 0;

export const now = () => Date.now() + skew;

function learnTime(response) {
  const served = Date.parse(response.headers.get('date') ?? '');
  // The header has whole seconds, so a small difference means nothing.
  if (served) skew = Math.abs(served - Date.now()) > 3000 ? served - Date.now() : 0;
}

async function answer(response) {
  learnTime(response);
  const body = await response.json().catch(() => null);
  if (!response.ok || body?.status === 'error') throw Object.assign(new Error(body?.message ?? `the server answered ${response.status}`), { status: response.status, body });
  return body;
}

export async function get(path, params) {
  const query = new URLSearchParams(Object.entries(params ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== ''));
  return answer(await fetch(query.size ? `${path}?${query}` : path, { headers: { accept: 'application/json' }, cache: 'no-store' }));
}

export async function post(path, body = {}) {
  return answer(await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }));
}
