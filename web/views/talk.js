// The conversation of an agent in reading order, with what it did between: the newest is at the foot, and in view.

import { get, now } from '../lib/api.js';
import { rowsOf } from '../lib/calls.js';
import { attr, button, copyButton, el, keyed, show, text } from '../lib/dom.js';
import { clock, duration, line, plain, plural } from '../lib/format.js';
import { markdown } from '../lib/markdown.js';

/** Turns per request. */
const PAGE = 100;
/** Calls in a row that are shown without a click. */
const FEW = 4;
/** Characters of a turn that are shown before the reader asks for more. */
const SHOWN = 6000;
const STATES = { ok: '✓', failed: '✗', refused: '–', interrupted: '–', open: '…', unknown: '?' };

/** The conversation of the agent `id`, as nodes for its tab. `changed()` is called when turns came. */
export class Talk {
  constructor(id, changed) {
    Object.assign(this, { id, changed, turns: new Map(), rows: [], more: false, newer: false, mark: null });
    this.list = el('ol.turns', { 'aria-label': 'Conversation, oldest first' });
    this.earlier = button('button', null, 'Earlier', () => this.load({ before: this.sorted()[0].id }), { hidden: true });
    this.later = button('button', null, 'Go to the newest', () => this.restart(), { hidden: true });
    this.box = el('div.talk', { tabindex: '0', role: 'region', 'aria-label': 'Conversation' }, this.earlier, this.list, this.later);
  }

  sorted() {
    return [...this.turns.values()].sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp) || a.id - b.id);
  }

  /** What is new at the end; a page opened at a hit stays there. */
  async news() {
    if (!this.newer) await this.load({});
  }

  restart() {
    Object.assign(this, { newer: false, mark: null, more: false });
    this.turns.clear();
    return this.load({});
  }

  /** Opens the conversation where this was said. */
  async at(turn) {
    this.mark = turn;
    this.turns.clear();
    this.newer = true;
    await this.load({ through: turn });
    await this.load({ after: turn });
    this.list.querySelector('.hit')?.scrollIntoView({ block: 'center' });
  }

  async load(range) {
    const answer = await get(`/api/agents/${this.id}/turns`, { ...range, limit: PAGE }).catch(() => null);
    if (!answer) return;
    const foot = this.atFoot();
    const first = !this.turns.size;
    for (const turn of answer.turns) this.turns.set(turn.id, turn);
    if (range.after) this.newer = answer.next !== undefined;
    else if (first || range.before || range.through) this.more = answer.next !== undefined;
    this.draw();
    if (!this.mark && !range.before && (foot || first)) this.toFoot();
    this.changed(this);
  }

  atFoot() {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 40;
  }

  toFoot() {
    this.box.scrollTop = this.box.scrollHeight;
  }

  /** The agent's events, any order. */
  setEvents(events) {
    this.rows = rowsOf(events.filter((event) => !event.duplicate)).filter((row) => row.tool);
    if (!this.turns.size) return;
    const foot = this.atFoot();
    this.draw();
    if (foot && !this.mark) this.toFoot();
  }

  draw() {
    const turns = this.sorted();
    const items = [];
    let from = turns.length && this.more ? Date.parse(turns[0].timestamp) : -Infinity;
    for (const turn of [...turns, null]) {
      const to = turn ? Date.parse(turn.timestamp) : this.newer ? -Infinity : Infinity;
      const calls = this.rows.filter((row) => row.at >= from && row.at < to);
      if (calls.length) items.push({ key: `c${calls[0].key}`, calls });
      if (turn) items.push({ key: `t${turn.id}`, turn });
      from = Math.max(from, to);
    }
    keyed(this.list, items, ({ key }) => key, ({ turn }) => (turn ? makeTurn(turn) : makeCalls()), (node, { turn, calls }) => (turn ? attr(node, 'class', turn.id === this.mark ? 'hit' : null) : patchCalls(node, calls)));
    show(this.earlier, this.more);
    show(this.later, this.newer);
  }
}

/** A permission in the server's words, with the command as it is: no Markdown, whose marks a shell uses too. */
const isPermission = ({ intent, text: said }) => intent === 'question' && said.startsWith('Allow ');

export function makeTurn(turn) {
  const long = turn.text.length > SHOWN;
  const body = el('div.said-text', null, isPermission(turn) ? el('p', { dir: 'auto' }, plain(turn.text)) : markdown(turn.text, long ? SHOWN : undefined));
  const more = long && button('button.small', null, 'Show all', () => {
    body.replaceChildren(markdown(turn.text, 400000));
    more.remove();
  });
  return el('li', { 'data-actor': turn.actor },
    el('header', null, el('b', null, turn.actor === 'user' ? 'You' : 'Agent'), el('span', null, turn.intent.replaceAll('_', ' ')),
      turn.confidence !== 'high' && el('span.note', null, `confidence ${turn.confidence}`), el('span.gap'), el('time', { title: turn.timestamp }, clock(Date.parse(turn.timestamp), now())), copyButton('Copy', () => String(turn.text))),
    body, more);
}

function makeCalls() {
  const summary = el('summary');
  const list = el('ul');
  const details = el('details', null, summary, list);
  return Object.assign(el('li.calls', null, details), { summary, details, list });
}

function patchCalls(node, calls) {
  const failed = calls.filter((call) => call.state === 'failed').length;
  const took = calls.reduce((sum, call) => sum + (call.ms ?? 0), 0);
  const running = calls.filter((call) => call.state === 'open').length;
  const known = calls.some((call) => call.ms !== null);
  text(node.summary, [plural(calls.length, 'tool call'), known && duration(took), running && (running === calls.length ? 'running' : `${running} running`), failed && `${failed} failed`].filter(Boolean).join(' · '));
  if (!node.drawnOnce && calls.length <= FEW) node.details.open = true;
  node.drawnOnce = true;
  keyed(node.list, calls, (call) => call.key, () => {
    const bits = [el('span.end', { 'aria-hidden': 'true' }), el('b'), el('span.ask', { dir: 'auto' }), el('span.ms')];
    return Object.assign(el('li', null, ...bits), { bits });
  }, (row, call) => {
    const [end, tool, gist, ms] = row.bits;
    attr(row, 'data-state', call.state);
    text(end, STATES[call.state] ?? '');
    text(tool, line(call.title, 60));
    text(gist, call.text);
    text(ms, call.ms === null ? '' : `${duration(call.ms)}${call.state === 'ok' ? '' : ` ${call.state}`}`);
  });
}
