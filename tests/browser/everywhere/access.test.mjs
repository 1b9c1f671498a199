// Accessibility: axe on every view, in both color schemes and widths; the login link.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { SCHEMES, WIDTHS, passesAxe } from '../axe.mjs';
import { Server, launch, open, row, shows } from '../stage.mjs';

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

const VIEWS = {
  agents: async (page) => {
    await row(page, 'Fix the flaky login test').first().waitFor();
    await page.getByRole('button', { name: 'ended' }).click();
  },
  agent: async (page) => {
    await row(page, 'Fix the flaky login test').locator('.row').click();
    await page.locator('.talk li').first().waitFor();
  },
  timeline: async (page) => {
    await page.locator('.segment').getByText('timeline').click();
    await page.locator('.timeline summary').first().click();
    await page.locator('.raw pre').first().waitFor();
  },
  changes: async (page) => {
    await page.locator('.segment').getByText('changes').click();
    await shows(page, '[data-panel=changes] .note', /file|No edit/);
    for (const file of await page.locator('.files summary').all()) await file.click();
  },
  logging: async (page) => {
    await page.goto(`${server.url}/#/logging`);
    await page.locator('.log summary').nth(1).click();
  },
  history: async (page) => {
    await page.goto(`${server.url}/#/history`);
    await page.getByLabel('Search the conversations').fill('login');
    await page.locator('.hits li').first().waitFor();
    await page.locator('.chart').first().waitFor();
  },
  help: async (page) => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.locator('#help[open]').waitFor();
  },
};

for (const colorScheme of SCHEMES)
  for (const width of WIDTHS)
    test(`axe finds nothing in ${colorScheme} at ${width} px`, async (t) => {
      const page = await open(browser, server.url, { colorScheme, viewport: { width, height: 900 } });
      let checks = 0;
      for (const [view, go] of Object.entries(VIEWS)) {
        await go(page);
        checks += await passesAxe(page, view);
      }
      t.diagnostic(`${checks} rules passed in ${Object.keys(VIEWS).length} views`);
      assert.deepEqual(page.faults, []);
      await page.context().close();
    });

test('nothing is wider than the screen, from 360 px to 4K', async () => {
  for (const width of [360, 414, 768, 1024, 1440, 2560, 3840]) {
    const page = await open(browser, server.url, { viewport: { width, height: Math.round(width * 0.6) } });
    await row(page, 'Fix the flaky login test').first().waitFor();
    for (const view of ['#/agents', '#/logging', '#/history']) {
      await page.goto(`${server.url}/${view}`);
      await page.locator(view.replace('/', '')).waitFor();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view} at ${width}`);
    }
    await page.context().close();
  }
});

test('with reduced motion nothing moves by itself', async () => {
  const page = await open(browser, server.url, { reducedMotion: 'reduce' });
  await page.evaluate(() => (document.getElementById('link').dataset.state = 'reconnecting'));
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  await page.context().close();
});

test('an agent that needs you is announced to screen readers', async () => {
  const page = await open(browser, server.url);
  await page.locator('#say[aria-live=polite]').waitFor({ state: 'attached' });
  await server.asking('loud', 'make deploy', { session_title: 'Loud' });
  await shows(page, '#say', 'Loud needs you: Allow Bash: make deploy');
  await page.context().close();
});

test('the link of `headspace open` logs a browser in, once', async () => {
  const own = await Server.start();
  const env = { PATH: process.env.PATH, HOME: own.home, XDG_STATE_HOME: join(own.home, 'state'), XDG_CONFIG_HOME: join(own.home, 'config'), CLAUDE_HEADSPACE_URL: own.url };
  const { stdout } = await promisify(execFile)(process.env.HEADSPACE_BIN, ['open', '--print'], { env });
  const link = stdout.trim();
  assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/login\?code=\w+$/);
  const page = await open(browser, link);
  assert.equal(new URL(page.url()).pathname, '/');
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
  assert.equal((await fetch(link, { redirect: 'manual' })).status, 403);
  await page.context().close();
  await own.end();
});
