// History: conversations found by their words, what the days cost in waiting and in money, who waited longest, who ended.

import { agents } from '../lib/agents.js';
import { get, now } from '../lib/api.js';
import { button, byId, el, keyed, show, text, whenTyped } from '../lib/dom.js';
import { clock, dollars, duration, line, number, plural, tokens } from '../lib/format.js';
import { barChart } from './charts.js';

const root = byId('history');
const bits = {};
const KINDS = ['permission', 'question', 'plan', 'mcp', 'reply', 'dialog'];
/** What is on the page: the query it belongs to, its hits, and where to go on. */
let found = { key: '', hits: [], next: null };

export function start() {
  bits.find = el('input', { type: 'search', placeholder: 'Search what was said', 'aria-label': 'Search the conversations', spellcheck: 'false' });
  bits.project = el('select', { 'aria-label': 'Project' }, el('option', { value: '' }, 'all projects'));
  bits.from = el('input', { type: 'date', 'aria-label': 'From' });
  bits.to = el('input', { type: 'date', 'aria-label': 'To' });
  bits.summary = el('p.note', { role: 'status' });
  bits.rows = el('ol.hits', { 'aria-label': 'Found conversations' });
  bits.more = button('button', null, 'Earlier', () => load(true), { hidden: true });
  bits.charts = el('div.charts');
  bits.days = el('tbody');
  bits.waits = el('ol.waits-list');
  bits.spent = el('ul.spent');
  bits.ended = el('ul.ended');
  bits.none = el('p.note', { hidden: true }, 'No agent had to wait this week.');
  bits.noneEnded = el('p.note', { hidden: true }, 'No session has ended yet.');
  whenTyped(bits.find, changed);
  for (const field of [bits.project, bits.from, bits.to]) field.addEventListener('change', changed);
  const head = ['Day', 'Events', 'Commands', 'Agents waited for you', 'Longest wait', 'Cost', 'Tokens'].map((name) => el('th', { scope: 'col' }, name));
  const table = el('table.days', null, el('thead', null, el('tr', null, ...head)), bits.days);
  const part = (title, ...content) => el('section', null, el('h2', null, title), ...content);
  root.append(
    el('h1.sr', null, 'History'),
    el('div.filters', null, el('label.search.wide', null, bits.find), bits.project, el('label', null, el('span', null, 'from'), bits.from), el('label', null, el('span', null, 'to'), bits.to)),
    bits.summary, bits.rows, bits.more, bits.charts,
    el('div.columns', null,
      el('div', null, part('Longest waits of the week', bits.waits, bits.none), part('Day by day', el('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Day by day' }, table))),
      el('div', null, part('Spent in 30 days', bits.spent), part('Ended', bits.ended, bits.noneEnded))));
}

/** The filters are in the address: it can be kept, sent, and gone back to. */
const FIELDS = ['q', 'project', 'from', 'to'];
const fieldOf = (name) => bits[name === 'q' ? 'find' : name];

function changed() {
  const query = new URLSearchParams(FIELDS.map((name) => [name, fieldOf(name).value.trim()]).filter(([, value]) => value));
  history.replaceState(null, '', `#/history${query.size ? `?${query}` : ''}`);
  load();
}

export async function enter() {
  fillProjects();
  const query = new URLSearchParams(location.hash.split('?')[1] ?? '');
  for (const name of FIELDS) fieldOf(name).value = query.get(name) ?? '';
  load();
  drawEnded();
  try {
    drawStats(await get('/api/stats'));
  } catch (error) {
    text(bits.summary, `Could not load the days: ${line(error.message, 200)}`);
  }
}

function fillProjects() {
  const names = [...new Set([...agents.values()].map(({ project }) => project).filter(Boolean))].sort();
  const asked = new URLSearchParams(location.hash.split('?')[1] ?? '').get('project');
  if (asked && !names.includes(asked)) names.push(asked);
  bits.project.replaceChildren(bits.project.options[0], ...names.map((name) => el('option', { value: name }, line(name, 60))));
}

/** Midnight of a day of this browser's calendar, `days` later. */
const midnight = (day, days = 0) => {
  const at = new Date(`${day}T00:00:00`);
  at.setDate(at.getDate() + days);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
};

async function load(further = false) {
  const q = bits.find.value.trim();
  const query = { q, project: bits.project.value, from: bits.from.value && midnight(bits.from.value), to: bits.to.value && midnight(bits.to.value, 1) };
  const key = JSON.stringify(query);
  if (!further || key !== found.key) found = { key, hits: [], next: null };
  drawEnded();
  if (!q) return drawFound('');
  const mine = found;
  try {
    const { hits, next = null } = await get('/api/conversations', { ...query, before: further ? mine.next : undefined });
    if (mine !== found) return;
    mine.hits.push(...hits);
    mine.next = next;
    drawFound(q);
  } catch (error) {
    if (mine === found) text(bits.summary, `Could not search: ${line(error.message, 200)}`);
  }
}

function drawFound(q) {
  const { hits, next } = found;
  keyed(bits.rows, hits, (hit) => hit.turn_id, (hit) => el('li', null, el('a', { href: `#/agents/${hit.agent_id}/turn/${hit.turn_id}` },
    el('b', { dir: 'auto' }, line(hit.title || hit.session_id, 80)), el('span.note', null, hit.actor === 'user' ? 'You' : 'Agent'), el('time.note', null, clock(Date.parse(hit.at), now())),
    el('p', { dir: 'auto' }, ...hit.excerpt.map((piece) => (piece.hit ? el('mark', null, piece.text) : piece.text))))));
  show(bits.more, next !== null);
  text(bits.summary, !q ? '' : hits.length ? `${plural(hits.length, 'place')}${next === null ? '' : ' so far'}` : `Nothing found for “${line(q, 60)}”.`);
}

