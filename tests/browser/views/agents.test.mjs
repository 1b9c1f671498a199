// The list: who needs me, why, since when; live, and without moving what did not change.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, names, open, row, shows, until } from '../stage.mjs';

let server, browser, page;

before(async () => {
  server = await Server.start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

test('an empty page is a check-list whose ticks are live', async () => {
  page = await open(browser, server.url);
  await page.getByText('No agents yet').waitFor();
  await becomes(() => page.locator('.steps li[data-done="1"]').count(), 1, 'only the server is there');
  await server.working('alpha', 'write the parser', { session_title: 'Parser' });
  await row(page, 'Parser').waitFor();
  await becomes(() => page.locator('#empty').isVisible(), false);
});

test('a post shows without a reload: group, word, the ask itself, the time', async () => {
  await page.evaluate(() => (window.untouched = true));
  await server.asking('beta', 'npm test -- --bail', { session_title: 'Billing' });
  const billing = row(page, 'Billing');
  await until('billing to need somebody', async () => (await billing.getAttribute('data-g')) === 'needs_you');
  await becomes(() => billing.locator('.mark').first().textContent(), '!');
  await becomes(() => billing.locator('.word').textContent(), 'needs you');
  await becomes(() => billing.locator('.row .ask').textContent(), 'Allow Bash: npm test -- --bail');
  await becomes(() => billing.locator('.when').textContent(), /^waiting \d+ s$/);
  await becomes(() => names(page), ['Billing', 'Parser'], 'who needs somebody comes first');
  assert.equal(await page.evaluate(() => window.untouched), true, 'the page was not loaded again');
});

test('title, favicon and counters carry the count', async () => {
  await becomes(() => page.title(), '(1) headspace');
  await becomes(async () => decodeURIComponent(await page.locator('#favicon').getAttribute('href')), />1<\/text>/);
  await becomes(() => page.locator('.counter[data-g=needs_you] b').textContent(), '1');
  await becomes(() => page.locator('.counter[data-g=working] b').textContent(), '1');
  await server.answered('beta', 'npm test -- --bail');
  await until('the title to calm down', async () => (await page.title()) === 'headspace');
});

test('ages tick in the browser, with no event at all', async () => {
  await server.asking('beta', 'make', { session_title: 'Billing' });
  const when = row(page, 'Billing').locator('.when .tick');
  await until('the wait to show', async () => /^\d+ s$/.test(await when.textContent()));
  const first = parseInt(await when.textContent(), 10);
  await until('a second to pass on screen', async () => parseInt(await when.textContent(), 10) > first);
});

test('an update touches only the row it is about', async () => {
  const touched = await page.evaluateHandle(() => {
    const seen = new Set();
    new MutationObserver((records) => {
      // The second hand goes round by itself.
      for (const record of records) if (!record.target.closest?.('.tick')) seen.add(record.target.parentElement?.closest('.agent')?.querySelector('.name').textContent ?? record.target.className);
    }).observe(document.getElementById('list'), { subtree: true, childList: true, attributes: true, characterData: true });
    return seen;
  });
  await server.hook('pre-tool-use', 'alpha', { tool_name: 'Read', tool_input: { file_path: 'src/lexer.rs' }, tool_use_id: 'r1' });
  await shows(page, '.agent .row .ask', 'Read: src/lexer.rs');
  assert.deepEqual(await touched.evaluate((seen) => [...seen]), ['Parser']);
});

test('an update moves nothing else, and keeps selection, focus and scroll', async () => {
  for (let i = 0; i < 30; i++) await server.working(`crowd-${i}`, 'x', { session_title: `Crowd ${i}` });
  await row(page, 'Crowd 29').waitFor();
  await row(page, 'Crowd 20').locator('.row').click();
  await row(page, 'Crowd 20').locator('.row').focus();
  await shows(page, '#detail .timeline li', 'UserPromptSubmit');
  // Everything about the agent has come: what moves from here on, an update has moved.
  await until('its turns', async () => /\d/.test(await page.locator('#detail .segment .count').first().textContent()));
  const place = () => page.evaluate(() => ({ scroll: document.getElementById('list').scrollTop, focus: document.activeElement.closest('.agent')?.dataset.id, current: document.querySelector('.row[aria-current]')?.parentElement.dataset.id }));
  const was = await place();
  const shift = await page.evaluateHandle(() => {
    const told = { sum: 0 };
    new PerformanceObserver((entries) => entries.getEntries().forEach((entry) => (told.sum += entry.value))).observe({ type: 'layout-shift', buffered: false });
    return told;
  });
  for (let i = 0; i < 10; i++) await server.hook('pre-tool-use', `crowd-${i}`, { tool_name: 'Bash', tool_input: { command: `step ${i}` }, tool_use_id: `c${i}` });
  await shows(page, '.agent .row .ask', 'Bash: step 9');
  assert.deepEqual(await place(), was);
  assert.equal(await shift.evaluate((told) => told.sum), 0, 'layout shift');
  // The hand moves once more: on a busy machine it may have rested for so long that it does not count.
  await row(page, 'Crowd 20').locator('.row').dispatchEvent('pointermove');
  await server.asking('crowd-3', 'rm -r build');
  await shows(page, '.agent[data-g=needs_you] .name', 'Crowd 3');
  assert.ok((await names(page)).indexOf('Crowd 3') > 1, 'no row moves under the hand');
  await page.mouse.move(1400, 20);
  await page.locator('#find').focus();
  await until('the asking one to come first', async () => (await names(page)).indexOf('Crowd 3') === 1);
  const now = await place();
  assert.equal(now.current, was.current, 'the selection stays on its agent when rows change places');
});

test('counters filter, the search finds, Escape brings all back', async () => {
  await page.locator('.counter[data-g=needs_you]').click();
  await becomes(() => names(page), ['Billing', 'Crowd 3']);
  await page.locator('.counter[data-g=needs_you]').click();
  await page.keyboard.press('/');
  await page.keyboard.type('crowd 2');
  await until('the search to narrow', async () => (await names(page)).every((name) => name.includes('2')));
  await page.keyboard.press('Escape');
  await until('all to be back', async () => (await names(page)).length > 20);
  await page.locator('#find').fill('nobody is called this');
  await page.getByText('No agent matches.').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await until('all to be back again', async () => (await names(page)).length > 20);
});

test('grouped by project, the most urgent project comes first', async () => {
  await page.locator('#grouping').selectOption('project');
  const heads = () => page.locator('h2.folder span:first-child').allTextContents();
  await becomes(async () => (await heads())[0], 'beta');
  assert.ok((await heads()).includes('alpha'));
  await page.locator('#grouping').selectOption('flat');
});

test('subagents hang under their parent while they live', async () => {
  await server.hook('subagent-start', 'alpha', { agent_id: 'a1', agent_type: 'Explore' });
  await server.hook('pre-tool-use', 'alpha', { agent_id: 'a1', agent_type: 'Explore', tool_name: 'Grep', tool_input: { pattern: 'TODO' }, tool_use_id: 'g1' });
  const kid = row(page, 'Parser').locator('.kids li');
  await until('the subagent to show', async () => (await kid.count()) === 1 && (await kid.textContent()).includes('Grep: TODO'));
  await server.hook('subagent-stop', 'alpha', { agent_id: 'a1', agent_type: 'Explore', last_assistant_message: 'none left' });
  await until('the subagent to go', async () => (await kid.count()) === 0);
  await becomes(() => row(page, 'Parser').locator('.dots i').count(), 1, 'a dot tells that it was there');
});

test('ended and headless agents are folded away with their count', async () => {
  await server.working('gone', 'x', { session_title: 'Gone' });
  await row(page, 'Gone').waitFor();
  await server.hook('session-end', 'gone', { reason: 'prompt_input_exit' });
  await server.working('robot', 'x', { session_title: 'Robot', entrypoint: 'sdk-cli' });
  await until('both folds', async () => (await page.locator('button.folder').allTextContents()).join() === '1headless,1ended');
  await becomes(() => row(page, 'Gone').count(), 0);
  await page.getByRole('button', { name: 'ended' }).click();
  await row(page, 'Gone').waitFor();
  await becomes(() => row(page, 'Gone').locator('.word').textContent(), 'ended');
});

test('keyboard: j, k, Enter, n, /, ?', async () => {
  const fresh = await open(browser, `${server.url}/#/agents`);
  await row(fresh, 'Billing').waitFor();
  const focused = () => fresh.evaluate(() => document.activeElement.querySelector('.name')?.textContent);
  const opened = () => fresh.locator('#detail h2').first().textContent();
  const [first, second] = await names(fresh);
  await until('the most urgent one to be open', async () => (await opened()) === first);
  await fresh.keyboard.press('Escape');
  await becomes(() => focused(), first, 'closing leads back to the row');
  await fresh.keyboard.press('j');
  await becomes(() => focused(), second);
  await fresh.keyboard.press('k');
  await becomes(() => focused(), first);
  await fresh.keyboard.press('j');
  await fresh.keyboard.press('Enter');
  await until('Enter to open it', async () => (await opened()) === second);
  await fresh.keyboard.press('n');
  await until('n to open who waited longest', async () => (await opened()) === 'Billing');
  await fresh.keyboard.press('n');
  await until('n again to go on to the next', async () => (await opened()) === 'Crowd 3');
  await fresh.keyboard.press('n');
  await until('and round to the first', async () => (await opened()) === 'Billing');
  await fresh.keyboard.press('?');
  await becomes(() => fresh.locator('dialog#help').isVisible(), true);
  await fresh.keyboard.press('Escape');
  await becomes(() => fresh.locator('dialog#help').isVisible(), false);
  await fresh.keyboard.press('2');
  await fresh.getByText('Event log').waitFor();
  const pressed = () => {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }));
    return document.activeElement.id;
  };
  assert.equal(await fresh.evaluate(pressed), 'find', '/ leads from there to the search, at once');
  await fresh.keyboard.type('crowd 2');
  await becomes(() => fresh.locator('#find').inputValue(), 'crowd 2');
  assert.deepEqual(fresh.faults, []);
  await fresh.context().close();
});

