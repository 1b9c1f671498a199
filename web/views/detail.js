// One agent: what it asks or what came of it, how to get there, what is known about it, and its history.

import { agents, glyphOf } from '../lib/agents.js';
import { now, post } from '../lib/api.js';
import { clientMark, resumeOf } from '../lib/clients.js';
import { attr, button, byId, copyButton, el, foreign, keyed, mark, remember, remembered, show, text } from '../lib/dom.js';
import { Events } from '../lib/events.js';
import { clock, dollars, line, middle, plural, quoted, tilde, tokens } from '../lib/format.js';
import { drawFacts, drawSubagents } from '../lib/parts.js';
import { announce } from '../lib/signal.js';
import { drawAsks, patchLocks } from './ask.js';
import { Changes } from './changes.js';
import { Reply } from './reply.js';
import { makeTurn, Talk } from './talk.js';
import { drawTimeline } from './timeline.js';

/** A burst of events causes one request. */
const PACE = 400;
/** Groups of an agent whose turn is over: what came out is what one wants to see. */
const OVER = new Set(['done', 'error', 'idle']);
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
export function open(id, back, turn = null) {
  if (view?.id === id) return void (turn && (choose('conversation'), view.talk.at(turn)));
  clearTimeout(view?.timer);
  const mine = (view = { id, timer: 0, ...makeParts(id, back) });
  mine.events = new Events(`/api/agents/${id}/events`, {}, () => mine === view && drawEvents(mine));
  if (turn) mine.talk.at(turn);
  root.replaceChildren(...mine.all);
  root.scrollTop = 0;
  show(root, true);
  if (agents.has(id)) patch(mine, agents.get(id));
  if (turn) choose('conversation');
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
  mine.talk.news();
  if (chosen() === 'changes') mine.changes.news();
}

/** The lock of answering was opened or closed. */
export function relock() {
  patchLocks(root);
  if (view && agents.has(view.id)) view.reply.patch(agents.get(view.id));
}

export const cards = () => root;

function drawEvents(mine) {
  const { events } = mine;
  show(mine.fault, Boolean(events.fault));
  text(mine.fault, events.fault && `Could not load its history: ${line(events.fault, 200)}`);
  show(mine.older, events.more);
  drawTimeline(mine.timeline, events.list());
  mine.talk.setEvents(events.list());
  text(mine.tab.timeline, events.known.size ? String(events.known.size) : '');
}

function makeParts(id, back) {
  const p = {
    mark: mark(), name: foreign('h2'), place: el('p.place'), pending: el('p.pending', { role: 'status' }), said: el('p.said', { id: 'said', role: 'status' }), asks: el('div.asks'), outcome: el('ol.turns.outcome', { 'aria-label': 'Last prompt and last answer', hidden: true }),
    facts: el('dl.facts'), kids: el('ul.kids', { 'aria-label': 'Subagents' }),
    jump: button('button.main', 'M7 17 17 7M9 7h8v8', 'Jump', () => jump(id), { 'aria-describedby': 'said', title: 'Bring its terminal to the front (g)' }),
    seen: button('button', 'm5 12 5 5 9-10', 'Mark as seen', () => act(id, 'seen')),
    resume: copyButton('Resume command', () => resumeCommand(agents.get(id))),
    timeline: el('ol.timeline', { 'aria-label': 'Newest first' }),
    older: button('button', null, 'Earlier events', () => view.events.older(), { hidden: true }), fault: el('p.fault', { hidden: true, role: 'status' }),
  };
  p.reply = new Reply(id);
  p.talk = new Talk(id, () => drawTalk(p));
  p.changes = new Changes(id, (files) => text(p.tab.changes, String(files)));
  const pen = button('icon.own', 'M4 20h4L19 9l-4-4L4 16v4Z', null, () => rename(id), { 'aria-label': 'Rename', title: 'Rename' });
  const leave = button('icon', 'M6 6l12 12M18 6 6 18', null, back, { 'aria-label': 'Close', title: 'Close (Esc)' });
  const file = (format, label) => el('a.button.small.own', { href: `/api/agents/${id}/export?format=${format}`, download: '' }, label);
  const head = el('header', null, el('div.title-row', null, p.mark, p.name, pen, el('span.gap'), leave), p.place, el('div.actions', null, p.jump, p.reply.stop, p.seen, p.resume, file('markdown', 'Export'), file('json', 'JSON')), p.pending, p.said);
  p.all = [head, p.asks, p.outcome, p.reply.node, p.kids, p.facts, ...makeTabs(p, { conversation: [p.talk.box], changes: p.changes.nodes, timeline: [p.fault, p.timeline, p.older] })];
  return p;
}

