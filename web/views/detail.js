// One agent: what it asks, how to get there, what is known about it, its turns and its timeline.

import { agents, glyphOf } from '../lib/agents.js';
import { get, now, post } from '../lib/api.js';
import { clientMark, resumeOf } from '../lib/clients.js';
import { attr, button, byId, copyButton, el, foreign, keyed, mark, remember, remembered, show, text } from '../lib/dom.js';
import { Events } from '../lib/events.js';
import { age, clock, line, plain, plural, quoted, tilde, tokens } from '../lib/format.js';
import { drawFacts, drawSubagents, setTick, tickNode } from '../lib/parts.js';
import { announce } from '../lib/signal.js';
import { drawTimeline } from './timeline.js';

const KINDS = { permission: 'Permission', question: 'Question', plan: 'Plan to approve', mcp_input: 'MCP input', reply: 'Waiting for your reply' };
/** A burst of events causes one request. */
const PACE = 400;
/** Turns per request. */
const PAGE = 200;
const root = byId('detail');

let view = null;

export const openId = () => view?.id ?? null;

export function close() {
  clearTimeout(view?.timer);
  view = null;
  root.replaceChildren();
  show(root, false);
}

/** Shows the agent; one that is not known yet is waited for. */
export function open(id, back) {
  if (view?.id === id) return;
  clearTimeout(view?.timer);
  const mine = (view = { id, timer: 0, ...makeParts(id, back) });
  mine.events = new Events(`/api/agents/${id}/events`, {}, () => mine === view && drawEvents(mine));
  root.replaceChildren(...mine.all);
  root.scrollTop = 0;
  show(root, true);
  if (agents.has(id)) patch(mine, agents.get(id));
  refresh();
}

/** These agents changed. */
export function update(ids) {
  if (!view || !ids.has(view.id)) return;
  if (agents.has(view.id)) patch(view, agents.get(view.id));
  view.timer ||= setTimeout(refresh, PACE);
}

/** Loads what is new in its history. */
export function refresh() {
  const mine = view;
  if (!mine) return;
  mine.timer = 0;
  mine.events.news();
  loadTurns(mine);
}

/** Loads a page of turns: the newest, or those before one. */
async function loadTurns(mine, before) {
  const answer = await get(`/api/agents/${mine.id}/turns`, { before, limit: PAGE }).catch(() => null);
  if (!answer || mine !== view) return;
  const first = !mine.spoken.size;
  for (const turn of answer.turns) mine.spoken.set(turn.id, turn);
  if (first || before) show(mine.earlier, answer.turns.length >= PAGE);
  drawTurns(mine);
}

function drawEvents(mine) {
  const { events } = mine;
  show(mine.fault, Boolean(events.fault));
  text(mine.fault, events.fault && `Could not load its history: ${line(events.fault, 200)}`);
  show(mine.older, events.more);
  drawTimeline(mine.timeline, events.list());
  text(mine.tab.timeline, events.known.size ? String(events.known.size) : '');
}

function makeParts(id, back) {
  const p = {
    mark: mark(), name: foreign('h2'), place: el('p.place'), said: el('p.said', { id: 'said', role: 'status' }), asks: el('div.asks'), facts: el('dl.facts'), kids: el('ul.kids', { 'aria-label': 'Subagents' }),
    jump: button('button.main', 'M7 17 17 7M9 7h8v8', 'Jump', () => jump(id), { 'aria-describedby': 'said', title: 'Bring its terminal to the front (g)' }),
    seen: button('button', 'm5 12 5 5 9-10', 'Mark as seen', () => act(id, 'seen')),
    resume: copyButton('Resume command', () => resumeCommand(agents.get(id))),
    turns: el('ol.turns', { 'aria-label': 'Newest first' }), timeline: el('ol.timeline', { 'aria-label': 'Newest first' }),
    spoken: new Map(), earlier: button('button', null, 'Earlier turns', () => loadTurns(view, spoken(view).at(-1).id), { hidden: true }),
    older: button('button', null, 'Earlier events', () => view.events.older(), { hidden: true }), fault: el('p.fault', { hidden: true, role: 'status' }),
  };
  const pen = button('icon', 'M4 20h4L19 9l-4-4L4 16v4Z', null, () => rename(id), { 'aria-label': 'Rename', title: 'Rename' });
  const leave = button('icon', 'M6 6l12 12M18 6 6 18', null, back, { 'aria-label': 'Close', title: 'Close (Esc)' });
  const head = el('header', null, el('div.title-row', null, p.mark, p.name, pen, el('span.gap'), leave), p.place, el('div.actions', null, p.jump, p.seen, p.resume), p.said);
  p.all = [head, p.asks, p.facts, p.kids, ...makeTabs(p, { turns: [p.turns, p.earlier], timeline: [p.fault, p.timeline, p.older] })];
  return p;
}