test('a click on a finished agent does not make it leap away', async () => {
  const fresh = await open(browser, `${server.url}/#/agents`);
  await server.hook('stop', 'crowd-7', { last_assistant_message: 'Done with seven.' });
  await server.hook('stop', 'crowd-8', { last_assistant_message: 'Done with eight.' });
  await until('both to be done', async () => (await fresh.locator('.agent[data-g=done]').count()) === 2);
  const before = await names(fresh);
  await row(fresh, 'Crowd 7').locator('.row').click();
  await until('it to be seen', async () => (await row(fresh, 'Crowd 7').getAttribute('data-g')) === 'idle');
  assert.deepEqual(await names(fresh), before, 'while the pointer is there');
  await fresh.mouse.move(700, 20);
  await fresh.locator('#find').focus();
  await until('the rows to be sorted', async () => (await names(fresh)).indexOf('Crowd 7') > (await names(fresh)).indexOf('Crowd 8'));
  await fresh.context().close();
});

test('rows at 360 px name the project', async () => {
  const phone = await open(browser, `${server.url}/#/agents`, { viewport: { width: 360, height: 740 } });
  await becomes(() => row(phone, 'Billing').locator('.project').textContent(), 'beta');
  await becomes(() => row(phone, 'Billing').locator('.project').isVisible(), true);
  await phone.context().close();
});

