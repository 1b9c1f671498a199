// Markdown ▶ nodes: a strict subset, and nothing but it. Text stays text: no HTML, no images, no address that is loaded or
// followed by itself. Every step moves forward through the text, so that no text takes long.

import { el } from './dom.js';
import { line, plain } from './format.js';

const MAX_DEPTH = 6;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TASK = /^\[([ xX])\]\s+/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/** A `div` with what `text` says. */
export function markdown(text, limit = 100000) {
  return el('div.md', { dir: 'auto' }, ...blocks(plain(text, limit).split('\n'), 0));
}

function blocks(lines, depth) {
  const out = [];
  let said = [];
  const flush = () => {
    if (said.length) out.push(el('p', null, ...inline(said.join('\n'), 0)));
    said = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const at = lines[i];
    const fence = FENCE.exec(at);
    const heading = HEADING.exec(at);
    if (!at.trim()) flush();
    else if (fence) {
      flush();
      const code = [];
      const end = fence[1];
      for (i++; i < lines.length && !(lines[i].trim().startsWith(end) && !lines[i].trim().slice(end.length).replaceAll(end[0], '').trim()); i++) code.push(lines[i]);
      out.push(codeBlock(code.join('\n'), fence[2]));
    } else if (heading) {
      flush();
      // The page has its own headings: these look like some, and are none for a screen reader's list.
      out.push(el(`p.h${heading[1].length}`, null, ...inline(heading[2], 0)));
    } else if (RULE.test(at)) {
      flush();
      out.push(el('hr'));
    } else if (/^ {0,3}>/.test(at) && depth < MAX_DEPTH) {
      flush();
      const quoted = [];
      for (; i < lines.length && /^ {0,3}>/.test(lines[i]); i++) quoted.push(lines[i].replace(/^ {0,3}> ?/, ''));
      i--;
      out.push(el('blockquote', null, ...blocks(quoted, depth + 1)));
    } else if (ITEM.test(at) && depth < MAX_DEPTH) {
      flush();
      i = list(lines, i, depth, out);
    } else if (at.includes('|') && DIVIDER.test(lines[i + 1] ?? '')) {
      flush();
      i = table(lines, i, out);
    } else said.push(at.trim());
  }
  flush();
  return out;
}

const codeBlock = (code, language) => el('pre', { tabindex: '0', role: 'group', 'aria-label': line(language, 20) || 'code', 'data-language': line(language, 20) || null }, el('code', null, code));

/** The list that begins at line `i`; returns its last line. */
function list(lines, i, depth, out) {
  const [, indent, sign] = ITEM.exec(lines[i]);
  const ordered = /\d/.test(sign);
  const node = el(ordered ? 'ol' : 'ul', ordered && parseInt(sign, 10) !== 1 ? { start: parseInt(sign, 10) } : null);
  let body = null;
  const close = () => body && node.append(item(body, depth));
  for (; i < lines.length; i++) {
    const next = ITEM.exec(lines[i]);
    const inner = /^\s*/.exec(lines[i])[0].length > indent.length;
    if (next && next[1].length <= indent.length) {
      if (next[1].length < indent.length || /\d/.test(next[2]) !== ordered) break;
      close();
      body = [next[3]];
    } else if (inner) body.push(lines[i].slice(Math.min(indent.length + 2, /^\s*/.exec(lines[i])[0].length)));
    // A blank line belongs to the list if the list goes on behind it.
    else if (!lines[i].trim() && (ITEM.test(lines[i + 1] ?? '') || /^\s{2,}\S/.test(lines[i + 1] ?? ''))) body.push('');
    else break;
  }
  close();
  out.push(node);
  return i - 1;
}

function item(body, depth) {
  const task = TASK.exec(body[0]);
  if (task) body[0] = `${task[1] === ' ' ? '☐' : '☑'} ${body[0].slice(task[0].length)}`;
  const inner = blocks(body, depth + 1);
  // A short item is its text, not a paragraph.
  if (inner[0]?.tagName === 'P' && !inner[0].className) inner.splice(0, 1, ...inner[0].childNodes);
  return el('li', null, ...inner);
}

const cells = (row) => row.trim().replace(/^\||\|$/g, '').split('|').slice(0, 20).map((cell) => inline(cell.trim(), 0));

function table(lines, i, out) {
  const head = el('tr', null, ...cells(lines[i]).map((cell) => el('th', { scope: 'col' }, ...cell)));
  const body = el('tbody');
  for (i += 2; i < lines.length && lines[i].includes('|') && lines[i].trim(); i++) body.append(el('tr', null, ...cells(lines[i]).map((cell) => el('td', null, ...cell))));
  out.push(el('div.scroll', { tabindex: '0', role: 'group', 'aria-label': 'Table' }, el('table', null, el('thead', null, head), body)));
  return i - 1;
}

