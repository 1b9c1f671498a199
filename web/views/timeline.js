// The timeline of one agent: a row per call with its duration, lanes for subagents, raw JSON on demand.

import { now } from '../lib/api.js';
import { rowsOf } from '../lib/calls.js';
import { attr, el, foreign, keyed, text } from '../lib/dom.js';
import { clock, duration, line } from '../lib/format.js';
import { rawEvent, setTick } from '../lib/parts.js';

const STATES = { open: 'running', ok: 'ok', failed: 'failed', refused: 'not run', interrupted: 'interrupted', unknown: 'no end seen' };
const MOST_LANES = 6;

/** Draws `events` (any order) into `list`, newest first. */
export function drawTimeline(list, events) {
  const rows = rowsOf(events.filter((event) => !event.duplicate)).reverse();
  const width = Math.min(MOST_LANES, Math.max(1, ...rows.map((row) => row.lanes.length)));
  keyed(list, rows, (row) => row.key, makeRow, (node, row) => patchRow(node, row, width));
}

function makeRow() {
  const bits = { lanes: el('span.lanes', { 'aria-hidden': 'true' }), at: el('time'), title: el('b.title'), text: foreign('span.ask'), waited: el('span.waited'), ms: el('span.ms.tick'), state: el('span.state') };
  const details = el('details', null, el('summary', null, bits.lanes, bits.at, el('span.what', null, bits.title, bits.text), bits.waited, bits.ms, bits.state));
  const node = Object.assign(el('li', null, details), { bits, details });
  details.addEventListener('toggle', () => drawRaw(node));
  return node;
}

function patchRow(node, row, width) {
  const { bits } = node;
  attr(node, 'data-state', row.asked && row.state === 'open' ? 'asks' : row.state);
  patchLanes(bits.lanes, row, width);
  text(bits.at, clock(row.at, now()));
  text(bits.title, line(row.title, 60));
  text(bits.text, row.text);
  text(bits.waited, row.waited > 1000 ? `asked you ${duration(row.waited)}` : '');
  setTick(bits.ms, row.state === 'open' ? row.at : 0, duration);
  if (row.ms !== null) text(bits.ms, duration(row.ms));
  text(bits.state, row.asked && row.state === 'open' ? 'asks you' : STATES[row.state] ?? '');
  node.row = row;
  drawRaw(node);
}

function patchLanes(node, row, width) {
  const key = `${width}:${row.lane}:${JSON.stringify(row.lanes)}`;
  if (node.key === key) return;
  node.key = key;
  const cell = (_, i) => el('i', { 'data-l': i, class: ['on', 'up', 'down'].filter((side) => row.lanes[i]?.[side]).join(' ') });
  node.replaceChildren(...Array.from({ length: width }, cell));
}

/** The raw events of an open row, rendered again only when one was added. */
function drawRaw(node) {
  if (!node.details.open || node.drawn === node.row.events.length) return;
  node.drawn = node.row.events.length;
  node.raw?.remove();
  node.details.append((node.raw = el('div.raw', null, ...node.row.events.map(rawEvent))));
}