const minutes = (n) => (n ? duration(n * 60000) : '–');
const allTokens = (spent) => spent.input_tokens + spent.output_tokens + spent.cache_write_tokens + spent.cache_read_tokens;

function drawStats({ days, hours, longest_waits: waits, projects, agents: spenders }) {
  const everyFifth = (at, count) => (count - 1 - at) % 5 === 0;
  const bar = (day, at, parts) => ({ label: day.day, tick: everyFifth(at, days.length) ? day.day.slice(5) : null, parts });
  const waited = barChart('Agents waited for you, per day', days.map((day, at) => bar(day, at, KINDS.map((kind) => ({ kind, value: day.waited_by_kind?.[kind] ?? 0 })))), KINDS, (value) => minutes(value));
  const paid = days.some((day) => day.cost_usd > 0);
  const cost = paid
    ? barChart('Cost per day', days.map((day, at) => bar(day, at, [{ kind: 'cost', value: day.cost_usd }])), ['cost'], dollars)
    : barChart('Tokens per day', days.map((day, at) => bar(day, at, [{ kind: 'cost', value: allTokens(day) }])), ['cost'], tokens);
  const clockOf = (at) => `${String(new Date(at).getHours()).padStart(2, '0')}:00`;
  const events = barChart('Events per hour, two days', hours.map(({ at, events: count }, i) => ({ label: clock(Date.parse(at), now()).slice(0, -3), tick: everyFifth(i, hours.length) ? clockOf(at) : null, parts: [{ kind: 'events', value: count }] })), ['events'], number);
  bits.charts.replaceChildren(...(days.length ? [waited, cost, events] : []));
  drawDays(days.toReversed());
  keyed(bits.waits, waits, (wait) => wait.interaction_id, (wait) => el('li', null, el('a', { href: `#/agents/${wait.agent_id}` }, el('b', { dir: 'auto' }, line(wait.title || `agent ${wait.agent_id}`, 60)), el('span.long', null, minutes(wait.waited_minutes)),
    el('span.ask', { dir: 'auto' }, line(wait.text, 200)), el('span.note', null, `${line(wait.kind, 20).replaceAll('_', ' ')}${wait.closed_at ? '' : ', still open'}`))));
  show(bits.none, !waits.length);
  const row = (name, spent, href) => el('li', null, href ? el('a', { href }, name) : el('b', null, name), el('span', null, [spent.cost_usd > 0 && dollars(spent.cost_usd), allTokens(spent) > 0 && `${tokens(allTokens(spent))} tokens`].filter(Boolean).join(' · ')));
  const list = (title, rows) => (rows.length ? [el('li.head', null, title), ...rows] : []);
  bits.spent.replaceChildren(...list('by project', projects.map((spent) => row(line(spent.project ?? 'no project', 60), spent))), ...list('by agent', spenders.map((spent) => row(line(spent.title ?? `agent ${spent.agent_id}`, 60), spent, `#/agents/${spent.agent_id}`))));
  if (!projects.length) bits.spent.append(el('li.note', null, 'Nothing was reported. Costs come from the status line: headspace install --statusline.'));
}

function drawDays(days) {
  const longest = Math.max(1, ...days.map((day) => day.waited_minutes));
  keyed(bits.days, days, ({ day }) => day, ({ day }) => {
    const bar = el('i');
    const row = el('tr', null, el('th', { scope: 'row' }, day), el('td'), el('td'), el('td.waits', null, el('span.track', { 'aria-hidden': 'true' }, bar), el('span')), el('td'), el('td'), el('td'));
    return Object.assign(row, { bar });
  }, (row, day) => {
    const [, events, commands, waits, most, cost, used] = row.children;
    row.bar.style.transform = `scaleX(${day.waited_minutes / longest})`;
    text(events, number(day.events));
    text(commands, number(day.commands));
    text(waits.lastChild, minutes(day.waited_minutes));
    text(most, minutes(day.longest_wait_minutes));
    text(cost, day.cost_usd ? dollars(day.cost_usd) : '–');
    text(used, allTokens(day) ? tokens(allTokens(day)) : '–');
  });
}

/** The sessions that ended, of the chosen project and days. */
function drawEnded() {
  const [from, to] = [Date.parse(midnight(bits.from.value) ?? '') || -Infinity, Date.parse(midnight(bits.to.value, 1) ?? '') || Infinity];
  const fits = (agent) => agent.ended_at && (!bits.project.value || agent.project === bits.project.value) && Date.parse(agent.ended_at) >= from && Date.parse(agent.ended_at) < to;
  const gone = [...agents.values()].filter(fits).sort((a, b) => Date.parse(b.ended_at) - Date.parse(a.ended_at)).slice(0, 200);
  keyed(bits.ended, gone, (agent) => agent.id, (agent) => {
    const about = [agent.project, agent.branch, plural(agent.turn_count, 'turn')].filter(Boolean).map((each) => line(each, 40));
    return el('li', null, el('a', { href: `#/agents/${agent.id}` }, el('b', { dir: 'auto' }, line(agent.name, 80)), el('span.note', null, about.join(' · ')), el('time.note', null, clock(Date.parse(agent.ended_at), now()))));
  });
  show(bits.noneEnded, !gone.length);
}