/** What begins where; the first one that fits counts. */
const MARKS = [['**', 'strong'], ['__', 'strong'], ['~~', 's'], ['*', 'em'], ['_', 'em']];
const WORD = /[\p{L}\p{N}]/u;

/** The text of a line as nodes. */
export function inline(text, depth) {
  const out = [];
  let said = '';
  /** Marks that do not occur again: looking for them from every place would take forever. */
  const gone = new Set();
  const find = (mark, from) => {
    if (gone.has(mark)) return -1;
    const at = text.indexOf(mark, from);
    if (at < 0) gone.add(mark);
    return at;
  };
  const put = (...nodes) => {
    if (said) out.push(said);
    said = '';
    out.push(...nodes);
  };
  for (let i = 0; i < text.length; ) {
    const c = text[i];
    if (c === '\\' && /[!-/:-@[-`{-~]/.test(text[i + 1] ?? '')) {
      said += text[i + 1];
      i += 2;
    } else if (c === '`') {
      const ticks = /^`+/.exec(text.slice(i, i + 40))[0];
      const end = find(ticks, i + ticks.length);
      if (end > 0 && end > i + ticks.length) {
        put(el('code', null, text.slice(i + ticks.length, end).replace(/^ (.*) $/, '$1')));
        i = end + ticks.length;
      } else {
        said += ticks;
        i += ticks.length;
      }
    } else if (c === '[' || (c === '!' && text[i + 1] === '[')) {
      const from = c === '!' ? i + 1 : i;
      const close = find('](', from);
      const end = close > 0 ? find(')', close) : -1;
      if (end > 0 && close - from < 500 && end - close < 2000 && !text.slice(from + 1, close).includes('\n\n')) {
        put(link(text.slice(close + 2, end).trim().split(/\s/)[0], text.slice(from + 1, close)));
        i = end + 1;
      } else {
        said += c;
        i++;
      }
    } else if (c === 'h' && /^https?:\/\/[^\s<>`]/.test(text.slice(i, i + 10)) && !WORD.test(text[i - 1] ?? '')) {
      const [url] = /^[^\s<>`"'|\])]+/.exec(text.slice(i, i + 2000));
      const bare = url.replace(/[.,;:!?*_]+$/, '');
      put(link(bare, ''));
      i += bare.length;
    } else {
      const [mark, tag] = MARKS.find(([sign]) => text.startsWith(sign, i)) ?? [];
      const end = mark && depth < MAX_DEPTH && begins(text, i, mark) ? ending(text, i, mark, find) : -1;
      if (end > 0) {
        put(el(tag, null, ...inline(text.slice(i + mark.length, end), depth + 1)));
        i = end + mark.length;
      } else if (c === '\n') {
        put(el('br'));
        i++;
      } else {
        said += mark ?? c;
        i += (mark ?? c).length;
      }
    }
  }
  put();
  return out;
}

/** A mark begins before a word; an underscore inside of a name does not, nor do the asterisks of a path (`src/*.js`). */
function begins(text, i, mark) {
  const after = text[i + mark.length];
  return after && after.trim() !== '' && after !== '/' && text[i - 1] !== '/' && !(mark[0] === '_' && WORD.test(text[i - 1] ?? ''));
}

function ending(text, i, mark, find) {
  for (let at = find(mark, i + mark.length + 1), tries = 0; at > 0 && tries < 20; at = find(mark, at + 1), tries++) {
    const open = text[at - 1].trim() === '' || (mark[0] === '_' && WORD.test(text[at + mark.length] ?? '')) || (mark.length === 1 && text[at + 1] === mark);
    if (!open) return at;
  }
  return -1;
}

/**
 * A link is a button: nothing is fetched before it is clicked, and the address is there to be read, whatever the label says.
 */
function link(url, label) {
  const shown = label ? line(label, 300) : line(url, 300);
  let target = null;
  try {
    target = new URL(url);
  } catch {
    target = null;
  }
  if (!target || !['http:', 'https:'].includes(target.protocol) || target.username) return el('span', { title: line(url, 300) }, label ? `${shown} (${line(url, 120)})` : shown);
  const open = () => window.open(target.href, '_blank', 'noopener,noreferrer');
  return el('button.url', { type: 'button', title: line(target.href, 500), onclick: open }, shown, shown.includes(target.host) ? null : el('span.note', null, ` (${line(target.host, 60)})`));
}
