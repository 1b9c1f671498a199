// The files an agent edited: how many lines came and went, and each edit as a diff. Loaded when its tab is opened.

import { get, now } from '../lib/api.js';
import { counted, drawDiff } from '../lib/diff.js';
import { attr, copyButton, el, keyed, show, text } from '../lib/dom.js';
import { clock, line, middle, plural } from '../lib/format.js';

export class Changes {
  constructor(id, changed) {
    Object.assign(this, { id, changed, answer: null });
    this.sum = el('p.note');
    this.copy = copyButton('Copy all as a patch', () => this.answer.files.map(patchOf).join(''));
    this.list = el('ol.files', { 'aria-label': 'Files, the one edited last first' });
    this.nodes = [el('div.actions', null, this.sum, this.copy), this.list];
    show(this.copy, false);
  }

  async news() {
    const answer = await get(`/api/agents/${this.id}/changes`).catch((error) => ({ fault: error.message }));
    if (answer.fault) {
      show(this.copy, false);
      return text(this.sum, `Could not load the changes: ${line(answer.fault, 200)}`);
    }
    this.answer = answer;
    show(this.copy, answer.files.length > 0);
    const all = answer.complete ? '' : ', of its newest events';
    text(this.sum, answer.files.length ? `${plural(answer.files.length, 'file')}, +${answer.added} −${answer.removed} lines${all}` : 'No edit by a tool is known. What commands of its shell changed is not in its events.');
    keyed(this.list, answer.files, (file) => file.full_path, makeFile, patchFile);
    this.changed(answer.files.length);
  }
}

/** The edits of a file, one after the other: what `git apply` would want is known only where the client said the lines. */
const patchOf = (file) => `--- ${file.created ? '/dev/null' : `a/${file.path}`}\n+++ ${file.deleted ? '/dev/null' : `b/${file.path}`}\n${file.edits.map((edit) => edit.diff).join('')}`;

function makeFile(file) {
  const path = el('code', { title: line(file.full_path, 500) }, middle(file.path, 80));
  const bits = { counted: el('span'), note: el('span.note'), edits: el('ol.edits') };
  const details = el('details', null, el('summary', null, path, el('span.gap'), bits.note, bits.counted), bits.edits);
  const node = Object.assign(el('li', null, details), { bits, details, drawn: 0 });
  details.addEventListener('toggle', () => drawEdits(node));
  return node;
}

function patchFile(node, file) {
  node.file = file;
  const { bits } = node;
  text(bits.note, [file.created && 'new', file.deleted && 'deleted', file.edits.length > 1 && plural(file.edits.length, 'edit')].filter(Boolean).join(', '));
  const key = `${file.added}/${file.removed}`;
  if (bits.counted.key !== key) bits.counted.replaceChildren(counted(file.added, file.removed));
  bits.counted.key = key;
  attr(node, 'data-deleted', file.deleted ? '1' : null);
  drawEdits(node);
}

function drawEdits(node) {
  if (!node.details.open || node.drawn === node.file.edits.length) return;
  node.drawn = node.file.edits.length;
  node.bits.edits.replaceChildren(...node.file.edits.map((edit) => el('li', null,
    el('header', null, el('b', null, line(edit.tool, 40)), el('time', null, clock(Date.parse(edit.at), now())), edit.subagent && el('span.note', null, `by subagent ${line(edit.subagent, 40)}`), edit.cut && el('span.note', null, 'not all of it was stored'), el('span.gap'), copyButton('Copy', () => edit.diff)),
    edit.diff ? drawDiff(edit.diff, `Edit of ${line(node.file.path, 200)}`) : el('p.note', null, 'The text of this edit is not stored any more.'))));
}
