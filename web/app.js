// The page's table of contents: routes, the stream, ticking ages, the keyboard.

import * as agentsOf from './lib/agents.js';
import { refreshAnswering } from './lib/answer.js';
import { get, now } from './lib/api.js';
import { answerByKey } from './views/ask.js';
import * as detail from './views/detail.js';
import { lockNow, startLock } from './views/dialogs.js';
import { attr, byId, show, text } from './lib/dom.js';
import * as empty from './views/empty.js';
import { age, duration } from './lib/format.js';
import * as history from './views/history.js';
import * as list from './views/list.js';
import * as log from './views/log.js';
import { drawLimits, healthWords, tickAll } from './lib/parts.js';
import * as signal from './lib/signal.js';
import { watchStream } from './lib/stream.js';
import { startTheme } from './lib/theme.js';

const { agents } = agentsOf;
const WIDE = matchMedia('(min-width: 1000px)');

let view = null;
let hookStatus = null;
let line = 'connecting';
/** What a server that does not open the stream says about it, with the status of that answer. */
let refusal = null;
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
      if (data.interactions.length) soonAnswering();
    } else if (type === 'agent_removed') agentsOf.remove(data.id);
    else if (type === 'hook_status') patchHooks(data);
    else if (type === 'answer') askAnswering();
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
    if (word === 'reconnecting' || word === 'gone') askWhy();
  },
};

/** A stream that does not open never says why: a server that is there and refuses does, in its answer to anything else. */
async function askWhy() {
  refusal = await get('/hook/status').then(
    () => null,
    ({ status, message }) => (status ? { status, message } : null),
  );
  patchLine();
}

/** Who asks may be answered from here: is this browser still unlocked? A burst of changes asks once. */
let answeringDue = 0;

function soonAnswering() {
  answeringDue ||= setTimeout(() => {
    answeringDue = 0;
    askAnswering();
  }, 300);
}

/** A hub takes no answers; and before we know whether this is one, the first list is still to come, and asks then. */
function askAnswering() {
  if (hookStatus && !hookStatus.hub) refreshAnswering();
}

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
  if (first) patchLine();
  agentsOf.replaceAll(all, mine);
  patchHooks(status);
  askAnswering();
  if (first) firstLook();
}

/** On a wide page the most urgent agent is open from the start. The user did not choose it, so it is not marked as seen. */
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
  // What only a machine's own server has is not offered on a hub.
  attr(document.body, 'data-hub', status.hub ? '1' : null);
  if (status.hub) {
    text(byId('gone').querySelector('b'), 'The hub is gone.');
    text(byId('gone').querySelector('span'), 'What you see is the last known state. This page reconnects by itself.');
  }
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
  drawLimits(byId('limits'), hookStatus.limits ?? []);
}

function patchLine(retryIn) {
  const node = byId('link');
  // An open connection is worth nothing before the first list has come.
  const shown = line === 'live' && !loaded ? 'connecting' : line;
  attr(node, 'data-state', shown);
  const refused = line === 'live' || line === 'connecting' ? null : refusal;
  text(node.lastElementChild, refused ? (refused.status < 500 ? 'refused' : 'not up to date') : shown === 'gone' ? `${hookStatus?.hub ? 'hub' : 'server'} gone` : shown);
  attr(node, 'title', shown === 'live' ? 'Changes arrive as they happen' : `What you see may be old${retryIn ? `; next try in ${duration(retryIn)}` : ''}`);
  show(byId('gone'), line === 'gone' && !refused);
  show(byId('refused'), Boolean(refused));
  if (refused) {
    text(byId('refused').firstElementChild, refused.status < 500 ? 'This browser may not see the board.' : 'The board is not up to date.');
    text(byId('refused').lastElementChild, refused.message);
  }
  patchEmpty();
}

function patchEmpty() {
  const none = loaded && agents.size === 0;
  empty.update({ live: line === 'live', events: hookStatus?.events_received ?? 0, hooks: hookStatus?.hooks, agents: agents.size }, none && view === 'agents');
  show(document.querySelector('#agents .panes'), !none);
  show(document.querySelector('#agents .bar'), !none);
}

// ---- routes: #/agents, #/agents/ID, #/agents/ID/turn/ID, #/logging, #/history, #/history?q=…

const ENTER = { agents: list.render, logging: log.enter, history: history.enter };
const VIEWS = Object.keys(ENTER);

function route() {
  const [path] = location.hash.split('?');
  const [, wanted] = path.split('/');
  // An agent of this machine has a number, one of another machine that machine's name before it.
  const [, id, turn] = /^#\/agents\/((?:[\w.@-]+\/)?\d+)(?:\/turn\/(\d+))?$/.exec(decodeURI(path)) ?? [];
  const next = VIEWS.includes(wanted) && !(wanted === 'history' && hookStatus?.hub) ? wanted : 'agents';
  if (next !== view) {
    if (view === 'logging') log.leave();
    view = next;
    for (const name of VIEWS) show(byId(name), name === view);
    for (const tab of document.querySelectorAll('.tabs a')) attr(tab, 'aria-current', tab.dataset.view === view ? 'page' : null);
    ENTER[view]();
    patchEmpty();
  }
  if (view !== 'agents') return;
  if (id) {
    detail.open(agentsOf.idOf(id), closeDetail, turn ? Number(turn) : null);
    detail.looked(agentsOf.idOf(id));
    list.select(agentsOf.idOf(id));
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
  const row = document.activeElement?.closest?.('.agent');
  const here = row ? agentsOf.idOf(row.dataset.id) : detail.openId();
  const at = rows.indexOf(here);
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by))];
  const goal = list.rowOf(next);
  goal.focus({ preventScroll: true });
  goal.scrollIntoView({ block: 'nearest' });
  // Beside an open agent, stepping through the list opens each; otherwise Enter does.
  if (detail.openId() !== null && WIDE.matches) openAgent(next);
}

/** Where `n` went last. */
let lastNext = null;

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n() {
    // Pressed again, it goes on to the one after, round and round.
    const waiting = agentsOf.waiting();
    const next = waiting[(waiting.findIndex(({ id }) => id === lastNext) + 1) % waiting.length];
    if (!next) return signal.announce('No agent needs you');
    lastNext = next.id;
    openAgent(next.id);
    list.rowOf(next.id)?.focus({ preventScroll: true });
  },
  g: () => detail.jump(),
  a: () => answerByKey(detail.cards(), 'allow') || signal.announce('Nothing to allow here'),
  d: () => answerByKey(detail.cards(), 'deny') || signal.announce('Nothing to deny here'),
  L: () => lockNow(),
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
const LIST_KEYS = new Set(['j', 'k', 'n', 'g', 'a', 'd']);

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat && 'ad'.includes(event.key) || document.querySelector('dialog[open]')) return;
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
startTheme(byId('theme'));
startLock(detail.relock);
byId('help-open').addEventListener('click', KEYS['?']);
byId('retry').addEventListener('click', () => stream.retryNow());
addEventListener('hashchange', route);
// Where it is allowed (https, localhost) it answers for a server that is away.
navigator.serviceWorker?.register('/service-worker.js').catch(() => {});
route();
// A hidden page needs the stream only to notify.
stream = watchStream(hearing, signal.notifies);
signal.onSwitch(stream.settle);
