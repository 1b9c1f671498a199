// Five hundred agents, fifty events a second: what an update touches, and what it costs, measured in the page. What it touches must
// not grow with the list; times are printed and depend on the machine.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server, launch, open, until } from '../stage.mjs';

const AGENTS = 500;
const PER_SECOND = 50;
const SECONDS = 10;

let server, browser;

before(async () => {
  server = await Server.start();
  browser = await launch({ measured: true });
  const sessions = Array.from({ length: AGENTS }, (_, i) => i);
  const start = async () => {
    for (let i = sessions.pop(); i !== undefined; i = sessions.pop()) await server.working(`s${i}`, `task ${i}`, { session_title: `Agent ${i}` });
  };
  await Promise.all(Array.from({ length: 16 }, start));
});
after(async () => {
  await browser?.close();
  await server?.end();
});

/** Everything the page does in a frame of its own, style and layout included, is timed from inside. */
function stopwatch() {
  window.costs = [];
  const real = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (callback) => real((time) => {
    const begin = performance.now();
    callback(time);
    void document.body.offsetHeight;
    window.costs.push(performance.now() - begin);
  });
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

test(`with ${AGENTS} agents and ${PER_SECOND} events a second an update touches the rows it is about`, async (t) => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.addInitScript(stopwatch);
  const begin = Date.now();
  await page.goto(server.url);
  await until('all to show', async () => (await page.locator('.agent').count()) === AGENTS, 60000);
  t.diagnostic(`scale: ${AGENTS} agents on screen after ${Date.now() - begin} ms`);
  await page.evaluate(() => {
    window.costs = [];
    window.touched = 0;
    const rowOf = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest('.agent');
    new MutationObserver((records) => {
      // The second hand goes round by itself.
      const outside = records.filter(({ target }) => !(target.nodeType === 1 ? target : target.parentElement)?.closest('.tick'));
      window.touched += new Set(outside.flatMap(({ target, addedNodes }) => [rowOf(target), ...[...addedNodes].map(rowOf)]).filter(Boolean)).size;
    }).observe(document.getElementById('list'), { subtree: true, childList: true, attributes: true, characterData: true });
  });
  const devtools = await page.context().newCDPSession(page);
  // Thread time: what the page itself costs, whoever else is at work on this machine.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    const of = (name) => metrics.find((metric) => metric.name === name).value * 1000;
    return ['ScriptDuration', 'RecalcStyleDuration', 'LayoutDuration'].reduce((sum, name) => sum + of(name), 0);
  };
  const before = await spent();
  let sent = 0;
  const steps = ['pre-tool-use', 'post-tool-use', 'permission-request', 'post-tool-use'];
  const started = Date.now();
  const pending = [];
  while (Date.now() - started < SECONDS * 1000) {
    while (sent < ((Date.now() - started) / 1000) * PER_SECOND) {
      const step = steps[Math.floor(sent / AGENTS + sent) % steps.length];
      pending.push(server.hook(step, `s${(sent * 7) % AGENTS}`, { tool_name: 'Bash', tool_input: { command: `step ${sent}` }, tool_use_id: `t${sent}` }));
      sent += 1;
    }
    await sleep(5);
  }
  await Promise.all(pending);
  await sleep(500);
  const costs = (await page.evaluate(() => window.costs)).sort((a, b) => a - b);
  const figures = { 'of the thread': ((await spent()) - before) / costs.length, median: at(costs, 0.5), p95: at(costs, 0.95), worst: costs.at(-1) };
  t.diagnostic(`scale: ${sent} events in ${SECONDS} s, ${costs.length} updates; ms per update: ${Object.entries(figures).map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(', ')}`);
  assert.ok(costs.length > SECONDS, 'the page was updated all the time');
  const touched = await page.evaluate(() => window.touched);
  t.diagnostic(`scale: ${touched} rows touched for ${sent} events`);
  // Its own row, and the rows that change places with it.
  assert.ok(touched > 0 && touched < 4 * sent, `${touched} rows touched for ${sent} events`);
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
  t.diagnostic(`scale: ${(heap / 1e6).toFixed(1)} MB of script memory`);
});

test('the second hand moves nothing but itself', async (t) => {
  const [page] = browser.contexts().flatMap((context) => context.pages());
  const cost = await page.evaluate(async () => {
    const { tickAll } = await import('/assets/lib/parts.js');
    const watch = new MutationObserver(() => {});
    watch.observe(document.getElementById('list'), { subtree: true, childList: true, attributes: true, characterData: true });
    const begin = performance.now();
    for (let i = 0; i < 20; i++) tickAll();
    const took = (performance.now() - begin) / 20;
    return { took, moved: watch.takeRecords().filter(({ target }) => !(target.nodeType === 1 ? target : target.parentElement)?.closest('.tick')).length };
  });
  t.diagnostic(`scale: ${cost.took.toFixed(2)} ms per tick over ${AGENTS} rows`);
  assert.equal(cost.moved, 0);
});
