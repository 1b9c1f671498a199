// The list: counters that filter, rows with the ask, subagents under their parent, ended and headless agents folded away.

import { ageOf, agents, compare, counts, foldOf, glyphOf, groups, idOf, machineOf, matches } from '../lib/agents.js';
import { now } from '../lib/api.js';
import { clientMark } from '../lib/clients.js';
import { attr, button, byId, el, foreign, icon, keyed, mark, remember, remembered, show, text } from '../lib/dom.js';
import { clock, line, plural, tilde } from '../lib/format.js';
import { contextBar, drawSubagents, isAlive, patchContext, setTick, tickNode } from '../lib/parts.js';

const BRANCH = 'M7 4v16M7 15c6 0 10-2 10-7m0 0a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z';

const root = el('div');
const nothing = el('div.nothing', { hidden: true }, el('p', null, 'No agent matches.'), button('button', null, 'Show all', () => clearFilters()));
const find = byId('find');
const grouping = byId('grouping');
const where = byId('where');
const filter = { groups: new Set(), words: [] };
const openFolds = new Set();
let selected = null;
/** A host gets a chip only if there are several, and so does a person. */
let hosts = 1;
let people = 1;
/** How many kinds of coding agents there are: one needs no mark. */
let clients = 1;

/** Ids in the order of the page, open folds included. */
export let order = [];

export function start() {
  byId('list').append(root, nothing);
  grouping.value = remembered('grouping') ?? 'flat';
  grouping.addEventListener('change', () => {
    remember('grouping', grouping.value);
    for (const row of root.querySelectorAll('.agent')) row.drawn = null;
    render();
  });
  where.addEventListener('change', render);
  find.addEventListener('input', () => {
    filter.words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    render();
  });
}

/** Machines and people to choose from, as soon as there are several of a kind. */
function patchWhere() {
  const of = (kind, value) => [...new Set([...agents.values()].map(value))].filter(Boolean).sort().map((name) => [`${kind}:${name}`, name]);
  const [machines, people] = [of('machine', machineOf), of('user', ({ user }) => user)];
  const rows = [...(machines.length > 1 ? machines : []), ...(people.length > 1 ? people : [])];
  show(where, rows.length > 0);
  const key = rows.map(([value]) => value).join('\n');
  if (where.key === key) return;
  where.key = key;
  const chosen = where.value;
  where.replaceChildren(where.options[0], ...rows.map(([value, name]) => el('option', { value }, line(name, 40))));
  where.value = rows.some(([value]) => value === chosen) ? chosen : '';
}

const isWhere = (agent) => !where.value || `machine:${machineOf(agent)}` === where.value || `user:${agent.user}` === where.value;

function toggleGroup(id) {
  if (!filter.groups.delete(id)) filter.groups.add(id);
  render();
}

export function clearFilters() {
  filter.groups.clear();
  filter.words = [];
  find.value = '';
  where.value = '';
  render();
}

export const filtered = () => filter.groups.size > 0 || filter.words.length > 0 || where.value !== '';

export function select(id) {
  selected = id;
  for (const row of root.querySelectorAll('.agent')) markSelected(row, idOf(row.dataset.id));
}

const markSelected = (row, id) => attr(row.link, 'aria-current', id === selected ? 'true' : null);

export const rowOf = (id) => root.querySelector(`.agent[data-id="${CSS.escape(id)}"] > .row`);

/** Shows what changed: rows in place; sections and order only if a row moved. */
export function update(ids) {
  for (const id of ids) {
    const agent = agents.get(id);
    const shown = places.get(id);
    if (!agent || !shown || shown.key !== placeKey(agent)) return render();
  }
  for (const id of ids) {
    const shown = places.get(id);
    if (shown.node) patchRow(shown.node, agents.get(id));
  }
}

/** Where each agent was when the list was last laid out; node is null inside a closed fold or behind a filter. */
let places = new Map();

/** Everything that decides where a row is. */
function placeKey(agent) {
  return `${foldOf(agent)}|${agent.summary.order}|${agent[grouping.value]}|${filter.words.length ? agent.summary.about + agent.name : ''}`;
}

