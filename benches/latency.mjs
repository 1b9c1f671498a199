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

const [PROBES, STREAMS, PER_SECOND, SESSIONS] = [Number(process.argv[2] ?? 200), 100, 500, 50];
const BUDGET = 100;

const server = await Server.start();
const browser = await launch();
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });

function post(slug, body) {
  const text = JSON.stringify(body);
  return new Promise((done, failed) => {
    const request = http.request(`${server.url}/hook/${slug}`, { method: 'POST', agent, headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) } }, (answer) => {
      answer.resume().on('end', done);
    });
    request.on('error', failed).end(text);
  });
}

function hook(session, text) {
  const child = spawn(process.env.HEADSPACE_BIN, ['notify'], {
    env: { HOME: server.home, PATH: process.env.PATH, CLAUDE_HEADSPACE_URL: server.url },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin.end(JSON.stringify({ session_id: session, cwd: `/srv/${session}`, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: text, tool_input: { command: text } }));
}

for (let i = 0; i < SESSIONS; i++) await server.working(`s${i}`, `task ${i}`, { session_title: `Agent ${i}` });
for (let i = 0; i < STREAMS; i++) http.get(`${server.url}/api/events/stream`, (answer) => answer.resume());
const page = await open(browser, server.url);
await until('all to show', async () => (await page.locator('.agent').count()) === SESSIONS, 30000);
await page.evaluate(() => {
  window.seen = {};
  new MutationObserver(() => {
    const now = performance.timeOrigin + performance.now();
    for (const [, probe] of document.body.textContent.matchAll(/probe-(\d+)-/g)) window.seen[probe] ??= now;
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
});

let pouring = true, sent = 0;
const pour = (async () => {
  const begin = performance.now();
  while (pouring) {
    const due = ((performance.now() - begin) / 1000) * PER_SECOND;
    for (; sent < due; sent++) post(sent % 2 ? 'post-tool-use' : 'pre-tool-use', { session_id: `s${1 + ((sent >> 1) % (SESSIONS - 1))}`, cwd: '/srv/x', tool_name: 'Bash', tool_use_id: `t${sent >> 1}`, tool_input: { command: `step ${sent >> 1}` } }).catch(() => {});
    await sleep(4);
  }
})();

await sleep(1000);
const begun = {};
for (let i = 0; i < PROBES; i++) {
  begun[i] = performance.timeOrigin + performance.now();
  hook('s0', `probe-${i}-`);
  await until(`probe ${i} to show`, async () => (await page.evaluate((probe) => window.seen[probe], String(i))) !== undefined, 10000);
}
pouring = false;
await pour;
const seen = await page.evaluate(() => window.seen);
const took = Object.entries(begun).map(([probe, at]) => seen[probe] - at).sort((a, b) => a - b);
const part = (share) => took[Math.min(took.length - 1, Math.floor(took.length * share))];
console.log(`${STREAMS} streams and a browser, ${PER_SECOND} events a second, ${PROBES} hooks: on screen after p50 ${part(0.5).toFixed(0)} ms, p90 ${part(0.9).toFixed(0)} ms, p99 ${part(0.99).toFixed(0)} ms   budget p99 ≤ ${BUDGET} ms: ${part(0.99) <= BUDGET ? 'kept' : 'MISSED'}`);
await browser.close();
await server.end();
process.exit(0);