test('a very long branch or name gives way to the other chips', async (t) => {
  const own = await Server.start();
  t.after(() => own.end());
  const long = 'feature/PROJ-12345-a-very-long-branch-name-that-somebody-made-with-a-generator-and-never-shortened';
  await own.working('alpha', 'go', { session_title: long, host: 'laptop', host_id: 'id-l' });
  await own.working('beta', 'go', { session_title: 'Short', host: 'tower', host_id: 'id-t' });
  for (const width of [1400, 800, 360]) {
    const fresh = await open(browser, own.url, { viewport: { width, height: 740 } });
    const chips = row(fresh, 'feature').locator('.who > .chip:not(.branch)');
    await row(fresh, 'feature').locator('.project').waitFor();
    await until('whole chips', async () => (await chips.evaluateAll((all) => all.filter((chip) => chip.checkVisibility()).map((chip) => chip.scrollWidth <= chip.clientWidth))).every(Boolean), 2000);
    await becomes(() => chips.evaluateAll((all) => all.filter((chip) => chip.checkVisibility()).map((chip) => chip.textContent)), width === 360 ? ['alpha'] : ['alpha', 'laptop'], `${width}`);
    await fresh.context().close();
  }
});

test('an agent that says no machine is on this one', async (t) => {
  const own = await Server.start();
  t.after(() => own.end());
  await own.working('alpha', 'go', { session_title: 'Alpha' });
  const { agent_id: id } = await own.hook('stop', 'curl', { cwd: '/tmp' });
  const fresh = await open(browser, own.url);
  // As its own hooks say it: here, and with a name.
  await fresh.route(({ pathname }) => pathname === '/api/agents', async (route) => {
    const answer = await (await route.fetch()).json();
    for (const agent of answer.agents) if (agent.id !== id) agent.host = 'this-box';
    await route.fulfill({ json: answer });
  });
  await fresh.reload();
  await fresh.locator('.agent').nth(1).waitFor();
  await becomes(() => fresh.locator('#list .who').evaluateAll((all) => all.map((who) => [...who.querySelectorAll('.chip')].filter((chip) => chip.checkVisibility()).map((chip) => chip.textContent)).flat()), ['alpha']);
  await becomes(() => row(fresh, 'tmp').locator('.row > .ask').textContent(), '', 'a directory is no message');
  await fresh.context().close();
});

