// Charts as inline SVG: stacked bars with words for a screen reader, and the numbers in a title.

import { el, svg } from '../lib/dom.js';

const [WIDTH, HEIGHT, FOOT, TOP] = [380, 120, 18, 14];
/** The width of a letter below a bar. */
const LETTER = 6.2;

/**
 * Stacked bars. `bars`: `[{label, tick, parts: [{kind, value}]}]`, `tell(value)` says a value in words, `title` the whole.
 * Colors come from the style sheet, by kind.
 */
export function barChart(title, bars, kinds, tell) {
  const sum = ({ parts }) => parts.reduce((total, part) => total + part.value, 0);
  const most = Math.max(...bars.map(sum), 0);
  const used = kinds.filter((kind) => bars.some(({ parts }) => parts.some((part) => part.kind === kind && part.value > 0)));
  const step = WIDTH / Math.max(1, bars.length);
  const drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}. ${most ? `Most: ${tell(most)}, ${bars.find((bar) => sum(bar) === most).label}. Last: ${tell(sum(bars.at(-1)))}.` : 'Nothing yet.'}` });
  const y = (value) => (value / (most || 1)) * (HEIGHT - FOOT - TOP);
  drawing.append(svg('line', { x1: 0, x2: WIDTH, y1: HEIGHT - FOOT + 0.5, y2: HEIGHT - FOOT + 0.5, class: 'axis' }));
  if (most) drawing.append(words(0, TOP - 3, tell(most), 'start'), svg('line', { x1: 0, x2: WIDTH, y1: TOP + 0.5, y2: TOP + 0.5, class: 'grid' }));
  const places = tickPlaces(bars, step);
  bars.forEach((bar, at) => {
    const group = svg('g', null, svg('title'));
    group.firstChild.textContent = [`${bar.label}: ${tell(sum(bar))}`, ...bar.parts.filter((part) => part.value && kinds.length > 1).map((part) => `${part.kind.replaceAll('_', ' ')} ${tell(part.value)}`)].join('\n');
    // Room to point at, also above a small bar.
    group.append(svg('rect', { x: at * step, y: 0, width: step, height: HEIGHT - FOOT, class: 'room' }));
    let base = HEIGHT - FOOT;
    for (const { kind, value } of bar.parts) {
      if (!(value > 0)) continue;
      const height = Math.max(1, y(value));
      group.append(svg('rect', { x: at * step + step * 0.12, y: base - height, width: step * 0.76, height, rx: 1.5, 'data-kind': kind }));
      base -= height;
    }
    if (places.has(at)) group.append(words(places.get(at), HEIGHT - 4, bar.tick, 'middle'));
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
    const x = Math.min(WIDTH - half, Math.max(half, at * step + step / 2));
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
