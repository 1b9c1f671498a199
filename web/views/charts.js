// Charts as inline SVG: stacked bars with words for a screen reader, and the numbers in a title. Places are percentages
// and heights are pixels, so a chart fills any width and its letters keep their size.

import { el, svg } from '../lib/dom.js';

const [HEIGHT, FOOT, TOP] = [120, 18, 14];
/** The width of a letter below a bar, as a percentage of the narrowest chart: 6.2 of the 290 pixels on a phone. */
const LETTER = 2.14;
const percent = (n) => `${n}%`;

/**
 * Stacked bars. `bars`: `[{label, tick, parts: [{kind, value}]}]`, `tell(value)` says a value in words, `title` the whole.
 * Colors come from the style sheet, by kind.
 */
export function barChart(title, bars, kinds, tell) {
  const sum = ({ parts }) => parts.reduce((total, part) => total + part.value, 0);
  const most = Math.max(...bars.map(sum), 0);
  const used = kinds.filter((kind) => bars.some(({ parts }) => parts.some((part) => part.kind === kind && part.value > 0)));
  const step = 100 / Math.max(1, bars.length);
  const drawing = svg('svg', { height: HEIGHT, role: 'img', 'aria-label': `${title}. ${most ? `Most: ${tell(most)}, ${bars.find((bar) => sum(bar) === most).label}. Last: ${tell(sum(bars.at(-1)))}.` : 'Nothing yet.'}` });
  const y = (value) => (value / (most || 1)) * (HEIGHT - FOOT - TOP);
  drawing.append(svg('line', { x1: 0, x2: '100%', y1: HEIGHT - FOOT + 0.5, y2: HEIGHT - FOOT + 0.5, class: 'axis' }));
  if (most) drawing.append(words(0, TOP - 3, tell(most), 'start'), svg('line', { x1: 0, x2: '100%', y1: TOP + 0.5, y2: TOP + 0.5, class: 'grid' }));
  const places = tickPlaces(bars, step);
  bars.forEach((bar, at) => {
    const group = svg('g', null, svg('title'));
    group.firstChild.textContent = [`${bar.label}: ${tell(sum(bar))}`, ...bar.parts.filter((part) => part.value && kinds.length > 1).map((part) => `${part.kind.replaceAll('_', ' ')} ${tell(part.value)}`)].join('\n');
    // Room to point at, also above a small bar.
    group.append(svg('rect', { x: percent(at * step), y: 0, width: percent(step), height: HEIGHT - FOOT, class: 'room' }));
    let base = HEIGHT - FOOT;
    for (const { kind, value } of bar.parts) {
      if (!(value > 0)) continue;
      const height = Math.max(1, y(value));
      group.append(svg('rect', { x: percent((at + 0.12) * step), y: base - height, width: percent(step * 0.76), height, rx: 1.5, 'data-kind': kind }));
      base -= height;
    }
    if (places.has(at)) group.append(words(percent(places.get(at)), HEIGHT - 4, bar.tick, 'middle'));
    drawing.append(group);
  });
  const legend = used.length > 1 && el('ul.legend', null, ...used.map((kind) => el('li', { 'data-kind': kind }, kind.replaceAll('_', ' '))));
  return el('figure.chart', null, el('figcaption', null, title), drawing, legend);
}

/** Where the ticks stand: below their bars, inside the picture, the newest first; one that would touch the next is left out. */
function tickPlaces(bars, step) {
  const places = new Map();
  let next = Infinity;
  for (let at = bars.length - 1; at >= 0; at--) {
    const { tick } = bars[at];
    if (!tick) continue;
    const half = (tick.length * LETTER) / 2;
    const x = Math.min(100 - half, Math.max(half, (at + 0.5) * step));
    if (x + half + LETTER > next) continue;
    places.set(at, x);
    next = x - half;
  }
  return places;
}

function words(x, y, said, anchor) {
  const node = svg('text', { x, y, 'text-anchor': anchor });
  node.textContent = said;
  return node;
}
