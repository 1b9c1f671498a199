// axe-core on a page: what it finds, in words.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export const SCHEMES = ['dark', 'light'];
export const WIDTHS = [1440, 1024, 768, 360];

/** Fails with everything that axe has against the page as it is now; gives the number of rules that it passed. */
export async function passesAxe(page, view) {
  // As the tools of a developer do: a page's own policy lets no foreign script in.
  await page.evaluate(source);
  const { violations, passes } = await page.evaluate((rules) => window.axe.run(document, { runOnly: rules }), RULES);
  assert.deepEqual(violations.map(({ id, impact, nodes }) => `${view}: ${id} (${impact}) ${nodes[0].html} ${nodes[0].failureSummary}`), []);
  return passes.length;
}
