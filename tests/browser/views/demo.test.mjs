// `headspace demo`: a newcomer sees the dashboard alive, and nothing stays behind. Its pictures are the README's.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, names, open, row, until } from '../stage.mjs';

const DOCS = process.env.UPDATE_DOCS ? join(import.meta.dirname, '../../../docs') : null;
const SHOTS = DOCS ?? join(tmpdir(), 'headspace-screenshots');
let server, browser;

before(async () => {
  server = await Server.start(['demo', '--no-open']);
  server.hold();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

const PICTURES = [
  { file: 'dashboard-dark.png', colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { file: 'dashboard-light.png', colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { file: 'phone-dark.png', colorScheme: 'dark', viewport: { width: 360, height: 740 }, spare: true },
  { file: 'phone-light.png', colorScheme: 'light', viewport: { width: 360, height: 740 }, spare: true },
];

test('the made-up day shows every group, the ask itself first', async () => {
  const page = await open(browser, server.url);
  await row(page, 'Fix the flaky login test').waitFor();
  await becomes(() => page.locator('.counter b').allTextContents(), ['2', '1', '2', '1', '1', '2']);
  await becomes(async () => (await names(page)).slice(0, 2), ['Fix the flaky login test', 'Invoices, second version']);
  await becomes(() => row(page, 'Fix the flaky login test').textContent(), /Allow Bash: npm test.*waiting \d+ m/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

for (const { file, spare, ...options } of PICTURES)
  test(`a picture: ${file}`, async () => {
    mkdirSync(SHOTS, { recursive: true });
    const page = await open(browser, server.url, options);
    await row(page, 'Fix the flaky login test').waitFor();
    if (!spare) await page.locator('.talk li').first().waitFor();
    const path = join(DOCS && spare ? tmpdir() : SHOTS, file);
    await page.screenshot({ path });
    assert.ok(statSync(path).size < 300_000);
    await page.context().close();
  });

test('a picture: answer.png', async () => {
  // Nobody waits for an answer in a made-up day: what the server would say about one is added to what it says.
  const context = await browser.newContext({ colorScheme: 'dark', viewport: { width: 1180, height: 700 }, deviceScaleFactor: 1.5, serviceWorkers: 'block' });
  const page = await context.newPage();
  await page.route(/\/api\/agents\?/, async (route) => {
    const answer = await (await route.fetch()).json();
    for (const { interactions } of answer.agents) for (const one of interactions) one.answer = { can: one.kind === 'question' ? ['answers', 'deny'] : ['allow', 'deny', 'stop'], digest: 'a'.repeat(64), state: 'open', by: null, at: null };
    await route.fulfill({ json: answer });
  });
  await page.route('**/api/answer', (route) => route.fulfill({ json: { on: true, unlocked: true, mine: true, waiting: 2 } }));
  await page.goto(server.url);
  await row(page, 'Fix the flaky login test').locator('.row').click();
  await page.locator('.card [data-choice=allow]:not([aria-disabled])').waitFor();
  mkdirSync(SHOTS, { recursive: true });
  const path = join(SHOTS, 'answer.png');
  await page.screenshot({ path });
  assert.ok(statSync(path).size < 400_000);
  await context.close();
});

test('the day goes on while it is watched', async () => {
  const page = await open(browser, server.url);
  const first = await page.locator('#list').textContent();
  const told = await page.evaluateHandle(() => {
    const seen = { n: 0 };
    new EventSource('/api/events/stream?types=agent_updated').addEventListener('agent_updated', () => (seen.n += 1));
    return seen;
  });
  server.goOn();
  await until('three updates', async () => (await told.evaluate((seen) => seen.n)) >= 3, 60000);
  await until('the list to show it', async () => (await page.locator('#list').textContent()) !== first);
  await page.context().close();
});

test('when it ends, nothing stays behind', async () => {
  const place = join(tmpdir(), `headspace-demo-${server.child.pid}`);
  assert.ok(existsSync(place));
  await server.stop();
  assert.equal(existsSync(place), false);
  await assert.rejects(fetch(`${server.url}/health`));
  assert.equal(existsSync(join(server.home, 'state')), false, 'the user’s own store was not touched');
});
