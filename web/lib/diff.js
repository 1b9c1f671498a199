// A unified diff as lines in color, with their signs.

import { button, el } from './dom.js';
import { plain } from './format.js';

/** Lines that are shown before the reader asks for more. */
const SHOWN = 200;
const SIGNS = { '+': 'add', '-': 'del', '@': 'hunk' };

export function drawDiff(diff, label = 'Diff') {
  const lines = plain(diff, 200000).replace(/\n$/, '').split('\n');
  // The head names the file, which stands above.
  if (lines[0].startsWith('--- ') && lines[1]?.startsWith('+++ ')) lines.splice(0, 2);
  const row = (text) => el('span', { class: SIGNS[text[0]] ?? null }, `${text || ' '}\n`);
  const code = el('pre.diff', { tabindex: '0', role: 'group', 'aria-label': label }, ...lines.slice(0, SHOWN).map(row));
  const more = lines.length > SHOWN && button('button.small', null, `Show all ${lines.length} lines`, () => {
    code.append(...lines.slice(SHOWN).map(row));
    more.remove();
  });
  return el('div', null, code, more);
}

/** `+12 −3`, with words for a screen reader. */
export const counted = (added, removed) => el('span.counted', { role: 'img', 'aria-label': `${added} lines added, ${removed} removed` }, el('b.add', null, `+${added}`), ' ', el('b.del', null, `−${removed}`));
