// Logging: how the receiver is, and the events as they come in.

import { agents } from '../lib/agents.js';
import { get, now } from '../lib/api.js';
import { attr, button, byId, el, keyed, show, text, whenTyped } from '../lib/dom.js';
import { Events } from '../lib/events.js';
import { age, duration, line, number } from '../lib/format.js';
import { drawFacts, eventRow, healthWords, patchEventRow } from '../lib/parts.js';

const root = byId('logging');
/** Rows that stay on the page while new ones come. */
const MAX_ROWS = 600;
const PACE = 300;

const bits = {};
let events = null;
let visible = false;
let paused = false;
let seen = 0;
let timer = 0;
const types = new Set();

/** What the state of the hooks means. */
const HEALTH_NOTES = { active: 'Claude Code reports by itself', quiet: 'no agent works, so nothing is reported', silent: 'an agent works, but its hooks do not report', none_yet: 'no hook has reported' };

/** Whether our hooks are in the settings. Where they are not and events come all the same, they come by other means. */
const hooksNote = ({ hooks, hooks_missing: missing }) => (!hooks ? '' : hooks === 'installed' || missing ? `hooks ${hooks.replaceAll('_', ' ')}` : 'events come without hooks in the settings');

/** `/hook/status` as tiles. */
const TILES = [
  (s) => ({ name: 'Receiver', text: s.enabled ? 'enabled' : 'disabled', tone: s.enabled ? 'good' : 'bad', note: hooksNote(s) }),
  (s) => ({ name: 'Mode', text: healthWords(s.health), tone: { active: 'good', missing: 'bad', disabled: 'bad' }[s.health.kind], note: HEALTH_NOTES[s.health.kind] }),
  (s) => (s.last_event_at ? { name: 'Last event', tick: Date.parse(s.last_event_at), tail: ' ago', note: s.last_event_type } : { name: 'Last event', text: 'none yet', note: 'no hook has reported' }),
  (s) => ({ name: 'Polling', text: `every ${s.polling_interval} s`, note: s.config && `${s.config.polling_interval_with_hooks} s with hooks, ${s.config.polling_interval_fallback} s without` }),
  (s) => ({ name: 'Events received', text: number(s.events_received ?? 0), tone: s.dropped ? 'bad' : null, note: s.dropped ? `${number(s.dropped)} dropped` : 'none dropped' }),
  (s) => ({ name: 'Spool', text: s.spool_pending ? `${number(s.spool_pending)} pending` : 'empty', note: 'kept while the server was away' }),
  (s) => ({ name: 'Rate limits', text: s.limits?.length ? s.limits.map(({ label, percent }) => `${label} ${Math.round(percent)} %`).join(' · ') : 'not known', note: s.limits?.length ? s.limits.filter(({ resets_at: at }) => at).map(({ label, resets_at: at }) => `${label} starts over in ${age(Date.parse(at) - now())}`).join(', ') : 'the status line tells them' }),
  (s) => {
    const cost = costOf(s);
    return { name: 'Hook cost', text: cost ? `${duration(cost.p50)} p50` : 'none yet', note: cost ? `${duration(cost.p99)} p99` : 'p50 and p99 of notify' };
  },
];

/** p50 and p99 of what a hook call costs Claude Code, if the server has measured it. */
export const costOf = (status) => (typeof status.notify_ms?.p50 === 'number' ? status.notify_ms : null);

export function start() {
  bits.tiles = el('dl.tiles');
  bits.find = el('input', { type: 'search', placeholder: 'Text', 'aria-label': 'Text in the event', spellcheck: 'false' });
  bits.type = el('select', { 'aria-label': 'Type' }, el('option', { value: '' }, 'all types'));
  bits.agent = el('select', { 'aria-label': 'Agent' }, el('option', { value: '' }, 'all agents'));
  bits.pause = button('button', null, 'Pause', togglePause, { 'aria-pressed': 'false' });
  bits.fault = el('p.fault', { hidden: true, role: 'status' });
  bits.rows = el('ol.log', { 'aria-label': 'Events, newest first' });
  bits.none = el('p.nothing', { hidden: true }, 'No event matches.');
  bits.older = button('button', null, 'Earlier events', () => events.older(), { hidden: true });
  for (const field of [bits.type, bits.agent]) field.addEventListener('change', restart);
  whenTyped(bits.find, restart);
  const tools = el('div.tools', null, el('label.search', null, bits.find), bits.type, bits.agent, bits.pause);
  root.append(el('h1.sr', null, 'Logging'), bits.tiles, el('div.bar', null, el('h2', null, 'Event log'), tools), bits.fault, bits.rows, bits.none, bits.older);
}

export const patchStatus = (status) => drawFacts(bits.tiles, TILES.map((tile) => tile(status)));

/** The view is shown: load it, and keep it current from now on. */
export function enter() {
  visible = true;
  const known = new Set([...bits.agent.options].map((option) => option.value));
  const fresh = [...agents.values()].filter((agent) => !known.has(String(agent.id))).sort((a, b) => a.summary.title.localeCompare(b.summary.title));
  bits.agent.append(...fresh.map((agent) => el('option', { value: agent.id }, line(agent.summary.title, 60))));
  loadTypes();
  restart();
}

export function leave() {
  visible = false;
}

/** Something happened: look for new events soon. */
export function nudge() {
  if (!visible || timer) return;
  timer = setTimeout(() => {
    timer = 0;
    events.news();
  }, PACE);
}

function restart() {
  seen = 0;
  const mine = (events = new Events('/api/events', { agent: bits.agent.value, type: bits.type.value, q: bits.find.value.trim() }, () => mine === events && heard()));
  events.news();
}

function heard() {
  show(bits.fault, Boolean(events.fault));
  text(bits.fault, events.fault && `Could not read the log: ${line(events.fault, 200)}`);
  const news = events.newest - seen;
  if (paused && seen) return text(bits.pause.word, news ? `Resume (${number(news)} new)` : 'Resume');
  seen = events.newest;
  events.keep(Math.max(MAX_ROWS, bits.rows.childElementCount + 200));
  draw();
}

function togglePause() {
  paused = !paused;
  attr(bits.pause, 'aria-pressed', paused);
  text(bits.pause.word, paused ? 'Resume' : 'Pause');
  if (!paused) heard();
}

function draw() {
  const rows = events.list();
  keyed(bits.rows, rows, (event) => event.id, eventRow, patchEventRow);
  show(bits.none, !rows.length);
  show(bits.older, events.more && rows.length > 0);
  addTypes(rows.map(({ name }) => name));
}

/** All types that are stored, not only those of the rows on the page. */
async function loadTypes() {
  const { names } = await get('/api/events/names').catch(() => ({ names: [] }));
  addTypes(names);
}

function addTypes(names) {
  const before = types.size;
  for (const name of names) types.add(name);
  if (types.size === before) return;
  const chosen = bits.type.value;
  bits.type.replaceChildren(bits.type.options[0], ...[...types].sort().map((name) => el('option', { value: name }, line(name, 50))));
  bits.type.value = chosen;
}