/** The tab that is open, which is remembered. */
const chosen = () => root.querySelector('[name=history]:checked')?.value ?? remembered('tab') ?? 'conversation';

function choose(name) {
  const radio = root.querySelector(`[name=history][value=${name}]`);
  if (radio) radio.checked = true;
  attr(root, 'data-tab', name);
}

/** The tabs are radio buttons; the style sheet hides the panels that are not chosen. */
function makeTabs(p, panels) {
  p.tab = {};
  const first = chosen();
  const tabs = el('fieldset.segment', { 'aria-label': 'History of the agent' });
  for (const name of Object.keys(panels)) {
    p.tab[name] = el('span.count');
    const pick = () => {
      remember('tab', name);
      attr(root, 'data-tab', name);
      if (name === 'changes') p.changes.news();
      if (name === 'conversation' && !p.talk.mark) p.talk.toFoot();
    };
    const radio = el('input.sr', { type: 'radio', name: 'history', value: name, checked: name === first, onchange: pick });
    tabs.append(el(name === 'changes' ? 'label.own' : 'label', null, radio, name, p.tab[name]));
  }
  attr(root, 'data-tab', first);
  return [tabs, ...Object.entries(panels).map(([name, content]) => el('div', { 'data-panel': name }, ...content))];
}

function drawTalk(p) {
  text(p.tab.conversation, p.talk.turns.size ? String(p.talk.turns.size) : '');
  drawOutcome(p);
}

/** The last prompt and what came of it, while nothing is asked and nothing runs. */
function drawOutcome(p) {
  const agent = agents.get(p.talk.id);
  const turns = p.talk.mark ? [] : p.talk.sorted();
  const prompt = turns.findLast(({ actor }) => actor === 'user');
  const answer = turns.findLast(({ actor }) => actor === 'agent');
  const over = agent && (agent.ended_at || OVER.has(agent.group)) && !agent.interactions.length;
  const shown = over ? [prompt, answer].filter((turn) => turn && turn.text) : [];
  show(p.outcome, shown.length > 0);
  keyed(p.outcome, shown, ({ id }) => id, makeTurn);
}

function patch(p, agent) {
  attr(root, 'data-g', agent.ended_at ? 'ended' : agent.group);
  attr(root, 'aria-label', `Agent ${line(agent.name, 60)}`);
  text(p.mark, glyphOf(agent));
  text(p.name, line(agent.name, 120));
  text(p.place, whereIs(agent));
  text(p.pending, line(agent.summary.pending ?? '', 200));
  const why = noJump(agent);
  attr(p.jump, 'aria-disabled', why && 'true');
  if (why || !p.answered) text(p.said, why);
  show(p.seen, Boolean(agent.unseen));
  drawAsks(p.asks, agent);
  p.reply.patch(agent);
  drawOutcome(p);
  drawFacts(p.facts, FACTS.map(([name, of]) => ({ name, ...of(agent) })).filter((fact) => fact.text || fact.tick || fact.context));
  drawSubagents(p.kids, agent.subagents);
}

/** Directory, branch, pane, host. */
function whereIs({ cwd, branch, tmux_session: session, tmux_pane: pane, host, machine, user }) {
  const parts = [cwd && middle(tilde(cwd), 70), branch && `⎇ ${branch}`, pane && `tmux ${session ?? ''} ${pane}`, user, machine ?? host];
  return parts.filter(Boolean).map((part) => line(part, 160)).join('  ·  ');
}

