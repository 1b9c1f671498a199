// Pieces that several views show: ticking ages, context bars, named facts, subagents, events with their raw JSON.

import { agents } from './agents.js';
import { now } from './api.js';
import { eventGist } from './calls.js';
import { attr, copyButton, el, foreign, keyed, mark, show, text } from './dom.js';
import { age, clock, line, plain } from './format.js';

/** An age that is updated every second; `at` 0 stops it. */
export function setTick(node, at, form = age) {
  node.at = at;
  node.form = form;
  text(node, at ? form(now() - at) : '');
}

/** The server's words about the hooks: "hooks active", "quiet for 7 m". */
export const healthWords = ({ text, since }) => (since ? `${text} ${age(now() - Date.parse(since))}` : text);

export const tickNode = () => el('span.tick');

/** Updates every age on the page; only nodes whose text changes are touched. */
export function tickAll() {
  const at = now();
  for (const node of document.getElementsByClassName('tick')) if (node.at) text(node, node.form(at - node.at));
}

export function contextBar() {
  const fill = el('i');
  const node = el('span.context', { hidden: true }, el('span.track', { 'aria-hidden': 'true' }, fill), el('span.percent'));
  return Object.assign(node, { fill });
}

export function patchContext(node, context) {
  show(node, Boolean(context));
  const percent = context ? Math.max(0, Math.min(100, Math.round(context.percent))) : 0;
  if (node.percent === percent) return;
  node.percent = percent;
  node.fill.style.transform = `scaleX(${percent / 100})`;
  text(node.lastChild, `${percent}%`);
  attr(node, 'data-full', percent >= 90 ? '1' : null);
  attr(node, 'title', `Context window ${percent} % full`);
}

/** How much of each rate limit is used, and when it starts over. */
export function drawLimits(list, limits) {
  keyed(list, limits, ({ id }) => id, ({ label }) => {
    const fill = el('i');
    return Object.assign(el('span.context.limit', { role: 'img' }, el('span', null, label), el('span.track', null, fill), el('span.percent')), { fill });
  }, (node, { label, percent, resets_at: resets }) => {
    const told = `${label} limit ${Math.round(percent)} % used${resets ? `, starts over in ${age(Date.parse(resets) - now())} (${clock(Date.parse(resets), now())})` : ''}`;
    node.fill.style.transform = `scaleX(${percent / 100})`;
    text(node.lastChild, `${Math.round(percent)}%`);
    attr(node, 'data-full', percent >= 90 ? '1' : null);
    attr(node, 'title', told);
    attr(node, 'aria-label', told);
  });
  show(list, limits.length > 0);
}

/** A time of day, with its date in a part of its own that a narrow place leaves out. */
export function setClock(node, at) {
  const [time, date] = clock(at, now()).split(' ').reverse();
  if (node.shown === `${date} ${time}`) return;
  node.shown = `${date} ${time}`;
  node.replaceChildren(date ? el('span.date', null, `${date} `) : '', time);
  attr(node, 'title', date ? `${date} ${time}` : null);
}

/** Named facts in a `dl`: `{name, text, tick, tail, context, note, tone}`. */
export function drawFacts(list, facts) {
  keyed(list, facts, ({ name }) => name, makeFact, patchFact);
}

function makeFact({ name }) {
  const bits = { text: foreign('span'), tick: tickNode(), bar: contextBar(), note: el('span.note') };
  const node = el('div', { 'data-fact': name }, el('dt', null, name), el('dd', null, el('span.value', null, bits.text, bits.tick, bits.bar), bits.note));
  return Object.assign(node, { bits });
}

function patchFact(node, fact) {
  const { bits } = node;
  attr(node, 'data-tone', fact.tone);
  text(bits.text, line(fact.text ?? '', 300));
  setTick(bits.tick, fact.tick ?? 0, (ms) => age(ms) + (fact.tail ?? ''));
  patchContext(bits.bar, fact.context);
  text(bits.note, line(fact.note ?? '', 90));
}

export const isAlive = (child) => !child.ended_at;

const CHILD_MARKS = { attention: '!', working: '*' };

export function drawSubagents(list, children) {
  keyed(list, children, (child) => child.agent_id, makeChild, patchChild);
  show(list, children.length > 0);
}

function makeChild() {
  const bits = [mark(), el('b'), foreign('span.ask'), tickNode()];
  return Object.assign(el('li', null, ...bits), { bits });
}

function patchChild(node, child) {
  const [sign, type, ask, since] = node.bits;
  const started = Date.parse(child.started_at);
  attr(node, 'data-s', child.ended_at ? 'ended' : child.status);
  text(sign, child.ended_at ? '·' : CHILD_MARKS[child.status] ?? '-');
  text(type, line(child.agent_type || 'subagent', 40));
  text(ask, line(child.ended_at ? 'done' : child.status_detail ?? child.status, 200));
  setTick(since, child.ended_at ? 0 : started);
  if (child.ended_at) text(since, age(Date.parse(child.ended_at) - started));
}

/** One event of the log; its raw JSON is rendered when it is opened. */
export function eventRow(event) {
  const who = el('span.who');
  const summary = el('summary', null, el('time', null, clock(event.at, now())), el('b.title', null, line(event.name, 50)), who, el('span.ask', { dir: 'auto' }, eventGist(event.body)));
  const details = el('details', null, summary);
  details.addEventListener('toggle', () => {
    if (details.open && !summary.nextSibling) details.append(el('div.raw', null, rawEvent(event), event.agent && el('a.button.small', { href: `#/agents/${event.agent}` }, 'Open the agent')));
  });
  return Object.assign(el('li', null, details), { who });
}

/** The agent's name may become known, or change, later. */
export const patchEventRow = (node, event) => text(node.who, line(agents.get(event.agent)?.summary.title ?? event.session.slice(0, 8), 60));

/** Characters of raw JSON on the page. */
const MAX_RAW = 60000;

/** An event as it was received. */
export function rawEvent(event) {
  const json = JSON.stringify(event.body, null, 2);
  const shown = el('pre', { tabindex: '0', role: 'group', 'aria-label': `${line(event.name, 60)}, raw` });
  shown.textContent = plain(json, MAX_RAW);
  const told = [clock(event.at, now()), event.source, `event ${event.id}`, event.duplicate && 'came twice', json.length > MAX_RAW && 'cut here; copy gives all'];
  return el('section', null, el('header', null, el('b', null, line(event.name, 60)), el('span.note', null, told.filter(Boolean).join(' · ')), copyButton('Copy JSON', () => json)), shown);
}
