// How the page gets your attention: title, favicon, a line for screen readers, browser notifications.

import { agents, counts, foldOf } from './agents.js';
import { attr, byId, remember, remembered, text } from './dom.js';
import { line } from './format.js';

const say = byId('say');
const bell = byId('bell');
const favicon = byId('favicon');
/** Some questions are closed by the client within milliseconds: only one that stays open this long is announced. */
const ASK_STAYS_FOR = 1000;
let wanted = remembered('notify') === 'on';
let drawn = null;
/** Agents that were announced, until they no longer need you. */
const called = new Map();

export function start(openAgent) {
  bell.addEventListener('click', async () => {
    if (!('Notification' in window)) return announce('This browser has no notifications');
    wanted = !wanted;
    if (wanted && Notification.permission === 'default') await Notification.requestPermission();
    if (wanted && Notification.permission !== 'granted') {
      wanted = false;
      announce('The browser does not allow notifications for this page');
    }
    remember('notify', wanted ? 'on' : 'off');
    patchBell();
    switched();
  });
  patchBell();
  start.open = openAgent;
}

let switched = () => {};

/** `listener()` is called when notifications were switched on or off. */
export function onSwitch(listener) {
  switched = listener;
}

export const notifies = () => on();

const on = () => wanted && 'Notification' in window && Notification.permission === 'granted';

function patchBell() {
  const blocked = 'Notification' in window && Notification.permission === 'denied';
  attr(bell, 'aria-pressed', on());
  attr(bell, 'title', `Browser notifications: ${on() ? 'on' : blocked ? 'blocked by the browser' : 'off'}`);
}

/** `quiet`: for the first list, where nothing is news. */
export function update(quiet) {
  const n = counts().get('needs_you') ?? 0;
  text(document.querySelector('title'), n ? `(${n}) headspace` : 'headspace');
  drawFavicon(n);
  for (const agent of agents.values()) {
    const needs = agent.group === 'needs_you' && !foldOf(agent);
    if (needs && !called.has(agent.id)) called.set(agent.id, quiet ? 0 : setTimeout(call, ASK_STAYS_FOR, agent.id));
    else if (!needs && called.has(agent.id)) {
      clearTimeout(called.get(agent.id));
      called.delete(agent.id);
    }
  }
}

function call(id) {
  const agent = agents.get(id);
  if (!agent || agent.group !== 'needs_you') return;
  announce(`${line(agent.summary.title, 80)} needs you: ${line(agent.summary.about, 240)}`);
  if (!on() || document.hasFocus()) return;
  const note = new Notification(`${line(agent.summary.title, 80)} needs you`, { body: line(agent.summary.about, 240), tag: `headspace-${id}` });
  note.onclick = () => {
    focus();
    start.open(id);
    note.close();
  };
}

/** For screen readers only. */
export function announce(message) {
  say.textContent = message;
}

function drawFavicon(n) {
  if (drawn === n) return;
  drawn = n;
  const mark = n
    ? `<circle cx="16" cy="16" r="15" fill="#f5b02e"/><text x="16" y="22.5" font-family="system-ui,sans-serif" font-size="${n > 9 ? 16 : 19}" font-weight="700" text-anchor="middle" fill="#1d1300">${n > 99 ? '99' : n}</text>`
    : `<circle cx="16" cy="16" r="11" fill="none" stroke="#7d8796" stroke-width="4"/>`;
  favicon.href = `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${mark}</svg>`)}`;
}
