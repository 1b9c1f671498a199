// Time and text as a person reads them. Pure: no DOM, no clock of its own.

const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
// The table of crates/core/src/text/invisible.rs; a test there compares them.
const HIDDEN = /[\u0080-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const BREAKS = /[\u2028-\u2029]/g;

/** A value as text: most values are, some are not what they should be. */
const said = (text) => (typeof text === 'string' ? text : text === null || text === undefined ? '' : JSON.stringify(text));

/** Foreign text that can neither reorder nor hide: control characters become visible, invisible ones are removed. */
export function plain(text, limit = 20000) {
  let out = said(text);
  const cut = out.length > limit;
  if (cut) out = out.slice(0, limit);
  out = out
    .replace(/\r\n?/g, '\n')
    .replace(BREAKS, '\n')
    .replace(CONTROL, (c) => String.fromCharCode(c === '\u007f' ? 0x2421 : 0x2400 + c.charCodeAt(0)))
    .replace(HIDDEN, '');
  return cut ? out + '…' : out;
}

/** As `plain`, on one line. The text is cut first: a line never needs a megabyte. */
export function line(text, limit = 300) {
  const raw = said(text);
  const out = plain(raw.slice(0, limit * 2), limit * 2).replace(/\s+/g, ' ').trim();
  return out.length > limit || raw.length > limit * 2 ? out.slice(0, limit).trimEnd() + '…' : out;
}

/** How long, in one unit: `8 s`, `3 m`, `2 h`, `4 d`. */
export function age(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m`;
  return s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
}

/** How long exactly: `29 ms`, `2.4 s`, `3 m 12 s`. */
export function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  const m = Math.floor(s / 60);
  return m < 60 ? `${m} m ${String(s % 60).padStart(2, '0')} s` : `${Math.floor(m / 60)} h ${String(m % 60).padStart(2, '0')} m`;
}

const pad = (n) => String(n).padStart(2, '0');

/** `14:02:11`, with the date when it was not today. */
export function clock(at, now = Date.now()) {
  const d = new Date(at);
  const time = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  return d.toDateString() === new Date(now).toDateString() ? time : `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${time}`;
}

/** `1,284,310` */
export const number = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');

export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** `84 k`, `1.2 M` tokens. */
export function tokens(n) {
  if (n < 1000) return String(n);
  return n < 1e6 ? `${Math.round(n / 1000)} k` : `${(n / 1e6).toFixed(1)} M`;
}

/** A word for the shell, quoted only if needed. */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}

/** Cut in the middle: of a path its beginning and its end say most. */
export function middle(text, limit = 60) {
  const all = line(text, 2000);
  if (all.length <= limit) return all;
  const tail = Math.ceil((limit - 1) * 0.65);
  return `${all.slice(0, limit - 1 - tail)}…${all.slice(-tail)}`;
}

/** A path inside of the project, from there; with the project's name in front if it is given. */
export function relative(path, root, name) {
  const full = String(path ?? '');
  const base = String(root ?? '').replace(/\/+$/, '');
  if (!base || (full !== base && !full.startsWith(`${base}/`))) return tilde(full);
  const inner = full.slice(base.length + 1);
  return [name, inner].filter(Boolean).join('/') || '.';
}

/** `$3.20`, `$0.004`. */
export const dollars = (n) => `$${n >= 0.1 || n === 0 ? n.toFixed(2) : n.toPrecision(1)}`;

/** A path with `~` for the home directory. */
export const tilde = (path) => String(path ?? '').replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, '~');
