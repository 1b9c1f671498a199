// From the start of a hook to the moment the browser shows it, while a hundred others listen and events pour in.
//
//   benches/latency [PROBES]
//
// Each probe starts `headspace notify` as the client does, with a text nobody has seen; the page says when that text
// stands in its document. Both read the same clock.

import { spawn } from 'node:child_process';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server, launch, open, until } from '../tests/browser/stage.mjs';

const [STREAMS, PER_SECOND, SESSIONS] = [100, 500, 50];
const BUDGET = 60;

const PROBES = Number(process.argv[2] ?? 200);
const server = await Server.start();
const browser = await launch();

function hook(session, text) {
  const child = spawn(process.env.HEADSPACE_BIN, ['notify'], {
    env: { HOME: server.home, PATH: process.env.PATH, CLAUDE_HEADSPACE_URL: server.url },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin.end(JSON.stringify({ session_id: session, cwd: `/srv/${session}`, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: text, tool_input: { command: text } }));
}

for (let i = 0; i < SESSIONS; i++) await server.working(`s${i}`, `task ${i}`, { session_title: `Agent ${i}` });
const page = await open(browser, server.url);
await until('all to show', async () => (await page.locator('.agent').count()) === SESSIONS, 30000);
await page.evaluate(() => {
  window.seen = {};
  const row = [...document.querySelectorAll('.agent')].find((row) => /Agent 0(?!\d)/.test(row.textContent));
  new MutationObserver(() => {
    const probe = /probe-(\d+)-/.exec(row.textContent)?.[1];
    if (probe === undefined || window.seen[probe]) return;
    window.seen[probe] = performance.timeOrigin + performance.now();
    window.told?.();
  }).observe(row, { subtree: true, childList: true, characterData: true });
});

// The same from a client that only listens: what of it is the server's.
const told = {};
http.get(`${server.url}/api/events/stream`, (answer) => answer.on('data', (bytes) => {
  for (const [, probe] of bytes.toString('latin1').matchAll(/probe-(\d+)-/g)) told[probe] ??= performance.timeOrigin + performance.now();
}));

const others = spawn('python3', [new URL('crowd.py', import.meta.url).pathname, new URL(server.url).port, STREAMS, PER_SECOND, SESSIONS], { stdio: ['ignore', 'inherit', 'inherit'] });
await sleep(2000);
const begun = {};
for (let i = 0; i < PROBES; i++) {
  begun[i] = performance.timeOrigin + performance.now();
  hook('s0', `probe-${i}-`);
  await page.evaluate((probe) => window.seen[probe] ?? new Promise((done) => (window.told = done)), i);
}
others.kill();
const seen = await page.evaluate(() => window.seen);
function report(what, at) {
  const took = Object.entries(begun).map(([probe, begin]) => at[probe] - begin).sort((a, b) => a - b);
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => took[Math.floor(took.length * share)]);
  console.log(`${what} after p50 ${p50.toFixed(0)} ms, p90 ${p90.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`);
  return p99;
}

console.log(`${STREAMS} streams and a browser, ${PER_SECOND} events a second, ${PROBES} hooks`);
report('  told by the stream', told);
console.log(`  budget p99 ≤ ${BUDGET} ms: ${report('  on screen', seen) <= BUDGET ? 'kept' : 'MISSED'}`);
await browser.close();
await server.end();
process.exit(0);
