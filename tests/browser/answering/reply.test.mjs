// The next prompt and the stop, from the page into a real tmux pane where a stand-in for the client runs.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { codeFor, startAsked } from './asker.mjs';
import { becomes, launch, row, shows, until } from '../stage.mjs';

let server, browser, page, folder;

const tmux = (...words) => execFileSync('tmux', ['-S', join(server.home, 'tmux.sock'), '-f', '/dev/null', ...words], { env: { ...server.env, LANG: 'C.UTF-8', TERM: 'xterm-256color' }, encoding: 'utf8' }).trim();
const log = () => { try { return readFileSync(join(folder, 'log'), 'utf8'); } catch { return ''; } };

/** What the stand-in shows from now on. */
function showMode(mode) {
  writeFileSync(join(folder, 'mode.new'), mode);
  renameSync(join(folder, 'mode.new'), join(folder, 'mode'));
}

before(async () => {
  server = await startAsked({ reconcile: { polling_interval_with_hooks: 0.3 } });
  folder = join(server.home, 'api');
  mkdirSync(folder);
  showMode('box');
  const variables = Object.entries(server.env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const stand = join(import.meta.dirname, '../../fixtures/stand_in_client.py');
  tmux('new-session', '-d', '-x', '100', '-y', '30', ...variables, `exec python3 ${stand} ${process.env.HEADSPACE_BIN} ${folder} pane`);
  await until('the stand-in', () => log().includes('READY'));
  browser = await launch();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, serviceWorkers: 'block' });
  page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(error.stack));
  await page.goto(server.url);
  await page.locator('#link[data-state=live]').waitFor();
  await row(page, 'api').locator('.row').click();
});
after(async () => {
  await browser?.close();
  try { tmux('kill-server'); } catch { /* It has ended by itself. */ }
  await server?.end();
});

test('only an unlocked browser may type', async () => {
  await page.getByRole('button', { name: 'Unlock to reply' }).click();
  await page.getByLabel('Code', { exact: true }).fill(await codeFor(server));
  await page.keyboard.press('Enter');
  await page.getByLabel('Next prompt').waitFor();
});

test('a prompt reaches the idle agent word for word', async () => {
  const words = "Now the 'tests'\nwith $HOME and \\n";
  await page.getByLabel('Next prompt').fill(words);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await shows(page, '.reply .told', 'Sent.');
  assert.ok(log().includes(`PROMPT ${JSON.stringify(words)}`), log());
  await becomes(() => page.getByLabel('Next prompt').inputValue(), '');
});

test('while it works the prompt waits, and can be taken back', async () => {
  showMode('busy');
  await page.getByLabel('Next prompt').fill('and then the docs');
  await page.getByRole('button', { name: 'Send when it is idle' }).click();
  await shows(page, '.reply .told', 'It waits until the agent is idle.');
  await shows(page, '.reply .queue', 'and then the docs');
  await page.getByRole('button', { name: 'Take back' }).click();
  await until('the queue to be empty', async () => (await page.locator('.reply .queue li').count()) === 0);
  assert.ok(!log().includes('and then the docs'), log());
});

test('what is more than a prompt asks first', async () => {
  await page.getByLabel('Next prompt').fill('!touch x');
  await page.getByRole('button', { name: 'Send when it is idle' }).click();
  await shows(page, '.reply .told', 'It begins with !');
  assert.ok(!log().includes('touch x'), log());
  await page.getByLabel('Next prompt').fill('');
});

test('stop interrupts what runs', async () => {
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await shows(page, '.reply .told', 'Stopped.');
  assert.match(log(), /^ESC$/m);
});

test('nothing is typed at a dialog, and the prompt stays in the box of the page', async () => {
  await server.hook('stop', 'pane', { cwd: folder, last_assistant_message: 'Done.' });
  showMode('dialog');
  await until('the dialog', () => tmux('capture-pane', '-p').includes('Do you want to proceed'));
  await page.getByLabel('Next prompt').fill('yes, go on');
  await page.getByRole('button', { name: /^Send/ }).first().click();
  await shows(page, '.reply .told', /dialog|waits until/);
  assert.ok(!/APPROVED|SWALLOWED/.test(log()), log());
  assert.deepEqual(page.faults, []);
});
