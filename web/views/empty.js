// The empty page: what is still missing until the first agent shows up, ticked off live.

import { byId, copyButton, el, keyed, show, text } from '../lib/dom.js';

const root = byId('empty');

const STEPS = [
  { id: 'server', label: 'The server is running', done: (s) => s.live, hint: 'headspace up', why: 'Start it in the background, or at every login with headspace service install.' },
  { id: 'hooks', label: 'The hooks are installed', done: (s) => s.events > 0 || s.hooks === 'installed', hint: 'headspace install', why: 'Adds entries to Claude Code’s settings and leaves the rest of the file unchanged. Done already? headspace doctor says what is wrong.' },
  { id: 'event', label: 'The first event came in', done: (s) => s.events > 0, hint: 'claude', why: 'Start a session, or type into a running one: no restart is needed.' },
  { id: 'agent', label: 'An agent shows up', done: (s) => s.agents > 0, hint: 'headspace demo', why: 'A made-up day of several agents shows what this page looks like in use.' },
];

let list = null;

/** `state`: `{live, events, hooks, agents}`. */
export function update(state, visible) {
  show(root, visible);
  if (!visible) return;
  if (!list) {
    list = el('ol.steps');
    root.append(el('h2', null, 'No agents yet'), el('p', null, 'As soon as a Claude Code session does something, it shows here.'), list);
  }
  keyed(list, STEPS, (step) => step.id, makeStep, (node, step) => {
    const done = Boolean(step.done(state));
    node.dataset.done = done ? '1' : '0';
    text(node.tick, done ? '✓' : '');
    text(node.word, done ? 'done' : 'to do');
  });
}

function makeStep(step) {
  const tick = el('span.check', { 'aria-hidden': 'true' });
  const word = el('span.sr');
  const node = el('li', null, tick, el('div', null, el('b', null, step.label), word, el('p.note', null, step.why), el('div.hint', null, el('code', null, step.hint), copyButton('Copy', () => step.hint))));
  return Object.assign(node, { tick, word });
}
