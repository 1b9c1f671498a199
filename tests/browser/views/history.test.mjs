// History: conversations by their words, the filters in the address, charts, waits, costs, export.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, open, shows, until } from '../stage.mjs';

let server, browser, page;
const statusLine = (session, cost, extra = {}) => server.hook('status-line', session, { cost: { total_cost_usd: cost, total_lines_added: 12, total_lines_removed: 3 }, model: { id: 'claude-opus-5-5' }, context_window: { context_window_size: 200000 }, ...extra });

before(async () => {
  server = await Server.start();
  browser = await launch();
  await server.working('api', 'Why does the cookie <b>jar</b> leak?', { session_title: 'Leaks' });
  for (let i = 0; i < 120; i++) {
    await server.hook('stop', 'api', { last_assistant_message: `Step ${i} is done.`, background_tasks: [] });
    await server.hook('user-prompt-submit', 'api', { prompt: `go on ${i}` });
  }
  await server.hook('stop', 'api', { last_assistant_message: 'The Cookie was set twice.', background_tasks: [] });
  await server.working('web', 'Bake a cookie banner', { session_title: 'Banner' });
  await statusLine('api', 1.5, { rate_limits: { five_hour: { used_percentage: 42, resets_at: Math.floor(Date.now() / 1000) + 7200 }, seven_day: { used_percentage: 95, resets_at: Math.floor(Date.now() / 1000) + 90000 } } });
  await statusLine('api', 2.25);
  await statusLine('web', 0.5, { pr: { number: 12, url: 'https://example.com/pr/12', review_state: 'changes_requested' }, worktree: { name: 'banner', original_branch: 'main' } });
  await server.asking('slow', 'make', { session_title: 'Slow' });
  page = await open(browser, `${server.url}/#/history`);
});
after(async () => {
  await browser?.close();
  await server?.end();
});

test('a conversation is found by its words, which are marked', async () => {
  await page.getByLabel('Search the conversations').fill('cookie');
  await until('three places', async () => (await page.locator('.hits li').count()) === 3);
  await becomes(() => page.locator('.hits mark').allTextContents(), ['cookie', 'Cookie', 'cookie']);
  await becomes(() => page.locator('.hits li').nth(2).textContent(), /Leaks.*You.*Why does the cookie <b>jar<\/b> leak\?/s);
  await becomes(() => page.url(), /#\/history\?q=cookie$/);
});

test('project and days narrow the search and stand in the address', async () => {
  await page.getByLabel('Project').selectOption('web');
  await until('one place', async () => (await page.locator('.hits li').count()) === 1);
  await becomes(() => page.url(), /project=web/);
  const tomorrow = new Date(Date.now() + 86400000).toLocaleDateString('sv');
  await page.getByLabel('From').fill(tomorrow);
  await shows(page, '#history [role=status]', 'Nothing found');
  await becomes(() => page.url(), /from=/);
  const again = await open(browser, page.url());
  await becomes(() => again.getByLabel('Search the conversations').inputValue(), 'cookie');
  await becomes(async () => [await again.getByLabel('Project').inputValue(), await again.getByLabel('From').inputValue()], ['web', tomorrow]);
  await shows(again, '#history [role=status]', 'Nothing found');
  await again.context().close();
  await page.getByLabel('From').fill('');
  await page.getByLabel('Project').selectOption('');
  await until('all again', async () => (await page.locator('.hits li').count()) === 3);
});

test('a hit opens the conversation where it was said', async () => {
  await page.locator('.hits a').nth(2).click();
  await page.locator('.turns .hit').waitFor();
  await shows(page, '.turns .hit', 'Why does the cookie');
  await until('it to be in view', () => page.locator('.turns .hit').evaluate((node) => {
    const [box, frame] = [node.getBoundingClientRect(), node.closest('.talk').getBoundingClientRect()];
    return box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
  }));
  await page.getByRole('button', { name: 'Go to the newest' }).click();
  await shows(page, '.talk > .turns > li:last-child', 'The Cookie was set twice');
  const atFoot = () => page.locator('.talk').evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2);
  await until('the newest in view', atFoot);
  await page.getByRole('button', { name: 'Earlier' }).first().click();
  await until('more turns', async () => (await page.locator('.talk > .turns > li').count()) > 150);
});

