// Logging and History: the receiver's health, the live log with its filters, search, days, the ended.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, open, shows, until } from '../stage.mjs';

let server, browser, page;
const titles = () => page.locator('#logging .log .title').allTextContents();

before(async () => {
  server = await Server.start();
  browser = await launch();
  await server.asking('one', 'make lint', { session_title: 'One' });
  await server.working('two', 'count the needlefish', { session_title: 'Two' });
  page = await open(browser, `${server.url}/#/logging`);
});
after(async () => {
  await browser?.close();
  await server?.end();
});

test('the receiver says whether it is enabled, its mode, its pace and the last event', async () => {
  const tile = (name) => page.locator(`.tiles [data-fact="${name}"]`);
  await shows(page, '.tiles', 'enabled');
  await becomes(() => tile('Mode').textContent(), /hooks active/);
  await becomes(() => tile('Last event').textContent(), /\d+ s ago.*UserPromptSubmit/);
  await becomes(() => tile('Polling').textContent(), /every 60 s/);
  await becomes(() => tile('Events received').textContent(), /6/);
  await becomes(() => tile('Spool').textContent(), /empty/);
});

test('new events come to the top by themselves', async () => {
  await shows(page, '#logging .log li', 'count the needlefish');
  await server.hook('notification', 'two', { message: 'Waiting for your input', notification_type: 'idle_prompt' });
  await until('the notification on top', async () => (await titles())[0] === 'Notification');
  await becomes(() => page.locator('#logging .log li').first().textContent(), /Two.*Waiting for your input/);
});

test('filters by type, agent and text', async () => {
  await page.locator('#logging select[aria-label=Type]').selectOption('PreToolUse');
  await until('only PreToolUse', async () => (await titles()).join() === 'PreToolUse');
  await page.locator('#logging select[aria-label=Type]').selectOption('');
  await page.locator('#logging select[aria-label=Agent]').selectOption({ label: 'two · Two' });
  await until('only Two', async () => (await page.locator('#logging .who').allTextContents()).every((name) => name === 'two · Two'));
  await page.locator('#logging select[aria-label=Agent]').selectOption('');
  await page.locator('#logging input').fill('needlefish');
  await until('only the text', async () => (await titles()).join() === 'UserPromptSubmit');
  await page.locator('#logging input').fill('nothing says this');
  await page.getByText('No event matches.').waitFor();
  await page.locator('#logging input').fill('');
  await until('all again', async () => (await titles()).length >= 7);
});

test('the type filter offers every stored type, also of events that are not on the page', async () => {
  await server.hook('session-end', 'three', { reason: 'other' });
  const many = Array.from({ length: 250 }, (_, i) => server.hook('notification', 'one', { message: `note ${i}`, notification_type: 'auth_success' }));
  await Promise.all(many);
  const fresh = await open(browser, `${server.url}/#/logging`);
  const offered = () => fresh.locator('#logging select[aria-label=Type] option').allTextContents();
  await until('the oldest type to be offered', async () => (await offered()).includes('SessionStart'));
  assert.ok(!(await fresh.locator('#logging .log .title').allTextContents()).includes('SessionStart'), 'it is not on the page');
  await fresh.context().close();
});

test('silence is called quiet while no agent works', async () => {
  const calm = await Server.start(['serve', '--port', '0'], { reconcile: { fallback_timeout: 1 } });
  await calm.working('calm', 'x', { session_title: 'Calm' });
  await calm.hook('stop', 'calm', { last_assistant_message: 'Done.' });
  const quiet = await open(browser, `${calm.url}/#/logging`);
  await shows(quiet, '#hooks', /^quiet for \d+ s/);
  await shows(quiet, '.tiles [data-fact=Mode]', /quiet for \d+ s.*no agent works/);
  await quiet.context().close();
  await calm.end();
});

test('paused, the log stands still and counts what it holds back', async () => {
  await page.getByRole('button', { name: 'Pause' }).click();
  const before = await titles();
  await server.hook('stop', 'two', { last_assistant_message: 'Nine.' });
  await page.getByRole('button', { name: /Resume \(\d+ new\)/ }).waitFor();
  assert.deepEqual(await titles(), before);
  await page.getByRole('button', { name: /Resume/ }).click();
  await until('the held back one', async () => (await titles()).includes('Stop'));
});

test('an event opens into its JSON and leads to its agent', async () => {
  const stop = page.locator('#logging .log li', { has: page.locator('.title', { hasText: 'Stop' }) });
  await stop.locator('summary').click();
  await becomes(() => stop.locator('pre').textContent(), /"last_assistant_message": "Nine\."/);
  await stop.getByRole('link', { name: 'Open the agent' }).click();
  await shows(page, '#detail h2', 'Two');
});

test('history finds what was said, shows the days and who has ended', async () => {
  await server.hook('session-end', 'two', { reason: 'prompt_input_exit' });
  await page.locator('.tabs').getByText('History').click();
  await shows(page, '.days tr', /\d{4}-\d\d-\d\d\d+2\d/);
  await shows(page, '.ended li', 'Two');
  const find = page.getByLabel('Search the conversations');
  await find.fill('needlef');
  await shows(page, '.hits li', /You.*count the needlefish/);
  await shows(page, '#history [role=status]', '1 place');
  await find.fill('wombat');
  await shows(page, '#history [role=status]', 'Nothing found for “wombat”.');
  await find.fill('');
  await until('an empty answer', async () => (await page.locator('.hits li').count()) === 0);
});

test('nothing went wrong in the page meanwhile', () => assert.deepEqual(page.faults, []));
