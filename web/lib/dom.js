// DOM helpers for all views. Foreign text is only ever set through textContent.

export const byId = (id) => document.getElementById(id);

/** Makes an element: `el('p.note', {title: 'x'}, 'text', child)`. Properties are set as attributes, `on…` as listeners. */
export function el(what, props, ...children) {
  const [tag, ...classes] = what.split('.');
  const node = document.createElement(tag || 'div');
  if (classes.length) node.className = classes.join(' ');
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A button with an icon and a word, or only one of them. */
export function button(what, path, label, onclick, props) {
  const node = el(`button.${what}`, { type: 'button', onclick, ...props }, path && icon(path));
  if (label) node.append((node.word = el('span', null, label)));
  return node;
}

/** The tile with a glyph; the word beside it is what a screen reader says. */
export const mark = (glyph = '') => el('span.mark', { 'aria-hidden': 'true' }, glyph);

/** An element for foreign text, which keeps its own direction and cannot change that of its neighbors. */
export const foreign = (what) => el(what, { dir: 'auto' });

const NS = 'http://www.w3.org/2000/svg';

/** A stroke icon on a 24×24 grid. */
export function icon(path, size = 16) {
  const svg = document.createElementNS(NS, 'svg');
  for (const [name, value] of Object.entries({ viewBox: '0 0 24 24', width: size, height: size, 'aria-hidden': 'true', class: 'i' }))
    svg.setAttribute(name, value);
  const line = document.createElementNS(NS, 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

/** An element of a drawing. */
export function svg(tag, props, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(props ?? {})) if (value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children.filter(Boolean));
  return node;
}

/** Sets text only if it differs, so that an unchanged node is never touched. */
export function text(node, value) {
  const next = value ?? '';
  if (node.shown !== next) {
    node.shown = next;
    node.textContent = next;
  }
}

/** As `text`, with commands between backquotes as code. */
export function withCode(node, value) {
  const next = value ?? '';
  if (node.shown === next) return;
  node.shown = next;
  node.replaceChildren(...next.split('`').map((part, at) => (at % 2 ? el('code', null, part) : part)));
}

/** As `text`, for an attribute; null removes it. */
export function attr(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

export function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

/**
 * Makes the children of `parent` those of `items`, in order. Known nodes are kept and patched, and moved only if they are
 * in the wrong place. The focus stays where it was, even if its node was moved.
 */
export function keyed(parent, items, keyOf, make, patch) {
  const known = (parent.keyed ??= new Map());
  const wanted = new Set();
  for (const item of items) wanted.add(keyOf(item));
  for (const [key, node] of known) {
    if (!wanted.has(key)) {
      node.remove();
      known.delete(key);
    }
  }
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  let place = parent.firstChild;
  for (const item of items) {
    const key = keyOf(item);
    let node = known.get(key);
    if (!node) known.set(key, (node = make(item)));
    patch?.(node, item);
    // A node that moved down would make all nodes after it move up: it goes to the end until its turn comes.
    if (place && place !== node && place.nextSibling === node) {
      const aside = place;
      place = node;
      parent.append(aside);
    }
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
  if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
}

/** Calls `act` when nothing was typed into `field` for a moment. */
export function whenTyped(field, act) {
  let timer = 0;
  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(act, 200);
  });
}

/** A button that copies what `content()` returns and says so for a moment. */
export function copyButton(label, content) {
  const node = button('button.small', 'M9 9h11v11H9zM5 15H4V4h11v1', label, async () => {
    // There is no clipboard if the page comes by plain http under a name other than localhost.
    const done = await navigator.clipboard?.writeText(content()).then(() => true, () => false);
    text(node.word, done ? 'Copied' : 'Not allowed');
    setTimeout(() => text(node.word, label), 1400);
  });
  return node;
}


/** Stores a choice beyond this page. A private window may refuse; then it lasts as long as the page. */
export function remember(key, value) {
  try {
    localStorage.setItem(`headspace.${key}`, value);
  } catch {
    return;
  }
}

export function remembered(key) {
  try {
    return localStorage.getItem(`headspace.${key}`);
  } catch {
    return null;
  }
}
