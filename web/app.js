// The page's table of contents: routes, the stream, ticking ages, the keyboard.

import * as agentsOf from './lib/agents.js';
import { get, now } from './lib/api.js';
import * as detail from './views/detail.js';
import { attr, byId, show, text } from './lib/dom.js';
import * as empty from './views/empty.js';
import { age, duration } from './lib/format.js';
import * as history from './views/history.js';
import * as list from './views/list.js';
import * as log from './views/log.js';
import { healthWords, tickAll } from './lib/parts.js';
import * as signal from './lib/signal.js';
import { openStream } from './lib/stream.js';

const { agents } = agentsOf;
const WIDE = matchMedia('(min-width: 1000px)');

let view = null;
let hookStatus = null;
let line = 'connecting';
let loaded = false;
/** Agents that the stream reported while the whole list was being fetched: the stream is newer. */
let told = null;
let stream = null;

// ---- what comes in

const hearing = {
  on(type, data) {
    if (type === 'agent_updated') {
      told?.add(data.id);
      agentsOf.put(data);
    } else if (type === 'hook_status') patchHooks(data);
    log.nudge();
  },
  opened() {
    loadAgents();
    detail.refresh();
    log.nudge();
  },
  state(word, retryIn) {
    line = word;
    patchLine(retryIn);
  },
};

async function loadAgents() {
  const mine = (told = new Set());
  const answers = await Promise.all([get('/api/agents', { all: 1 }), get('/hook/status')]).catch(() => null);
  if (told !== mine) return;
  told = null;
  // The connection is down or the server is busy: the next opening of the stream asks again, or we do.
  if (!answers) return void (line === 'live' && setTimeout(loadAgents, 1500));
  const [{ agents: all, groups }, status] = answers;
  agentsOf.setGroups(groups);
  const first = !loaded;
  loaded = true;
  agentsOf.replaceAll(all, mine);
  patchHooks(status);
  if (first) firstLook();
}

/** On a wide page the most urgent agent is open from the start. Nobody chose it, so it is not marked as seen. */
function firstLook() {
  list.render();
  signal.update(true);
  ENTER[view]();
  if (detail.openId() !== null) return detail.looked(detail.openId());
  if (view !== 'agents' || !WIDE.matches || !list.order.length) return;
  detail.open(list.order[0], closeDetail);
  list.select(list.order[0]);
}

agentsOf.onChange((ids) => {
  list.update(ids);
  detail.update(ids);
  signal.update(false);
  patchEmpty();
});

// ---- header

function patchHooks(status) {
  hookStatus = status;
  log.patchStatus(status);
  patchHealth();
  patchEmpty();
}

function patchHealth() {
  if (!hookStatus) return;
  const parts = [healthWords(hookStatus.health)];
  if (hookStatus.last_event_at && !hookStatus.health.since) parts.push(`last event ${age(now() - Date.parse(hookStatus.last_event_at))} ago`);
  const cost = log.costOf(hookStatus);
  if (cost) parts.push(`${duration(cost.p50)} p50`);
  text(byId('hooks'), parts.join(' · '));
}

function patchLine(retryIn) {
  const node = byId('link');
  attr(node, 'data-state', line);
  text(node.lastElementChild, line === 'gone' ? 'server gone' : line);
  attr(node, 'title', line === 'live' ? 'Changes arrive as they happen' : `What you see may be old${retryIn ? `; next try in ${duration(retryIn)}` : ''}`);
  show(byId('gone'), line === 'gone');
  patchEmpty();
}

function patchEmpty() {
  const none = loaded && agents.size === 0;
  empty.update({ live: line === 'live', events: hookStatus?.events_received ?? 0, hooks: hookStatus?.hooks, agents: agents.size }, none && view === 'agents');
  show(document.querySelector('#agents .panes'), !none);
  show(document.querySelector('#agents .bar'), !none);
}

// ---- routes: #/agents, #/agents/ID, #/logging, #/history

const ENTER = { agents: list.render, logging: log.enter, history: history.enter };
const VIEWS = Object.keys(ENTER);

function route() {
  const [, wanted, id] = location.hash.split('/');
  const next = VIEWS.includes(wanted) ? wanted : 'agents';
  if (next !== view) {
    if (view === 'logging') log.leave();
    view = next;
    for (const name of VIEWS) show(byId(name), name === view);
    for (const tab of document.querySelectorAll('.tabs a')) attr(tab, 'aria-current', tab.dataset.view === view ? 'page' : null);
    ENTER[view]();
    patchEmpty();
  }
  if (view !== 'agents') return;
  if (/^\d+$/.test(id ?? '')) {
    detail.open(Number(id), closeDetail);
    detail.looked(Number(id));
    list.select(Number(id));
    list.rowOf(id)?.scrollIntoView({ block: 'nearest' });
    if (!WIDE.matches) byId('detail').focus();
  } else if (detail.openId() !== null && wanted) {
    detail.close();
    list.select(null);
  }
  attr(document.body, 'data-detail', detail.openId() !== null && id ? '1' : null);
}

const openAgent = (id) => {
  location.hash = `#/agents/${id}`;
};

function closeDetail() {
  const id = detail.openId();
  detail.close();
  list.select(null);
  if (location.hash !== '#/agents') location.hash = '#/agents';
  list.rowOf(id)?.focus({ preventScroll: true });
}

// ---- keyboard

function step(by) {
  const rows = list.order;
  if (!rows.length) return;
  const here = Number(document.activeElement?.closest?.('.agent')?.dataset.id) || detail.openId();
  const at = rows.indexOf(here);
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by))];
  const row = list.rowOf(next);
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: 'nearest' });
  // Beside an open agent, stepping through the list opens each; otherwise Enter does.
  if (detail.openId() !== null && WIDE.matches) openAgent(next);
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n() {
    const next = agentsOf.longestWaiting();
    if (!next) return signal.announce('Nobody needs you');
    openAgent(next.id);
    list.rowOf(next.id)?.focus({ preventScroll: true });
  },
  g: () => detail.jump(),
  '/'() {
    if (view !== 'agents') {
      location.hash = '#/agents';
      route();
    }
    // At once: what follows is typed into it.
    byId('find').focus();
  },
  '?': () => byId('help').showModal(),
  1: () => (location.hash = '#/agents'),
  2: () => (location.hash = '#/logging'),
  3: () => (location.hash = '#/history'),
  Escape() {
    if (detail.openId() !== null) closeDetail();
    else if (list.filtered()) list.clearFilters();
  },
};
/** Keys that work only in the list. */
const LIST_KEYS = new Set(['j', 'k', 'n', 'g']);

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
  const field = event.target.closest?.('input, textarea, select');
  if (field) {
    if (event.key === 'Escape') {
      if (field === byId('find')) list.clearFilters();
      field.blur();
    } else if (event.key === 'Enter' && field === byId('find') && list.order.length) list.rowOf(list.order[0]).focus();
    return;
  }
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
  if (!act || (LIST_KEYS.has(event.key) && view !== 'agents')) return;
  event.preventDefault();
  act();
});

// ---- ticking ages

setInterval(() => {
  if (document.hidden) return;
  tickAll();
  patchHealth();
  if (hookStatus && view === 'logging') log.patchStatus(hookStatus);
}, 1000);

// ---- start

list.start();
log.start();
history.start();
signal.start(openAgent);
signal.update(true);
byId('help-open').addEventListener('click', KEYS['?']);
byId('retry').addEventListener('click', () => stream.retryNow());
addEventListener('hashchange', route);
route();
stream = openStream(hearing);
