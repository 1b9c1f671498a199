// `headspace demo`: a newcomer sees the dashboard alive, and nothing stays behind. Its pictures are the README's.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server, launch, names, open, row, until } from './stage.mjs';

const DOCS = process.env.UPDATE_DOCS ? join(import.meta.dirname, '../../docs') : null;
const SHOTS = DOCS ?? join(tmpdir(), 'headspace-screenshots');
let server, browser;

before(async () => {
  server = await Server.start(['demo', '--no-open']);
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
  const counts = await page.locator('.counter b').allTextContents();
  assert.deepEqual(counts, ['2', '1', '2', '1', '1', '2']);
  assert.deepEqual((await names(page)).slice(0, 2), ['Fix the flaky login test', 'Invoices, second version']);
  assert.match(await row(page, 'Fix the flaky login test').textContent(), /Allow Bash: npm test.*waiting 3 m/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

for (const { file, spare, ...options } of PICTURES)
  test(`a picture: ${file}`, async () => {
    mkdirSync(SHOTS, { recursive: true });
    const page = await open(browser, server.url, options);
    await row(page, 'Fix the flaky login test').waitFor();
    if (!spare) await page.locator('.timeline li').first().waitFor();
    const path = join(DOCS && spare ? tmpdir() : SHOTS, file);
    await page.screenshot({ path });
    assert.ok(statSync(path).size < 300_000);
    await page.context().close();
  });

test('the day goes on while it is watched', async () => {
  const page = await open(browser, server.url);
  const first = await page.locator('#list').textContent();
  const told = await page.evaluateHandle(() => {
    const seen = { n: 0 };
    new EventSource('/api/events/stream?types=agent_updated').addEventListener('agent_updated', () => (seen.n += 1));
    return seen;
  });
  await until('three updates', async () => (await told.evaluate((seen) => seen.n)) >= 3, 30000);
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
