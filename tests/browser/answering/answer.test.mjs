// Answering from the page: a real server, a real `headspace wait` beside a dialog, a code from a real terminal. What the
// page says is compared with what `wait` printed, which is all that the client sees.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { ask, card as cardOf, codeFor, onTerminal, ranInTerminal, startAsked, steps } from './asker.mjs';
import { becomes, launch, row, shows, until } from '../stage.mjs';

let server, browser, page, count = 0;

before(async () => {
  server = await startAsked();
  browser = await launch();
  page = await unlocked();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

async function begin() {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark', serviceWorkers: 'block' });
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(error.stack));
  await page.goto(server.url);
  await page.locator('#link[data-state=live]').waitFor();
  return page;
}

/** A browser of its own that was let in with a code. */
async function unlocked() {
  const page = await begin();
  await page.locator('#lock').click();
  await page.getByLabel('Code', { exact: true }).fill(await codeFor(server));
  await page.keyboard.press('Enter');
  await page.locator('#lock[aria-pressed=true]').waitFor();
  return page;
}

beforeEach(() => {
  count += 1;
});

const named = (name) => `${name}-${count}`;

/** Opens the agent and waits until its card takes an answer. */
async function open(name, on = page, ready = true) {
  await row(on, name).locator('.row').click();
  await shows(on, '#detail h2', name);
  const node = on.locator('.card');
  if (ready) await until('the card to thaw', async () => (await node.locator('[data-choice]:not([aria-disabled])').count()) > 0);
  return node;
}

const choose = (node, name) => node.getByRole('button', { name, exact: true }).click();

test('a locked browser is unlocked with a code that a terminal shows, and locked with a key', async () => {
  const name = named('lock');
  const waiter = await ask(server, name, 'Bash', { command: 'make' });
  const other = await begin();
  const node = await open(name, other, false);
  await becomes(() => node.getByRole('button', { name: 'Allow once' }).isVisible(), false);
  await node.getByRole('button', { name: 'Unlock to answer' }).click();
  const code = await codeFor(server);
  await other.getByLabel('Code', { exact: true }).fill(code.startsWith('A') ? `B${code.slice(1)}` : `A${code.slice(1)}`);
  await other.keyboard.press('Enter');
  await shows(other, 'dialog#unlock .told', /Could not unlock: this code is wrong/);
  await other.getByLabel('Code', { exact: true }).fill(code.toLowerCase());
  await other.keyboard.press('Enter');
  await node.getByRole('button', { name: 'Allow once' }).waitFor();
  // Every other surface is told, with the terminal it came from, and can take it back.
  await shows(page, '#unlocked', /web was unlocked from pts\/\d+ at/);
  await page.getByRole('button', { name: 'It was me' }).click();
  await other.locator('#list').click({ position: { x: 300, y: 700 } });
  await other.keyboard.press('Shift+L');
  await node.getByRole('button', { name: 'Unlock to answer' }).waitFor();
  assert.equal(waiter.runs, true);
  const third = await unlocked();
  await shows(page, '#unlocked', /web was unlocked/);
  await page.getByRole('button', { name: 'Lock it' }).click();
  await third.locator('#lock:not([aria-pressed=true])').waitFor();
  await ranInTerminal(server, name, 'Bash', { command: 'make' });
  assert.equal(await waiter.printed(), null);
  for (const one of [other, third]) await one.context().close();
});

test('a card that has just come takes no answer, and nothing on it has the focus', async () => {
  const name = named('fresh');
  const waiter = await ask(server, name, 'Bash', { command: 'make' });
  await page.evaluate((name) => {
    window.tried = null;
    new MutationObserver((_, observer) => {
      const button = document.querySelector('.card [data-choice=allow]');
      if (!button || button.hidden || document.querySelector('#detail h2').textContent !== name) return;
      observer.disconnect();
      button.click();
      window.tried = button.getAttribute('aria-disabled');
    }).observe(document.getElementById('detail'), { subtree: true, childList: true, attributes: true });
  }, name);
  const node = await open(name);
  await becomes(() => page.evaluate(() => window.tried), 'true');
  assert.equal(await page.evaluate(() => Boolean(document.activeElement.closest('.card'))), false);
  assert.deepEqual((await steps(server, waiter.card.id)).map(({ state }) => state), ['open'], 'the click did nothing');
  await choose(node, 'Allow once');
  assert.deepEqual(await waiter.printed(), { behavior: 'allow' });
  const claimed = (await steps(server, waiter.card.id)).find(({ state }) => state === 'claimed');
  assert.deepEqual([claimed.by, claimed.choice, claimed.digest], ['web', 'allow', waiter.card.answer.digest]);
});

test('deny carries the remark word for word; stop ends the turn', async () => {
  const [one, two] = [named('deny'), named('stop')];
  let waiter = await ask(server, one, 'Bash', { command: 'npm install' });
  let node = await open(one);
  await node.getByLabel('A remark for the agent').fill('use "pnpm" \\ ünd <b>');
  await choose(node, 'Deny');
  assert.deepEqual(await waiter.printed(), { behavior: 'deny', message: 'use "pnpm" \\ ünd <b>' });
  waiter = await ask(server, two, 'Bash', { command: 'npm install' });
  node = await open(two);
  await choose(node, 'Deny and stop');
  assert.deepEqual(await waiter.printed(), { behavior: 'deny', interrupt: true });
});

test('what the guard would stop needs its program typed', async () => {
  const name = named('risky');
  const waiter = await ask(server, name, 'Bash', { command: 'git push --force origin main' });
  const node = await open(name);
  await choose(node, 'Allow once');
  await shows(page, '.card .told', 'Type git to allow this.');
  assert.equal(waiter.runs, true);
  await node.getByLabel('Type git to allow it').fill('git');
  await choose(node, 'Allow once');
  assert.deepEqual(await waiter.printed(), { behavior: 'allow' });
});

test('questions are answered with labels, several labels or own words', async () => {
  const name = named('quiz');
  const questions = [
    { question: 'Which?', header: 'A', multiSelect: true, options: [{ label: 'Red', description: 'r' }, { label: 'Blue', description: 'b' }] },
    { question: 'How?', header: 'B', multiSelect: false, options: [{ label: 'Fast', description: 'f' }, { label: 'Slow', description: 's' }] },
  ];
  const waiter = await ask(server, name, 'AskUserQuestion', { questions });
  const node = await open(name);
  await becomes(() => node.locator('[data-choice=allow]').count(), 0);
  await choose(node, 'Send the answer');
  await shows(page, '.card .told', 'Every question needs an answer.');
  await node.getByLabel('Blue').check();
  await node.getByLabel('Red').check();
  await node.getByLabel('Fast').check();
  await node.getByLabel('Another answer to: How?').fill('carefully, please');
  await becomes(() => node.getByLabel('Fast').isChecked(), false, 'own words take the place of the choice');
  await choose(node, 'Send the answer');
  assert.deepEqual(await waiter.printed(), { behavior: 'allow', updatedInput: { questions, answers: { 'Which?': 'Red, Blue', 'How?': 'carefully, please' } } });
});

test('a plan says its mode before it is approved as it is, or goes back with a remark', async () => {
  const input = { plan: '# Plan\n\n1. Do it', planFilePath: '/srv/plan.md' };
  let name = named('plan');
  let waiter = await ask(server, name, 'ExitPlanMode', input);
  let node = await open(name);
  await becomes(() => node.textContent(), /Mode afterwards: default\./);
  await becomes(() => node.locator('[data-choice=allow]').count(), 0);
  await node.getByLabel('A remark for the agent').fill('smaller steps');
  await choose(node, 'Keep planning');
  assert.deepEqual(await waiter.printed(), { behavior: 'deny', message: 'smaller steps' });
  name = named('plan-again');
  waiter = await ask(server, name, 'ExitPlanMode', input);
  node = await open(name);
  await choose(node, 'Approve the plan');
  assert.deepEqual(await waiter.printed(), { behavior: 'allow', updatedInput: input });
});

test('what is masked or hostile can only be denied, and the card says why', async () => {
  const rows = [[named('masked'), `curl -H 'authorization: Bearer ${'gh' + 'p_'}${'a1B2'.repeat(9)}' https://x.example`, /masked/], [named('hostile'), 'echo \u202etxt.exe <img src=x onerror=alert(1)>', /character/]];
  for (const [name, command, why] of rows) {
    const waiter = await ask(server, name, 'Bash', { command });
    const node = await open(name);
    await becomes(() => node.locator('[data-choice]').evaluateAll((all) => all.map((each) => each.dataset.choice)), ['deny', 'stop']);
    await becomes(() => node.textContent(), why);
    await choose(node, 'Deny');
    assert.equal((await waiter.printed()).behavior, 'deny');
  }
  assert.deepEqual(page.faults, []);
});

test('the same ask on two boards: the second reads who was first, and when', async () => {
  const name = named('boards');
  const waiter = await ask(server, name, 'Bash', { command: 'make' });
  const other = await unlocked();
  const [here, there] = [await open(name), await open(name, other)];
  // The other board's click is held until this one has answered: both saw an open ask.
  let held;
  await other.route('**/api/interactions/*/answer', (route) => (held = route));
  await choose(there, 'Deny');
  await until('the click of the other board', () => held);
  await choose(here, 'Allow once');
  assert.deepEqual(await waiter.printed(), { behavior: 'allow' });
  const refused = other.waitForResponse('**/api/interactions/*/answer');
  await held.continue();
  assert.equal((await refused).status(), 409);
  assert.equal((await (await refused).json()).by, 'web');
  await until('no board has the card', async () => (await here.count()) + (await there.count()) === 0);
  const states = (await steps(server, waiter.card.id)).map(({ state }) => state);
  assert.deepEqual(states, ['open', 'claimed', 'delivered']);
  await other.context().close();
});

test('who comes too late reads it on the card', async () => {
  const name = named('late');
  const waiter = await ask(server, name, 'Bash', { command: 'make' });
  const node = await open(name);
  // The hook cannot take the answer yet, so the card stays while somebody else claims it.
  process.kill(waiter.child.pid, 'SIGSTOP');
  let held;
  await page.route('**/api/interactions/*/answer', (route) => (held = route));
  await choose(node, 'Deny');
  await until('the click', () => held);
  const said = await onTerminal(server, `answer ${name} allow`);
  assert.match(said, /^allow: /m);
  // An agent with a terminal of its own could have done that, so it is told.
  await shows(page, '#unlocked', /`headspace answer` is used on pts\/\d+, first at/);
  await page.getByRole('button', { name: 'It was me' }).click();
  await held.continue();
  await shows(page, '.card .told', /Already answered from the command line, \d+ s ago\./);
  await page.unroute('**/api/interactions/*/answer');
  const other = await begin();
  await open(name, other, false);
  await shows(other, '.card', /The answer from the command line is on its way to the agent\./);
  process.kill(waiter.child.pid, 'SIGCONT');
  assert.deepEqual(await waiter.printed(), { behavior: 'allow' });
  await other.context().close();
});

test('the terminal was first: the card goes, and a click that was on its way says so', async () => {
  const name = named('terminal');
  const waiter = await ask(server, name, 'Bash', { command: 'make' });
  const node = await open(name);
  let held;
  await page.route('**/api/interactions/*/answer', (route) => (held = route));
  await choose(node, 'Allow once');
  await until('the click', () => held);
  await ranInTerminal(server, name, 'Bash', { command: 'make' });
  assert.equal(await waiter.printed(), null);
  const refused = page.waitForResponse('**/api/interactions/*/answer');
  await held.continue();
  assert.equal((await refused).status(), 409);
  assert.equal((await (await refused).json()).by, 'terminal');
  await until('the card to go', async () => (await node.count()) === 0);
  await page.unroute('**/api/interactions/*/answer');
  // No or Esc in the terminal ends the hook: known at once.
  const refusedThere = await ask(server, named('esc'), 'Bash', { command: 'make' });
  const card = await open(named('esc'));
  process.kill(refusedThere.child.pid, 'SIGTERM');
  await until('the card to go', async () => (await card.count()) === 0);
});

test('a and d ask once more, and a key held down answers nothing', async () => {
  const name = named('keys');
  const waiter = await ask(server, name, 'Bash', { command: 'make keys' });
  await open(name);
  // The same key again, the moment the dialog is there: from inside the page, because a busy machine may be late otherwise.
  await page.evaluate(() => {
    window.early = null;
    new MutationObserver((_, observer) => {
      const dialog = document.querySelector('dialog#confirm[open]');
      if (!dialog) return;
      observer.disconnect();
      window.early = document.activeElement.textContent;
      dialog.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  await page.keyboard.press('a');
  const dialog = page.locator('dialog#confirm');
  await dialog.waitFor();
  await becomes(() => page.evaluate(() => window.early), 'Cancel', 'what is focused answers nothing');
  assert.deepEqual((await steps(server, waiter.card.id)).map(({ state }) => state), ['open'], 'too soon');
  await until('the dialog to thaw', async () => (await dialog.locator('[data-choice]').getAttribute('aria-disabled')) === null);
  await page.keyboard.press('Escape');
  await until('the dialog to go', async () => (await dialog.count()) === 0);
  assert.equal(waiter.runs, true);
  await page.keyboard.press('d');
  await until('the dialog to thaw', async () => (await dialog.count()) === 1 && (await dialog.locator('[data-choice]').getAttribute('aria-disabled')) === null);
  await page.keyboard.press('d');
  assert.deepEqual(await waiter.printed(), { behavior: 'deny' });
});

test('an old tab: after a restart neither its key nor its card counts', async () => {
  const name = named('old');
  const waiter = await ask(server, name, 'Bash', { command: 'make' });
  const node = await open(name);
  const { id, answer } = waiter.card;
  await server.stop();
  await server.restart();
  assert.equal(await waiter.printed(), null, 'the dialog is in its terminal');
  await page.locator('#lock:not([aria-pressed=true])').waitFor();
  await becomes(() => node.locator('[data-choice]').count(), 0);
  await becomes(() => node.textContent(), /answer in the terminal/);
  const send = (page) => page.evaluate(async ([id, digest]) => (await fetch(`/api/interactions/${id}/answer`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ digest, choice: 'allow' }) })).status, [id, answer.digest]);
  assert.equal(await send(page), 403);
  await page.context().close();
  page = await unlocked();
  assert.equal(await send(page), 409);
});

test('a hundred asks that are alike are listed, and each is answered with its own digest', async () => {
  const all = 100;
  const names = Array.from({ length: all }, (_, at) => `${named('many')}-${String(at).padStart(3, '0')}`);
  const waiters = [];
  for (const name of names) waiters.push(await ask(server, name, 'Bash', { command: 'npm test' }));
  const different = await ask(server, named('other'), 'Bash', { command: 'npm test ' });
  const node = await open(names[50]);
  await until('all of them', async () => (await node.getByRole('button', { name: `Answer all ${all} of these…` }).count()) === 1);
  await node.getByRole('button', { name: `Answer all ${all} of these…` }).click();
  const dialog = page.locator('dialog#confirm');
  await becomes(async () => (await dialog.locator('li pre').allTextContents()).filter((text) => text === 'npm test').length, all);
  await until('the dialog to thaw', async () => (await dialog.locator('[data-choice=allow]').getAttribute('aria-disabled')) === null);
  await dialog.getByRole('button', { name: `Allow once, all ${all}` }).click();
  for (const waiter of waiters) assert.deepEqual(await waiter.printed(), { behavior: 'allow' });
  const digests = new Set();
  for (const waiter of waiters) digests.add((await steps(server, waiter.card.id)).find(({ state }) => state === 'claimed').digest);
  assert.equal(digests.size, all);
  assert.equal(different.runs, true, 'what is not exactly alike is not answered');
  await dialog.getByRole('button', { name: 'Close' }).click();
  process.kill(different.child.pid, 'SIGTERM');
  assert.deepEqual(page.faults, []);
});

test('a page from elsewhere can neither unlock nor answer', async () => {
  const name = named('elsewhere');
  const waiter = await ask(server, name, 'Bash', { command: 'make' });
  const other = await begin();
  await other.goto('data:text/html,<p>elsewhere');
  const send = (path, body) => other.evaluate(([url, body]) => fetch(url, { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }).then((answer) => answer.status, () => 'refused'), [`${server.url}${path}`, body]);
  assert.equal(await send('/api/answer/unlock', { code: await codeFor(server) }), 'refused');
  assert.equal(await send(`/api/interactions/${waiter.card.id}/answer`, { digest: waiter.card.answer.digest, choice: 'allow' }), 'refused');
  assert.equal(waiter.runs, true);
  assert.equal((await cardOf(server, name)).answer.state, 'open');
  process.kill(waiter.child.pid, 'SIGTERM');
  await other.context().close();
});