/** The tabs are radio buttons; the style sheet hides the panels that are not chosen. */
function makeTabs(p, panels) {
  p.tab = {};
  const chosen = remembered('detail') ?? 'timeline';
  const tabs = el('fieldset.segment', { 'aria-label': 'History of the agent' });
  for (const name of Object.keys(panels)) {
    p.tab[name] = el('span.count');
    const radio = el('input.sr', { type: 'radio', name: 'history', value: name, checked: name === chosen, onchange: () => remember('detail', name) });
    tabs.append(el('label', null, radio, name, p.tab[name]));
  }
  return [tabs, ...Object.entries(panels).map(([name, content]) => el('div', { 'data-panel': name }, ...content))];
}

function patch(p, agent) {
  attr(root, 'data-g', agent.ended_at ? 'ended' : agent.group);
  attr(root, 'aria-label', `Agent ${line(agent.name, 60)}`);
  text(p.mark, glyphOf(agent));
  text(p.name, line(agent.name, 120));
  text(p.place, whereIs(agent));
  const why = noJump(agent);
  attr(p.jump, 'aria-disabled', why && 'true');
  if (why || !p.answered) text(p.said, why);
  show(p.seen, Boolean(agent.unseen));
  keyed(p.asks, cardsOf(agent), (card) => card.key, makeCard, patchCard);
  drawFacts(p.facts, FACTS.map(([name, of]) => ({ name, ...of(agent) })).filter((fact) => fact.text || fact.tick || fact.context));
  drawSubagents(p.kids, agent.subagents);
}

/** Directory, branch, pane, host. */
function whereIs({ cwd, branch, tmux_session: session, tmux_pane: pane, host }) {
  const parts = [cwd && tilde(cwd), branch && `⎇ ${branch}`, pane && `tmux ${session ?? ''} ${pane}`, host];
  return parts.filter(Boolean).map((part) => line(part, 160)).join('  ·  ');
}

/** Why no terminal can be found, or null. */
function noJump(agent) {
  if (agent.ended_at) return 'The session has ended; its resume command starts it again.';
  if (agent.headless) return 'A headless run has no terminal.';
  if (!agent.tmux_pane && !agent.terminal) return 'Not started inside tmux, so its terminal cannot be found.';
  return null;
}

export function jump(id = view?.id) {
  if (!agents.has(id)) return;
  const why = noJump(agents.get(id));
  if (why) announce(why);
  else act(id, 'jump', {}, 'Its terminal is in front now.');
}

const VERBS = { jump: 'jump', seen: 'mark it as seen', name: 'rename it' };

async function act(id, verb, body, done = '') {
  const mine = view;
  let said = done;
  try {
    await post(`/api/agents/${id}/${verb}`, body);
  } catch (error) {
    said = `Could not ${VERBS[verb]}: ${error.message}`;
  }
  if (mine && view === mine) {
    mine.answered = Boolean(said);
    text(mine.said, line(said, 300));
  }
  announce(said);
}

/** A person opened the agent: a finished one is marked as seen. */
export function looked(id) {
  if (agents.get(id)?.unseen) post(`/api/agents/${id}/seen`).catch(() => {});
}

const resumeCommand = ({ client, cwd, session_id: session }) =>
  `${cwd ? `cd ${quoted(cwd)} && ` : ''}${resumeOf(client, quoted(session)) ?? `# ${client}: no resume command is known for ${quoted(session)}`}`;

function rename(id) {
  const name = prompt('Name of the agent (empty: the automatic one)', agents.get(id).name);
  if (name !== null) act(id, 'name', { name });
}

/** What gets a card of its own: open questions, then the error. */
function cardsOf(agent) {
  const known = `known from ${agent.source}, confidence ${agent.confidence}`;
  const cards = agent.interactions.map((ask) => ({ key: ask.id, tone: 'needs_you', kind: KINDS[ask.kind] ?? 'Asks', at: ask.opened_at, text: ask.text, options: ask.options ?? [], by: whoAsks(agent, ask), note: `Answer in its terminal · ${known}` }));
  if (agent.error) cards.push({ key: 'error', tone: 'error', kind: 'The turn failed', at: agent.source_at, text: [agent.error.replaceAll('_', ' '), agent.last_said].filter(Boolean).join('\n'), options: [], note: known });
  return cards;
}