test('charts tell waiting by kind, cost and events', async () => {
  await page.goto(`${server.url}/#/history`);
  await until('three charts', async () => (await page.locator('.chart svg').count()) === 3);
  const label = (at) => page.locator('.chart svg').nth(at).getAttribute('aria-label');
  await becomes(() => label(0), /^Agents waited for you, per day/);
  await becomes(() => label(1), /^Cost per day\. Most: \$2\.75/);
  await becomes(() => label(2), /^Events per hour/);
  await page.locator('.chart [data-kind=permission]').first().waitFor();
});

for (const width of [360, 768, 1024, 1440])
  test(`at ${width} px the charts fill their rows, and no two ticks touch`, async () => {
    const view = await open(browser, `${server.url}/#/history`, { viewport: { width, height: 900 } });
    await until('three charts', async () => (await view.locator('.chart svg').count()) === 3);
    const { right, rows, touching } = await view.evaluate(() => {
      const box = (node) => node.getBoundingClientRect();
      const charts = [...document.querySelectorAll('.chart')];
      const rows = Map.groupBy(charts.map(box), ({ top }) => Math.round(top));
      const touching = charts.flatMap((chart) => {
        const ticks = [...chart.querySelectorAll('g text')].map(box).sort((a, b) => a.left - b.left);
        return ticks.filter((tick, at) => at > 0 && tick.left < ticks[at - 1].right).map(({ left }) => left);
      });
      return { right: Math.round(box(document.querySelector('.charts')).right), rows: [...rows.values()].map((row) => Math.round(Math.max(...row.map((each) => each.right)))), touching };
    });
    assert.deepEqual(rows, rows.map(() => right), 'the right edge of each row');
    assert.deepEqual(touching, []);
    await view.context().close();
  });

test('the longest waits of the week, and who spent what', async () => {
  await shows(page, '.waits-list li', /slow · Slow.*Allow Bash: make.*still open/s);
  await shows(page, '.spent li', /api.*\$2\.25/s);
  await shows(page, '.spent li', /web · Banner.*\$0\.50/s);
});

test('rate limits are gauges in the header, with the time of their reset', async () => {
  const gauges = page.locator('.limit');
  await becomes(() => gauges.count(), 2);
  await becomes(() => gauges.first().getAttribute('aria-label'), /^5 h limit 42 % used, starts over in (1|2) h/);
  await becomes(() => gauges.nth(1).getAttribute('aria-label'), /^7 d limit 95 %/);
  await becomes(() => gauges.evaluateAll((all) => all.map((gauge) => gauge.dataset.full ?? '')), ['', '1']);
});

test('cost, lines, pull request and worktree stand with the agent', async () => {
  const { agents } = await (await fetch(`${server.url}/api/agents`)).json();
  await page.goto(`${server.url}/#/agents/${agents.find(({ name }) => name === 'Banner').id}`);
  for (const [fact, words] of [['cost', '$0.50'], ['lines', '+12 −3'], ['pull request', '#12, changes requested'], ['worktree', 'banner']]) await shows(page, `[data-fact="${fact}"] .value`, words);
});

test('a session is exported as Markdown and as JSON', async () => {
  const { agents } = await (await fetch(`${server.url}/api/agents`)).json();
  const { id } = agents.find(({ name }) => name === 'Leaks');
  await page.goto(`${server.url}/#/agents/${id}`);
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export' }).click()]);
  assert.match(file.suggestedFilename(), /^headspace-api-api\.md$/);
  const text = await (await fetch(`${server.url}/api/agents/${id}/export`)).text();
  assert.match(text, /^# api · Leaks\n/);
  assert.ok(text.indexOf('cookie <b>jar</b>') < text.indexOf('set twice'));
  const json = await (await fetch(`${server.url}/api/agents/${id}/export?format=json`)).json();
  assert.equal(json.complete, true);
  assert.ok(json.turns.length > 200 && json.events.length > 240);
  assert.equal((await fetch(`${server.url}/api/agents/${id}/export?format=pdf`)).status, 400);
});

test('nothing went wrong in the page meanwhile', () => assert.deepEqual(page.faults, []));