test('a browser notification comes once per question, when wanted and not looking', async () => {
  const context = await browser.newContext({ permissions: ['notifications'] });
  const away = await context.newPage();
  await away.addInitScript(() => {
    window.told = [];
    window.Notification = class {
      static permission = 'granted';
      static requestPermission = async () => 'granted';
      constructor(title, { body }) {
        window.told.push(`${title}: ${body}`);
      }
    };
    document.hasFocus = () => false;
  });
  await away.goto(server.url);
  await row(away, 'Billing').waitFor();
  await away.locator('#bell').click();
  await becomes(() => away.locator('#bell').getAttribute('aria-pressed'), 'true');
  await server.asking('crowd-5', 'make deploy');
  await until('the call', () => away.evaluate(() => window.told.length > 0));
  await server.hook('notification', 'crowd-5', { notification_type: 'permission_prompt', message: 'Claude needs your permission' });
  await shows(away, '#say', 'crowd-5 · Crowd 5 needs you: Allow Bash: make deploy');
  assert.deepEqual(await away.evaluate(() => window.told), ['crowd-5 · Crowd 5 needs you: Allow Bash: make deploy']);
  await context.close();
});

test('nothing went wrong in the page meanwhile', () => assert.deepEqual(page.faults, []));

test('agents of several machines and people: chosen, grouped, and told apart', async () => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, serviceWorkers: 'block' });
  const many = await context.newPage();
  // The board of another machine, as it stands among this one's: its ids have its name.
  await many.route(/\/api\/agents\?/, async (route) => {
    const answer = await (await route.fetch()).json();
    const [here] = answer.agents;
    const there = { ...here, id: 'devbox/7', name: 'Far away', machine: 'devbox', host: 'dev', user: 'ada', not_heard_since: new Date(Date.now() - 240_000).toISOString(), summary: { ...here.summary, title: 'devbox: Far away', since: new Date(Date.now() - 240_000).toISOString(), age_kind: 'not_heard' } };
    await route.fulfill({ json: { ...answer, agents: [{ ...here, user: 'grace', host: 'laptop' }, there] } });
  });
  await many.route('**/api/agents/devbox/**', (route) => route.fulfill({ json: { turns: [], events: [] } }));
  await many.goto(server.url);
  const far = row(many, 'Far away');
  await far.waitFor();
  await becomes(() => far.locator('.when').textContent(), /not heard since\s*4 m/);
  await becomes(() => far.textContent(), /ada @ devbox/);
  await many.locator('#where').selectOption('machine:devbox');
  await becomes(() => names(many), ['Far away']);
  await many.locator('#where').selectOption('user:grace');
  await until('the other', async () => (await names(many)).length === 1 && (await names(many))[0] !== 'Far away');
  await many.locator('#where').selectOption('');
  await many.locator('#grouping').selectOption('user');
  await becomes(async () => (await many.locator('h2.folder span:first-child').allTextContents()).toSorted(), ['ada', 'grace']);
  await far.locator('.row').click();
  await shows(many, '#detail h2', 'Far away');
  await becomes(() => many.url(), /#\/agents\/devbox\/7$/);
  await context.close();
});