function whoAsks(agent, ask) {
  if (!ask.subagent) return null;
  const child = agent.subagents.find(({ agent_id }) => agent_id === ask.subagent);
  return `asked by subagent ${line(child?.agent_type || ask.subagent, 40)}`;
}

function makeCard(card) {
  const bits = { kind: el('b'), by: el('span.note'), since: tickNode(), text: foreign('p.ask'), options: el('ol.options', { 'aria-label': 'Choices' }), note: el('p.note') };
  const node = el('section.card', { 'data-g': card.tone }, el('header', null, bits.kind, bits.by, el('span.gap'), bits.since), bits.text, bits.options, bits.note);
  return Object.assign(node, { bits });
}

function patchCard(node, card) {
  const { bits } = node;
  text(bits.kind, card.kind);
  text(bits.by, card.by);
  setTick(bits.since, Date.parse(card.at), (ms) => (card.tone === 'needs_you' ? `waiting ${age(ms)}` : `${age(ms)} ago`));
  text(bits.text, plain(card.text, 6000));
  const options = card.options.map((label, i) => ({ i, label }));
  keyed(bits.options, options, ({ i }) => i, () => foreign('li'), (item, { label }) => text(item, line(label, 300)));
  show(bits.options, options.length > 0);
  text(bits.note, card.note);
}

const FACTS = [
  ['client', (agent) => ({ text: clientMark(agent.client), note: agent.unconfirmed ? 'unconfirmed: it says nothing at a denial or an interrupt' : '' })],
  ['command', (agent) => ({ text: agent.current_command?.instruction })],
  ['doing', (agent) => ({ text: !agent.ended_at && agent.group !== 'needs_you' && agent.status_detail })],
  ['last active', (agent) => ({ tick: Date.parse(agent.last_active_at), tail: ' ago' })],
  ['state', (agent) => ({ text: agent.state.replaceAll('_', ' '), note: `${agent.source}, ${agent.confidence}` })],
  ['background', (agent) => ({ text: agent.background.map((task) => line(task?.description ?? task?.command ?? task?.type ?? 'task', 80)).join(', ') })],
  ['context', ({ context }) => ({ context, note: context && `${tokens(context.used_tokens)} of ${tokens(context.window)}` })],
  ['cost', (agent) => ({ text: typeof agent.cost_usd === 'number' && `$${agent.cost_usd.toFixed(2)}` })],
  ['model', (agent) => ({ text: agent.model })],
  ['permission mode', (agent) => ({ text: agent.permission_mode })],
  ['role', (agent) => ({ text: [agent.role, agent.mode].filter(Boolean).join(', ') })],
  ['started', (agent) => ({ text: clock(Date.parse(agent.started_at), now()) })],
  ['ended', (agent) => ({ text: agent.ended_at && clock(Date.parse(agent.ended_at), now()), note: agent.end_reason?.replaceAll('_', ' ') })],
  ['session', (agent) => ({ text: agent.session_id, note: agent.sessions.length > 1 ? `${plural(agent.sessions.length, 'session')} in this seat` : '' })],
];

/** Newest first. */
const spoken = (mine) => [...mine.spoken.values()].sort((a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp) || b.id - a.id);

function drawTurns(mine) {
  keyed(mine.turns, spoken(mine), (turn) => turn.id, makeTurn);
  text(mine.tab.turns, mine.spoken.size ? String(mine.spoken.size) : '');
}

function makeTurn(turn) {
  const body = foreign('p');
  const full = plain(turn.text, 200000);
  const cut = full.length > 1600;
  body.textContent = cut ? `${full.slice(0, 1500).trimEnd()}…` : full;
  const more = cut && button('button.small', null, 'Show all', () => {
    body.textContent = full;
    more.remove();
  });
  return el('li', { 'data-actor': turn.actor },
    el('header', null, el('b', null, turn.actor === 'user' ? 'You' : 'Agent'), el('span', null, turn.intent.replaceAll('_', ' ')),
      turn.confidence !== 'high' && el('span.note', null, `confidence ${turn.confidence}`), el('span.gap'), el('time', { title: turn.timestamp }, clock(Date.parse(turn.timestamp), now())), copyButton('Copy', () => String(turn.text))),
    body, more);
}