/** Why no terminal can be found, or null. */
function noJump(agent) {
  if (agent.ended_at) return 'The session has ended; its resume command starts it again.';
  if (agent.headless) return 'A headless run has no terminal.';
  if (agent.edge) return `It runs on ${agent.host} of ${agent.user}: its terminal is there.`;
  if (!agent.tmux_pane && !agent.terminal) return 'Its terminal is not known: nothing has reported a tmux pane or a window.';
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

// From here, an agent of another machine is resumed through ssh: the server knows how, or that it cannot be done from here.
function resumeCommand({ client, cwd, session_id: session, edge, host, machine, resume }) {
  const there = machine ?? (edge && host);
  if (there) return resume ?? `# on ${there}: resume it there`;
  return `${cwd ? `cd ${quoted(cwd)} && ` : ''}${resumeOf(client, quoted(session)) ?? `# ${client}: no resume command is known for ${quoted(session)}`}`;
}

function rename(id) {
  const name = prompt('Name of the agent (empty: the automatic one)', agents.get(id).name);
  if (name !== null) act(id, 'name', { name });
}

const FACTS = [
  ['client', (agent) => ({ text: clientMark(agent.client), note: agent.unconfirmed ? 'unconfirmed: it says nothing at a denial or an interrupt' : '' })],
  ['command', (agent) => ({ text: agent.current_command?.instruction })],
  ['doing', (agent) => ({ text: !agent.ended_at && agent.group !== 'needs_you' && agent.status_detail })],
  ['last active', (agent) => ({ tick: Date.parse(agent.last_active_at), tail: ' ago' })],
  ['state', (agent) => ({ text: agent.state.replaceAll('_', ' '), note: `${agent.source}, ${agent.confidence}` })],
  ['background', (agent) => ({ text: agent.background.map((task) => line(task?.description ?? task?.command ?? task?.type ?? 'task', 80)).concat(agent.more_background ? [`and ${agent.more_background} more`] : []).join(', ') })],
  ['context', ({ context }) => ({ context, note: context && `${tokens(context.used_tokens)} of ${tokens(context.window)}` })],
  ['cost', (agent) => ({ text: typeof agent.cost_usd === 'number' && dollars(agent.cost_usd) })],
  ['lines', ({ lines }) => ({ text: lines && `+${lines.added} −${lines.removed}` })],
  ['pull request', ({ pr }) => ({ text: pr && [pr.number && `#${pr.number}`, pr.review_state?.replaceAll?.('_', ' ')].filter(Boolean).join(', '), note: pr?.url && middle(pr.url, 60) })],
  ['worktree', ({ worktree }) => ({ text: worktree && (worktree.name ?? worktree.branch ?? middle(worktree.path ?? '', 40)), note: worktree?.original_branch && `from ${worktree.original_branch}` })],
  ['scheduled', ({ crons = [] }) => ({ text: crons.map((cron) => line(cron?.prompt ?? cron?.name ?? cron?.id ?? 'prompt', 60)).join(', '), note: crons.map((cron) => cron?.cron ?? cron?.schedule).filter((each) => typeof each === 'string').map((each) => line(each, 30)).join(', ') })],
  ['model', (agent) => ({ text: agent.model })],
  ['permission mode', (agent) => ({ text: agent.permission_mode })],
  ['role', (agent) => ({ text: [agent.role, agent.mode].filter(Boolean).join(', ') })],
  ['started', (agent) => ({ text: clock(Date.parse(agent.started_at), now()) })],
  ['ended', (agent) => ({ text: agent.ended_at && clock(Date.parse(agent.ended_at), now()), note: agent.end_reason?.replaceAll('_', ' ') })],
  ['session', (agent) => ({ text: agent.session_id, note: agent.sessions.length > 1 ? plural(agent.sessions.length, 'session') : '' })],
];