export function render() {
  const open = [];
  const folded = { headless: [], ended: [] };
  clients = new Set([...agents.values()].map((agent) => agent.client)).size;
  hosts = new Set([...agents.values()].map(machineOf)).size;
  people = new Set([...agents.values()].map(({ user }) => user)).size;
  patchWhere();
  places = new Map();
  for (const agent of agents.values()) {
    places.set(agent.id, { key: placeKey(agent), node: null });
    if (!matches(agent, filter.words) || !isWhere(agent)) continue;
    const fold = foldOf(agent);
    if (fold) folded[fold].push(agent);
    else if (!filter.groups.size || filter.groups.has(agent.group)) open.push(agent);
  }
  const compareRows = isFrozen() ? asDrawn : compare;
  open.sort(compareRows);
  const sections = sectionsOf(open);
  for (const [fold, members] of Object.entries(folded)) {
    members.sort(compareRows);
    // A search looks behind the folds as well, but a filter by group means the living.
    if (members.length && !filter.groups.size) sections.push({ id: `fold:${fold}`, fold, title: fold, members });
  }
  order = [];
  keyed(root, sections, (section) => section.id, makeSection, patchSection);
  drawnAt = new Map(order.map((id, at) => [id, at]));
  patchCounters();
  show(nothing, filtered() && sections.length === 0);
}

// While the pointer is on a row, or one is being typed at or was just clicked, no row moves: it would leap away from under the
// hand. A pointer that lies still for a while does not count; the rows are then sorted again.

const HAND_RESTS_AFTER = 10000;
let handMoved = -Infinity;
let thaw = 0;

const list = byId('list');

const isFrozen = () => performance.now() - handMoved < HAND_RESTS_AFTER && (list.matches(':hover') || list.contains(document.activeElement));

/** The order in which the rows are on the page; new ones come last, in their own order. */
function asDrawn(a, b) {
  const [at, bt] = [drawnAt.get(a.id) ?? Infinity, drawnAt.get(b.id) ?? Infinity];
  return at === bt ? compare(a, b) : at - bt;
}

let drawnAt = new Map();

function handMoves() {
  handMoved = performance.now();
  thawAfter(HAND_RESTS_AFTER + 50);
}

/** Sorts again if the hand has left, or rests. */
function thawAfter(ms) {
  clearTimeout(thaw);
  thaw = setTimeout(() => {
    if (isFrozen()) return thawAfter(1000);
    render();
  }, ms);
}

for (const type of ['pointermove', 'pointerdown', 'wheel', 'keydown', 'focusin']) list.addEventListener(type, handMoves, { passive: true });
for (const type of ['pointerleave', 'focusout']) list.addEventListener(type, () => thawAfter(0));

function sectionsOf(open) {
  if (grouping.value === 'flat') return open.length ? [{ id: 'all', title: null, members: open }] : [];
  const field = grouping.value;
  const by = new Map();
  for (const agent of open) {
    const name = (field === 'host' ? machineOf(agent) : agent[field]) ?? { host: 'this machine', user: 'nobody in particular' }[field] ?? 'no project';
    if (!by.has(name)) by.set(name, { id: `in:${name}`, title: name, members: [] });
    by.get(name).members.push(agent);
  }
  // The members are sorted, so the section of the most urgent one came first.
  return [...by.values()];
}

function makeSection(section) {
  const rows = el('ul');
  const node = el('section');
  if (section.title !== null) {
    const head = section.fold ? button('folder', null, null, () => toggleFold(section.fold)) : el('h2.folder');
    const label = el('span');
    const count = el('span.count');
    head.append(...(section.fold ? [el('span.caret', { 'aria-hidden': 'true' }), count, label] : [label, count]));
    node.append(head);
    Object.assign(node, { head, label, count });
  }
  node.append(rows);
  return Object.assign(node, { rows });
}

function toggleFold(fold) {
  if (!openFolds.delete(fold)) openFolds.add(fold);
  render();
}

function patchSection(node, section) {
  const open = !section.fold || openFolds.has(section.fold) || filter.words.length > 0;
  if (node.label) {
    text(node.label, line(section.title, 80));
    text(node.count, String(section.members.length));
  }
  if (section.fold) attr(node.head, 'aria-expanded', open);
  show(node.rows, open);
  const members = open ? section.members : [];
  keyed(node.rows, members, (agent) => agent.id, makeRow, patchRow);
  for (const agent of members) order.push(agent.id);
}

