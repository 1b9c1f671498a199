// The card of an open question: all of what is asked, and where answering is on, the ways to answer it.

import { agents } from '../lib/agents.js';
import { get, now } from '../lib/api.js';
import { answering, canAnswer, CHOICES, INERT_FOR, PLACES, send } from '../lib/answer.js';
import { drawDiff } from '../lib/diff.js';
import { attr, button, copyButton, el, foreign, keyed, show, text, withCode } from '../lib/dom.js';
import { age, line, middle, plain, relative } from '../lib/format.js';
import { markdown } from '../lib/markdown.js';
import { setTick, tickNode } from '../lib/parts.js';
import { askUnlock, confirmAll } from './dialogs.js';

const KINDS = { permission: 'Permission', question: 'Question', plan: 'Plan to approve', mcp: 'MCP input', mcp_input: 'MCP input', reply: 'Waiting for your reply', dialog: 'A dialog is open' };
const GUARD = { ask: 'The guard would ask', deny: 'The guard would deny this', allow: 'The guard has no objection' };

/** The cards of an agent, the oldest question first. */
export function drawAsks(list, agent) {
  const cards = agent.interactions.map((ask) => ({ ask, agent }));
  if (agent.error) cards.push({ ask: null, agent });
  keyed(list, cards, ({ ask }) => ask?.id ?? 'error', ({ ask }) => (ask ? makeAsk() : makeError()), (node, card) => (card.ask ? patchAsk(node, card.ask, card.agent) : patchError(node, card.agent)));
}

function makeError() {
  const bits = { since: tickNode(), text: foreign('p.ask'), note: el('p.note') };
  return Object.assign(el('section.card', { 'data-g': 'error' }, el('header', null, el('b', null, 'The turn failed'), el('span.gap'), bits.since), bits.text, bits.note), { bits });
}

function patchError(node, agent) {
  setTick(node.bits.since, Date.parse(agent.source_at), (ms) => `${age(ms)} ago`);
  text(node.bits.text, plain([agent.error.replaceAll('_', ' '), agent.last_said].filter(Boolean).join('\n'), 6000));
  text(node.bits.note, knownFrom(agent));
}

const knownFrom = (agent) => `known from ${agent.source}, confidence ${agent.confidence}`;

function makeAsk() {
  const bits = { kind: el('b'), by: el('span.note'), since: tickNode(), body: el('div.whole'), place: el('p.note.where'), guard: el('p.guard'), controls: el('div.controls'), told: el('p.told', { role: 'status' }), note: el('p.note') };
  const node = el('section.card', { 'data-g': 'needs_you' }, el('header', null, bits.kind, bits.by, el('span.gap'), bits.since), bits.body, bits.place, bits.guard, bits.controls, bits.told, bits.note);
  return Object.assign(node, { bits, drawn: null });
}

function patchAsk(node, ask, agent) {
  const { bits } = node;
  Object.assign(node, { ask, agent });
  const { answer, ...content } = ask;
  const can = canAnswer(ask);
  const key = JSON.stringify([content, answer?.digest, can && answer.can, answer?.confirm]);
  if (node.drawn !== key) {
    node.drawn = key;
    node.readyAt = performance.now() + INERT_FOR;
    bits.body.replaceChildren(...bodyOf(ask, agent, node, can));
    bits.controls.replaceChildren(...(can ? controlsOf(node, ask).filter(Boolean) : []));
    if (can) thaw(node);
  }
  attr(node, 'data-ask', ask.id);
  text(bits.kind, KINDS[ask.kind] ?? 'Asks');
  text(bits.by, whoAsks(agent, ask));
  setTick(bits.since, Date.parse(ask.opened_at), (ms) => `waiting ${age(ms)}`);
  const place = ask.cwd ?? agent.cwd;
  text(bits.place, place ? `in ${middle(relative(place, agent.project_path, agent.project), 90)}` : '');
  askGuard(node, ask, agent);
  withCode(bits.note, [can ? '' : line(answer?.why || 'Answer in its terminal', 200), knownFrom(agent)].filter(Boolean).join(' · '));
  text(bits.told, node.failed ?? whatHappened(answer));
  patchLock(node);
}

