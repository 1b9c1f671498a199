// Every kind of card, and every page beside the board: readable for everybody, in both color schemes and all widths.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SCHEMES, WIDTHS, passesAxe } from '../axe.mjs';
import { ask, codeFor, startAsked } from './asker.mjs';
import { Server, becomes, launch, row, shows, until } from '../stage.mjs';

let server, browser, let_in;

/** One of each kind, as a client asks for it. The file that is edited is there, so that the difference is against it. */
const CARDS = {
  permission: ['Bash', { command: 'make -j2 \\\n  && make install', description: 'Build and install' }],
  guarded: ['Bash', { command: 'git push --force origin main' }],
  masked: ['Bash', { command: `curl -H "Authorization: Bearer ghp_${'a1B2'.repeat(9)}" https://api.example.com` }],
  question: ['AskUserQuestion', { questions: [
    { question: 'Which color?', header: 'Color', multiSelect: false, options: [{ label: 'Red', description: 'The red one' }, { label: 'Blue', description: 'The blue one' }] },
    { question: 'Which sizes?', header: 'Sizes', multiSelect: true, options: [{ label: 'Small', description: 'S' }, { label: 'Large', description: 'L' }] }] }],
  plan: ['ExitPlanMode', { plan: '# Plan\n\n1. Read `src/login.rs`\n2. **Fix** it\n\n```\ncargo test login\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n' }],
  diff: ['Edit', null],
  tool: ['mcp__tracker__create_issue', { title: 'Login fails', labels: ['bug', 'login'] }],
};
/** Two agents that ask for the same. */
const TWINS = ['twin-one', 'twin-two'];

before(async () => {
  server = await startAsked();
  browser = await launch();
  const context = await browser.newContext({ serviceWorkers: 'block' });
  const page = await context.newPage();
  await page.goto(server.url);
  await page.locator('#lock').click();
  await page.getByLabel('Code', { exact: true }).fill(await codeFor(server));
  await page.keyboard.press('Enter');
  await page.locator('#lock[aria-pressed=true]').waitFor();
  let_in = await context.storageState();
  await context.close();
  const file = join(server.home, 'project/login.py');
  mkdirSync(join(server.home, 'project'));
  writeFileSync(file, 'def login(user):\n    return None\n');
  CARDS.diff[1] = { file_path: file, old_string: 'return None', new_string: 'return find(user)' };
  for (const [name, [tool, input]] of Object.entries(CARDS)) await ask(server, name, tool, input);
  for (const name of TWINS) await ask(server, name, 'Bash', { command: 'npm test' });
});
after(async () => {
  await browser?.close();
  await server?.end();
});

/** The board, in a browser that was let in or in one that was not. */
async function board(options, storageState) {
  const context = await browser.newContext({ serviceWorkers: 'block', storageState, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(error.stack));
  await page.goto(server.url);
  await page.locator('#link[data-state=live]').waitFor();
  return page;
}

async function openCard(page, name) {
  const id = await row(page, name).getAttribute('data-id');
  await page.goto(`${server.url}/#/agents/${id}`);
  await shows(page, '#detail h2', name);
  await page.locator('.talk li').first().waitFor();
}

/** The card takes an answer. */
const thawed = (page) => until('the card to thaw', async () => (await page.locator('.card [data-choice]:not([aria-disabled])').count()) > 0);

/** Nothing sticks out of the screen, nor out of what scrolls by itself without a reason. */
const fits = (page) => page.evaluate(() => [document.documentElement, ...document.querySelectorAll('.talk, .turns, .card')].filter((node) => node.checkVisibility()).every((node) => node.scrollWidth <= node.clientWidth + 1));

for (const colorScheme of SCHEMES)
  for (const width of WIDTHS) {
    const options = { colorScheme, viewport: { width, height: 900 } };
    test(`axe finds nothing in any card in ${colorScheme} at ${width} px`, async () => {
      const page = await board(options, let_in);
      for (const name of Object.keys(CARDS)) {
        await openCard(page, name);
        await thawed(page);
        await passesAxe(page, name);
        assert.ok(await fits(page), `${name} is not wider than the screen`);
      }
      await openCard(page, TWINS[0]);
      await thawed(page);
      await page.getByRole('button', { name: 'Answer all 2 of these…' }).click();
      await page.locator('#confirm[open] [data-choice=deny]:not([aria-disabled])').waitFor();
      await passesAxe(page, 'all that are alike');
      assert.deepEqual(page.faults, []);
      await page.context().close();
    });

    test(`axe finds nothing beside the board in ${colorScheme} at ${width} px`, async () => {
      // Not let in: the card says so, and asks for a code.
      const page = await board(options);
      await openCard(page, 'permission');
      await page.locator('.card').getByRole('button', { name: 'Unlock to answer' }).waitFor();
      await passesAxe(page, 'a card that is locked');
      await page.locator('.card').getByRole('button', { name: 'Unlock to answer' }).click();
      await page.locator('#unlock[open]').waitFor();
      await passesAxe(page, 'the code');
      // What somebody sees who is not let in, who has a link without a code, and who has no server.
      for (const [path, words] of [['/login', 'This page needs a link'], ['/login?code=used', 'This link does not work any more'], ['/nowhere', 'There is nothing here'], ['/assets/offline.html', 'is not reachable']]) {
        await page.goto(`${server.url}${path}`);
        await becomes(() => page.locator('body').textContent(), new RegExp(words), path);
        await passesAxe(page, path);
        assert.ok(await fits(page), `${path} is not wider than the screen`);
      }
      assert.deepEqual(page.faults, []);
      await page.context().close();
    });
  }

test('axe finds nothing in the check-list of an empty board', async () => {
  const empty = await Server.start();
  for (const colorScheme of SCHEMES)
    for (const width of WIDTHS) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 }, serviceWorkers: 'block' });
      const page = await context.newPage();
      await page.goto(empty.url);
      await shows(page, '#agents', 'headspace install');
      await passesAxe(page, `empty in ${colorScheme} at ${width} px`);
      assert.ok(await fits(page), `at ${width} px`);
      await context.close();
    }
  await empty.end();
});