function makeRow(agent) {
  const bits = {
    mark: mark(), name: foreign('b.name'), project: el('span.chip.project'), branch: el('span.chip.branch', null, icon(BRANCH, 12), foreign('span')),
    host: el('span.chip'), client: el('span.chip'), word: el('span.word'), ask: foreign('span.ask'), dots: el('span.dots'), context: contextBar(), when: el('span.when', null, el('span.lead'), tickNode(), el('span')),
  };
  const link = el('a.row', { href: `#/agents/${agent.id}` }, bits.mark,
    el('span.who', null, bits.name, bits.client, bits.project, bits.branch, bits.host), bits.word, bits.ask, el('span.meta', null, bits.dots, bits.context), bits.when);
  return Object.assign(el('li.agent', { 'data-id': agent.id }, link), { link, bits, drawn: null });
}

function patchRow(node, agent) {
  const shown = places.get(agent.id);
  if (shown) shown.node = node;
  if (node.drawn === agent) return;
  node.drawn = agent;
  const { bits } = node;
  const { summary } = agent;
  attr(node, 'data-g', agent.ended_at ? 'ended' : agent.group);
  attr(node, 'data-stale', (agent.stale || agent.not_heard_since) && !agent.ended_at ? '1' : null);
  markSelected(node, agent.id);
  text(bits.mark, glyphOf(agent));
  text(bits.name, line(agent.name, 90));
  chip(bits.project, agent.project !== agent.name && grouping.value !== 'project' ? agent.project : null);
  chip(bits.branch.lastChild, agent.branch !== agent.name && agent.branch, bits.branch);
  chip(bits.client, clients > 1 && grouping.value !== 'client' ? clientMark(agent.client) : null);
  chip(bits.host, grouping.value === 'host' ? null : agent.headless ? 'headless' : [(people > 1 || hosts > 1) && agent.user, hosts > 1 && machineOf(agent)].filter(Boolean).join(' @ ') || null);
  text(bits.word, summary.label);
  text(bits.ask, line(summary.about, 240));
  patchContext(bits.context, agent.context);
  patchDots(bits.dots, agent.subagents);
  const { at, lead, tail } = ageOf(agent);
  text(bits.when.children[0], lead);
  setTick(bits.when.children[1], at);
  text(bits.when.children[2], tail);
  attr(bits.when, 'title', at ? clock(at, now()) : null);
  attr(bits.name, 'title', [agent.name, tilde(agent.cwd)].filter(Boolean).join('\n').slice(0, 400));
  patchKids(node, agent);
}

function chip(node, value, shell = node) {
  show(shell, Boolean(value));
  text(node, value ? line(value, 60) : '');
  if (value && shell !== node) attr(shell, 'title', String(value).slice(0, 200));
}

/** `●●○`: at work, at work, done. */
function patchDots(node, subagents) {
  const recent = subagents.slice(-6);
  const key = recent.map((child) => (isAlive(child) ? child.status : 'ended')).join();
  if (node.key === key) return;
  node.key = key;
  node.replaceChildren(...recent.map((child) => el('i', { 'data-s': isAlive(child) ? child.status : 'ended' })));
  const live = subagents.filter(isAlive).length;
  attr(node, 'role', recent.length ? 'img' : null);
  attr(node, 'aria-label', recent.length ? `${plural(subagents.length, 'subagent')}, ${live} at work` : null);
  attr(node, 'title', recent.length ? `${plural(subagents.length, 'subagent')}, ${live} at work` : null);
}

function patchKids(node, agent) {
  const live = agent.ended_at ? [] : agent.subagents.filter(isAlive);
  if (!live.length && !node.kids) return;
  if (!node.kids) node.append((node.kids = el('ul.kids', { 'aria-label': 'Subagents' })));
  drawSubagents(node.kids, live);
}

/** Drawn with the first list: a zero before it would be a guess. */
function patchCounters() {
  const found = counts();
  const make = (group) => el('button.counter', { type: 'button', 'data-g': group.id, title: `${group.label}: ${group.meaning}`, onclick: () => toggleGroup(group.id) },
    mark(group.glyph), el('b'), el('span.label', null, group.label));
  keyed(byId('counters'), groups, ({ id }) => id, make, (node, { id }) => {
    const n = found.get(id) ?? 0;
    text(node.children[1], String(n));
    attr(node, 'aria-pressed', filter.groups.has(id));
    attr(node, 'data-none', n ? null : '1');
  });
}