/** What the guard says to the call; the server judges it, once per ask. */
async function askGuard(node, ask, agent) {
  // Only the machine it runs on can judge it.
  if (node.judged === ask.id || ask.kind !== 'permission' || !ask.input || agent.machine || agent.edge) return;
  node.judged = ask.id;
  const { verdict, reason, rule } = await get(`/api/interactions/${ask.id}/guard`).catch(() => ({}));
  if (node.ask.id !== ask.id || !Object.hasOwn(GUARD, verdict ?? '')) return;
  attr(node.bits.guard, 'data-verdict', verdict);
  withCode(node.bits.guard, [GUARD[verdict], reason && `${line(reason, 300)}`, rule && `(${line(rule, 60)})`].filter(Boolean).join(verdict === 'allow' ? ' ' : ': ').replace(/: \(/, ' ('));
}

function whoAsks(agent, ask) {
  if (!ask.subagent) return null;
  const child = agent.subagents.find(({ agent_id }) => agent_id === ask.subagent);
  return `asked by subagent ${line(child?.agent_type || ask.subagent, 40)}`;
}

const WORDS = { claimed: 'is on its way to the agent', delivered: 'was given to the agent', confirmed: 'counts: the agent goes on', lost_to_terminal: 'came too late: the terminal was first', answered_in_terminal: 'Answered in the terminal', refused_in_terminal: 'Refused in the terminal', withdrawn: 'It can no longer be answered from here' };

function whatHappened(answer) {
  if (!answer?.state || answer.state === 'open' || !WORDS[answer.state]) return '';
  const word = WORDS[answer.state];
  if (/^[A-Z]/.test(word)) return word;
  return `The answer${answer.by ? ` from ${placeOf(answer.by)}` : ''} ${word}.`;
}

const placeOf = (by) => (Object.hasOwn(PLACES, by) ? PLACES[by] : line(by, 20));

/** Everything that is asked. */
function bodyOf(ask, agent, node, can) {
  const out = [];
  const title = ask.title && line(ask.title, 200);
  if (ask.description) out.push(el('p.about', { dir: 'auto' }, line(ask.description, 400)));
  if (ask.questions?.length) out.push(...questions(ask, node, can && ask.answer.can.includes('answers')));
  else if (ask.plan) out.push(el('div.plan', { tabindex: '0', role: 'group', 'aria-label': 'Plan' }, markdown(ask.plan)));
  else if (diffOf(ask)) {
    const path = ask.input?.file_path ?? ask.input?.notebook_path ?? ask.text;
    out.push(el('p.about', null, `${line(ask.tool_name, 60)} `, el('code', { title: line(path, 400) }, middle(relative(path, agent.project_path), 90))), drawDiff(diffOf(ask), 'What it would change'));
  } else if (ask.tool_name && typeof ask.input?.command === 'string') {
    if (!ask.description) out.push(el('p.about', null, `Allow ${line(ask.tool_name, 60)}`));
    out.push(command(ask.text));
  } else {
    // The text alone says what a tool is about, not all of what it would get.
    const whole = ask.input && typeof ask.input === 'object' && Object.keys(ask.input).length > 0 && ask.title;
    out.push(el('p.ask', { dir: 'auto' }, whole ? title : plain(ask.text, 70000)));
    if (whole) out.push(command(JSON.stringify(ask.input, null, 2)));
    else if (ask.options?.length) out.push(el('ol.options', { 'aria-label': 'Choices' }, ...ask.options.map((label) => el('li', { dir: 'auto' }, line(label, 300)))));
  }
  return out;
}

/** What would change: against the file where it could be read, else what is replaced by what. */
function diffOf({ diff, input }) {
  if (diff) return diff;
  const lines = (sign, words) => (typeof words === 'string' && words ? words.replace(/\n$/, '').split('\n').map((each) => `${sign}${each}\n`).join('') : '');
  if (typeof input?.new_string === 'string' && typeof input.old_string === 'string') return `@@ … @@\n${lines('-', input.old_string)}${lines('+', input.new_string)}`;
  return typeof input?.content === 'string' && typeof input.file_path === 'string' ? `@@ … @@\n${lines('+', input.content)}` : null;
}

const command = (lines) => el('div.command', null, el('pre', { tabindex: '0', role: 'group', 'aria-label': 'What would run', dir: 'ltr' }, plain(lines, 70000)), copyButton('Copy', () => String(lines)));

/** The questions with their choices; with fields where they can be answered. */
function questions(ask, node, can) {
  node.fields = [];
  return ask.questions.map((one, at) => {
    const name = `q-${ask.id}-${at}`;
    const kind = one.multi_select ? 'checkbox' : 'radio';
    const free = can && el('input.free', { type: 'text', 'aria-label': `Another answer to: ${line(one.question, 100)}`, placeholder: 'Another answer', maxlength: 4000, autocomplete: 'off' });
    const boxes = [];
    const rows = (one.options ?? []).map(({ label, description }) => {
      const box = can && el('input', { type: kind, name, value: label });
      if (box) boxes.push(box);
      const words = [el('b', null, line(label, 300)), description && el('span.note', null, line(description, 500))];
      return el('li', { dir: 'auto' }, can ? el('label', null, box, el('span', null, ...words)) : el('span', null, ...words));
    });
    if (can) node.fields.push({ one, boxes, free });
    if (free) free.addEventListener('input', () => free.value && !one.multi_select && boxes.forEach((box) => (box.checked = false)));
    const head = el('p.ask', { dir: 'auto', id: name }, one.header && el('span.chip', null, line(one.header, 40)), ` ${plain(one.question, 8000)}`);
    const list = el(one.multi_select ? 'ul.options' : 'ol.options', { 'aria-label': one.multi_select ? 'Choices, several are possible' : 'Choices' }, ...rows);
    return el('div.question', can ? { role: 'group', 'aria-labelledby': name } : null, head, one.multi_select && el('p.note', null, 'several may be chosen'), list, free);
  });
}

/** What the fields say, in the form of the route, or null while one is empty. */
function answersOf(node) {
  const answers = {};
  for (const { one, boxes, free } of node.fields ?? []) {
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
    if (free.value.trim()) answers[one.question] = { text: free.value };
    else if (!chosen.length) return null;
    else answers[one.question] = one.multi_select ? chosen : chosen[0];
  }
  return answers;
}

function controlsOf(node, ask) {
  const { can, confirm } = ask.answer;
  node.message = can.some((choice) => ['deny', 'keep_planning'].includes(choice)) && el('input', { type: 'text', class: 'free', maxlength: 4000, autocomplete: 'off', 'aria-label': 'A remark for the agent', placeholder: ask.kind === 'plan' ? 'What should be different?' : 'Say why, or what to do instead (optional)' });
  node.confirm = confirm && can.includes('allow') && el('input', { type: 'text', class: 'free', autocomplete: 'off', spellcheck: 'false', 'aria-label': `Type ${line(confirm, 60)} to allow it`, placeholder: `Type ${line(confirm, 60)} to allow it` });
  node.buttons = Object.keys(CHOICES).filter((choice) => can.includes(choice)).map((choice) =>
    button(choice === 'allow' || choice === 'approve' || choice === 'answers' ? 'button.main' : 'button', null, CHOICES[choice][0], () => choose(node, choice), { 'data-choice': choice, title: { allow: 'a', deny: 'd' }[choice] && `${CHOICES[choice][0]} (${{ allow: 'a', deny: 'd' }[choice]})` }));
  node.alike = button('button', null, 'Answer all', () => answerAlike(node), { hidden: true });
  node.unlock = button('button.main', null, 'Unlock to answer', () => askUnlock(), { hidden: true });
  return [ask.answer.why && el('p.note', null, line(ask.answer.why, 300)), can.includes('approve') && el('p.note', null, 'Mode afterwards: default.'),
    node.confirm && el('p.note', null, `Not an everyday command: to allow it, type the name of its program, `, el('code', null, line(confirm, 60)), '.'), node.confirm, node.message, el('div.actions', null, node.unlock, ...node.buttons, node.alike)];
}

/** Locked, or just drawn: no button does anything. */
function patchLock(node) {
  if (!node.buttons || !canAnswer(node.ask)) return;
  const mine = Boolean(answering?.mine);
  const busy = node.ask.answer.state && node.ask.answer.state !== 'open';
  const inert = performance.now() < node.readyAt || node.sent || busy;
  for (const each of node.buttons) {
    show(each, mine);
    attr(each, 'aria-disabled', inert ? 'true' : null);
  }
  show(node.unlock, !mine);
  for (const field of [node.message, node.confirm]) if (field) show(field, mine);
  const alike = mine && !inert ? alikeOf(node.ask) : [];
  show(node.alike, alike.length > 1);
  text(node.alike.word, `Answer all ${alike.length} of these…`);
}

function thaw(node) {
  setTimeout(() => node.isConnected && patchLock(node), INERT_FOR + 20);
}

const ready = (node) => node?.buttons && canAnswer(node.ask) && answering?.mine && !node.sent && performance.now() >= node.readyAt && (node.ask.answer.state ?? 'open') === 'open';

async function choose(node, choice) {
  if (!ready(node) || !node.ask.answer.can.includes(choice)) return;
  const more = {};
  if (choice === 'answers') {
    more.answers = answersOf(node);
    if (!more.answers) return tell(node, 'Every question needs an answer.');
  }
  if (choice === 'allow' && node.confirm) {
    if (node.confirm.value !== node.ask.answer.confirm) return tell(node, `Type ${node.ask.answer.confirm} to allow this.`);
    more.confirm = node.confirm.value;
  }
  const message = node.message?.value.trim();
  if (message && !['allow', 'approve', 'answers'].includes(choice)) more.message = message;
  await answer(node.ask, choice, more, node);
}

function tell(node, words) {
  node.failed = words;
  if (node.bits) text(node.bits.told, words);
}

/** Sends the answer to the ask that was drawn. Returns what came of it, in words. */
async function answer(ask, choice, more, node) {
  if (node) node.sent = true;
  if (node) patchLock(node);
  let words;
  try {
    await send(ask.id, ask.answer.digest, choice, more);
    words = `${CHOICES[choice][1]}: on its way to the agent.`;
  } catch (error) {
    const { by, at } = error.body ?? {};
    words = error.status === 409 && by ? `Already answered from ${placeOf(by)}${at ? `, ${age(now() - Date.parse(at))} ago` : ''}.` : error.status === 409 ? 'This ask no longer waits for an answer.' : `Could not answer: ${line(error.message, 200)}`;
    if (node && error.status !== 409) node.sent = false;
  }
  if (node) {
    tell(node, words);
    patchLock(node);
  }
  return words;
}

/** What can be said to several at once. */
const TOGETHER = ['allow', 'deny'];

/** The open asks of all agents that ask for exactly the same, and take the same answers: the server gives them the same key. */
function alikeOf(ask) {
  const same = (other) => ask.answer.alike && other.answer?.alike === ask.answer.alike;
  return [...agents.values()].flatMap((agent) => agent.interactions.filter(same).map((each) => ({ agent, ask: each })));
}

function answerAlike(node) {
  if (!ready(node)) return;
  confirmAll(alikeOf(node.ask), TOGETHER.filter((choice) => node.ask.answer.can.includes(choice)), (each, choice, more) => answer(each, choice, more, null));
}

/** `a` or `d` was pressed: the open agent's first ask that takes it, after a second look. */
export function answerByKey(root, choice) {
  const node = [...root.querySelectorAll('.card')].find((card) => ready(card) && card.ask.answer.can.includes(choice));
  if (!node) return false;
  confirmAll([{ agent: node.agent, ask: node.ask }], [choice], (each, chosen, more) => answer(each, chosen, more, node));
  return true;
}

/** The state of the lock changed: the cards on the page follow. */
export function patchLocks(root) {
  for (const card of root.querySelectorAll('.card')) if (card.ask) patchAsk(card, card.ask, card.agent);
}
