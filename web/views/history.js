// History: search in everything that was said or done, what each day cost in waiting, which agents have ended.

import { agents } from '../lib/agents.js';
import { get, now } from '../lib/api.js';
import { button, byId, el, keyed, show, text, whenTyped } from '../lib/dom.js';
import { Events } from '../lib/events.js';
import { clock, duration, line, number, plural } from '../lib/format.js';
import { eventRow, patchEventRow } from '../lib/parts.js';

const root = byId('history');
const bits = {};
let found = null;

export function start() {
  bits.find = el('input', { type: 'search', placeholder: 'Search prompts, answers, commands, files', 'aria-label': 'Search the history', spellcheck: 'false' });
  bits.summary = el('p.note', { role: 'status' });
  bits.rows = el('ol.log', { 'aria-label': 'Found events' });
  bits.more = button('button', null, 'Earlier', () => found.older(), { hidden: true });
  bits.days = el('tbody');
  bits.ended = el('ul.ended');
  bits.nobody = el('p.note', { hidden: true }, 'No session has ended yet.');
  whenTyped(bits.find, search);
  const head = ['Day', 'Events', 'Commands', 'Agents waited for you', 'Longest wait'].map((name) => el('th', { scope: 'col' }, name));
  const table = el('table.days', null, el('thead', null, el('tr', null, ...head)), bits.days);
  root.append(
    el('h1.sr', null, 'History'), el('label.search.wide', null, bits.find), bits.summary, bits.rows, bits.more,
    el('div.columns', null,
      el('section', null, el('h2', null, 'Day by day'), el('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Day by day' }, table)),
      el('section', null, el('h2', null, 'Ended'), bits.ended, bits.nobody)));
}

export async function enter() {
  drawEnded();
  try {
    drawDays((await get('/api/stats')).days.toReversed());
  } catch (error) {
    text(bits.summary, `Could not load the days: ${line(error.message, 200)}`);
  }
}

function search() {
  const q = bits.find.value.trim();
  const mine = (found = new Events('/api/events', { q }, () => mine === found && drawFound(q)));
  if (q) found.news();
  else drawFound('');
}

function drawFound(q) {
  const rows = found.list();
  keyed(bits.rows, rows, (event) => event.id, eventRow, patchEventRow);
  show(bits.more, found.more);
  const count = `${plural(rows.length, 'event')}${found.more ? ' so far' : ''}`;
  text(bits.summary, found.fault ? `Could not search: ${line(found.fault, 200)}` : !q ? '' : rows.length ? count : `Nothing found for “${line(q, 60)}”.`);
}

const minutes = (n) => (n ? duration(n * 60000) : '–');

function drawDays(days) {
  const longest = Math.max(1, ...days.map((day) => day.waited_minutes));
  keyed(bits.days, days, ({ day }) => day, ({ day }) => {
    const bar = el('i');
    const row = el('tr', null, el('th', { scope: 'row' }, day), el('td'), el('td'), el('td.waits', null, el('span.track', { 'aria-hidden': 'true' }, bar), el('span')), el('td'));
    return Object.assign(row, { bar });
  }, (row, day) => {
    const [, events, commands, waits, most] = row.children;
    row.bar.style.transform = `scaleX(${day.waited_minutes / longest})`;
    text(events, number(day.events));
    text(commands, number(day.commands));
    text(waits.lastChild, minutes(day.waited_minutes));
    text(most, minutes(day.longest_wait_minutes));
  });
}

function drawEnded() {
  const gone = [...agents.values()].filter((agent) => agent.ended_at).sort((a, b) => Date.parse(b.ended_at) - Date.parse(a.ended_at)).slice(0, 200);
  keyed(bits.ended, gone, (agent) => agent.id, (agent) => {
    const about = [agent.project, agent.branch, plural(agent.turn_count, 'turn')].filter(Boolean).map((each) => line(each, 40));
    return el('li', null, el('a', { href: `#/agents/${agent.id}` }, el('b', { dir: 'auto' }, line(agent.name, 80)), el('span.note', null, about.join(' · ')), el('time.note', null, clock(Date.parse(agent.ended_at), now()))));
  });
  show(bits.nobody, !gone.length);
}
