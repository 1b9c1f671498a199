// One agent: the ask, its turns, the timeline with calls joined, lanes, raw JSON, the ways to act.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, open, row, shows, until } from '../stage.mjs';

let server, browser, page;
const S = 'login';
const bash = { tool_name: 'Bash', tool_input: { command: 'npm test' } };

before(async () => {
  server = await Server.start();
  browser = await launch();
  await server.working(S, 'fix the flaky test', { session_title: 'Login' });
  await server.hook('pre-tool-use', S, { ...bash, tool_use_id: 'b1' });
  await server.hook('post-tool-use', S, { ...bash, tool_use_id: 'b1', tool_response: { stdout: 'ok' }, duration_ms: 2400 });
  await server.hook('pre-tool-use', S, { tool_name: 'Read', tool_input: { file_path: 'a.ts' }, tool_use_id: 'r1' });
  await server.hook('post-tool-use-failure', S, { tool_name: 'Read', tool_input: { file_path: 'a.ts' }, tool_use_id: 'r1', error: 'no such file', duration_ms: 12 });
  await server.hook('subagent-start', S, { agent_id: 'a1', agent_type: 'Explore' });
  await server.hook('pre-tool-use', S, { agent_id: 'a1', agent_type: 'Explore', tool_name: 'Grep', tool_input: { pattern: 'cookie' }, tool_use_id: 'g1' });
  const question = { tool_name: 'AskUserQuestion', tool_input: { questions: [{ question: 'Which browser?', header: 'Browser', options: [{ label: 'Firefox' }, { label: 'Chromium' }] }] } };
  await server.hook('pre-tool-use', S, { ...question, tool_use_id: 'q1' });
  await server.hook('permission-request', S, question);
  page = await open(browser, server.url);
  await row(page, 'Login').locator('.row').click();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

test('the ask stands there with its choices and where it is known from', async () => {
  const card = page.locator('.card');
  await card.getByText('Which browser?').waitFor();
  await becomes(() => card.locator('.options li').allTextContents(), ['Firefox', 'Chromium']);
  await becomes(() => card.textContent(), /Question.*waiting \d+ s.*known from hook, confidence high/s);
});

test('what comes late does not move the tabs', async () => {
  const late = await open(browser, server.url);
  let arrive;
  const held = new Promise((go) => (arrive = go));
  await late.route(/\/api\/.*(turns|events\?)/, (route) => held.then(() => route.continue()));
  await late.reload();
  const tabs = late.locator('.segment label');
  const places = () => tabs.evaluateAll((all) => all.map((label) => JSON.stringify(label.getBoundingClientRect())));
  await tabs.last().waitFor();
  const before = await places();
  assert.deepEqual(await late.locator('.segment .count').allTextContents(), ['', '', '']);
  arrive();
  await until('both counts', async () => {
    const [turns, , events] = await late.locator('.segment .count').allTextContents();
    return turns && events;
  });
  assert.deepEqual(await places(), before);
  await late.context().close();
});

test('a tool call is one row, with its duration and its end', async () => {
  await page.locator('.segment').getByText('timeline').click();
  const rows = () => page.locator('.timeline li').evaluateAll((all) => all.map((li) => [li.querySelector('.title').textContent, li.querySelector('.text, .ask').textContent, li.querySelector('.ms').textContent, li.querySelector('.state').textContent]));
  const titled = async (wanted) => (await rows()).filter(([title]) => title === wanted);
  await becomes(() => titled('Bash'), [['Bash', 'npm test', '2.4 s', 'ok']]);
  await becomes(() => titled('Read'), [['Read', 'a.ts', '12 ms', 'failed']]);
  await becomes(async () => (await titled('AskUserQuestion')).map(([, , , state]) => state), ['asks you'], 'the request is part of its call');
});

test('a subagent has a lane of its own', async () => {
  const lanes = (title) => page.locator('.timeline li', { has: page.locator('.title', { hasText: title }) }).locator('.lanes i');
  await becomes(() => lanes('Grep').nth(1).evaluate((i) => i.className), 'on up down');
  await becomes(() => lanes('Grep').nth(0).evaluate((i) => i.className), 'up down');
  await becomes(() => lanes('SubagentStart').nth(1).evaluate((i) => i.className), 'on up');
});

test('a row opens into the raw events, and they can be copied', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const call = page.locator('.timeline li', { has: page.locator('.title', { hasText: 'Bash' }) });
  await call.locator('summary').click();
  const raw = call.locator('.raw section');
  await until('Pre and Post', async () => (await raw.count()) === 2);
  await becomes(() => raw.nth(1).locator('pre').textContent(), /"duration_ms": 2400/);
  await raw.nth(1).getByRole('button', { name: 'Copy JSON' }).click();
  await until('the copy', async () => (await page.evaluate(() => navigator.clipboard.readText())).includes('"duration_ms": 2400'));
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  assert.equal(copied.tool_use_id, 'b1');
  await call.locator('summary').click();
});

test('the conversation reads from top to foot, with the calls between and the newest in view', async () => {
  await page.locator('.segment').getByText('conversation').click();
  await shows(page, '.talk li', 'fix the flaky test');
  await shows(page, '.talk .calls', /2 tool calls|3 tool calls|4 tool calls/);
  const turns = () => page.locator('.talk > .turns > li').evaluateAll((all) => all.map((li) => [li.dataset.actor ?? 'calls', li.querySelector('header span, summary').textContent, li.querySelector('.md')?.textContent ?? '']));
  await until('the question', async () => (await turns()).some(([actor, intent, text]) => actor === 'agent' && intent === 'question' && text.includes('Which browser?')));
  await becomes(async () => (await turns())[0], ['user', 'command', 'fix the flaky test']);
  await becomes(async () => (await turns())[1][0], 'calls');
  const calls = () => page.locator('.talk .calls li').evaluateAll((all) => all.map((li) => [li.querySelector('b').textContent, li.querySelector('.ask').textContent, li.querySelector('.ms').textContent]));
  await becomes(async () => (await calls()).slice(0, 2), [['Bash', 'npm test', '2.4 s'], ['Read', 'a.ts', '12 ms failed']]);
  await page.locator('.segment').getByText('timeline').click();
});

test('what a person asked of the agent is said, locked or not', async () => {
  const own = await open(browser, server.url);
  await own.route(({ pathname }) => pathname === '/api/agents', async (route) => {
    const answer = await (await route.fetch()).json();
    for (const agent of answer.agents) agent.summary.pending = 'Stop requested · 1 prompt waits';
    await route.fulfill({ json: answer });
  });
  await own.reload();
  await row(own, 'Login').locator('.row').click();
  await becomes(() => own.locator('.pending').textContent(), 'Stop requested · 1 prompt waits');
  await own.context().close();
});

test('the resume command is copied for the right directory and session', async () => {
  await page.getByRole('button', { name: 'Resume command' }).click();
  await until('the copy', async () => (await page.evaluate(() => navigator.clipboard.readText())) === `cd /srv/${S} && claude --resume ${S}`);
});

test('a jump that cannot work is disabled and says why', async () => {
  const jump = page.getByRole('button', { name: 'Jump' });
  await becomes(() => jump.getAttribute('aria-disabled'), 'true');
  await becomes(() => page.locator('.said').textContent(), /tmux/);
});

test('a jump the server refuses tells its reason', async () => {
  await server.asking('pane', 'make', { session_title: 'Pane', tmux_session: 'no-such', tmux_pane: '%4711' });
  await row(page, 'Pane').locator('.row').click();
  await page.getByRole('button', { name: 'Jump' }).click();
  await shows(page, '.said', /Could not jump: .+/);
  await row(page, 'Login').locator('.row').click();
});

test('the open agent follows what happens, without losing an opened row', async () => {
  const call = page.locator('.timeline li', { has: page.locator('.title', { hasText: 'Bash' }) });
  await call.locator('summary').click();
  await server.hook('post-tool-use', S, { tool_name: 'AskUserQuestion', tool_input: { questions: [], answers: { 'Which browser?': 'Firefox' } }, tool_use_id: 'q1', tool_response: { answers: { 'Which browser?': 'Firefox' } } });
  await until('the card to go', async () => (await page.locator('.card').count()) === 0);
  await server.hook('stop', S, { last_assistant_message: 'It was a race. All 50 runs pass.', stop_hook_active: false, background_tasks: [] });
  await shows(page, '.timeline li', /Stop.*It was a race/);
  assert.equal(await call.locator('details').evaluate((details) => details.open), true);
  await becomes(() => row(page, 'Login').locator('.word').textContent(), 'done, unseen');
  await becomes(() => row(page, 'Login').locator('.row .ask').textContent(), 'It was a race. All 50 runs pass.');
});

test('seen on request, and by opening it', async () => {
  await page.getByRole('button', { name: 'Mark as seen' }).click();
  await until('idle', async () => (await row(page, 'Login').locator('.word').textContent()) === 'idle');
  await server.hook('user-prompt-submit', S, { prompt: 'again' });
  await row(page, 'Pane').locator('.row').click();
  await server.hook('stop', S, { last_assistant_message: 'Done again.', background_tasks: [] });
  await until('unseen', async () => (await row(page, 'Login').locator('.word').textContent()) === 'done, unseen');
  await row(page, 'Login').locator('.row').click();
  await until('seen', async () => (await row(page, 'Login').locator('.word').textContent()) === 'idle');
});

test('a finished agent shows its last prompt and its last answer first, as Markdown', async () => {
  await server.hook('user-prompt-submit', S, { prompt: 'and now *everything*' });
  await until('nothing came out while it works', async () => !(await page.locator('.outcome').isVisible()));
  await server.hook('stop', S, { last_assistant_message: '## Done\n\n- **50** of `50` runs pass\n- nothing else', background_tasks: [] });
  await until('what came out', async () => (await page.locator('.outcome li').count()) >= 2);
  await becomes(() => page.locator('.outcome > li').evaluateAll((all) => all.map((li) => li.dataset.actor)), ['user', 'agent']);
  await becomes(() => page.locator('.outcome .md strong').textContent(), '50');
  await becomes(() => page.locator('.outcome .md .h2').textContent(), 'Done');
  await until('it to stand above the tabs', () => page.evaluate(() => document.querySelector('.outcome').getBoundingClientRect().top < document.querySelector('.segment').getBoundingClientRect().top));
});

test('the changes are files with counts and diffs, and can be copied', async () => {
  const file = '/srv/login/src/a very long directory name/auth.ts';
  const edit = { tool_name: 'Edit', tool_input: { file_path: file, old_string: 'a', new_string: 'b' }, tool_use_id: 'e1' };
  await server.hook('pre-tool-use', S, edit);
  await server.hook('post-tool-use', S, { ...edit, tool_response: { filePath: file, structuredPatch: [{ oldStart: 7, oldLines: 2, newStart: 7, newLines: 3, lines: [' same', '-<b>old</b>', '+new', '+more'] }] } });
  await page.locator('.segment').getByText('changes').click();
  await shows(page, '.files summary', /auth\.ts.*\+2 −1/s);
  await page.locator('.files summary').first().click();
  await shows(page, '.diff .add', '+more');
  await becomes(() => page.locator('.diff .del').textContent(), '-<b>old</b>\n');
  await page.getByRole('button', { name: 'Copy all as a patch' }).click();
  await until('the copy', async () => (await page.evaluate(() => navigator.clipboard.readText())).includes('@@ -7,2 +7,3 @@'));
  await server.hook('post-tool-use', S, { ...edit, tool_use_id: 'e2', tool_response: { filePath: file, structuredPatch: [{ oldStart: 1, oldLines: 0, newStart: 1, newLines: 1, lines: ['+again'] }] } });
  await shows(page, '.files summary', /\+3 −1/);
  await page.locator('.segment').getByText('timeline').click();
});

test('an agent can be renamed', async () => {
  page.removeAllListeners('dialog');
  page.once('dialog', (dialog) => dialog.accept('The login thing'));
  await page.getByRole('button', { name: 'Rename' }).click();
  await row(page, 'The login thing').waitFor();
});

test('an error is told with its reason', async () => {
  await server.working('err', 'x', { session_title: 'Broken' });
  await server.hook('stop-failure', 'err', { error: 'rate_limit', last_assistant_message: 'API Error: 429' });
  await until('the error', async () => (await row(page, 'Broken').getAttribute('data-g')) === 'error');
  await becomes(() => row(page, 'Broken').locator('.row .ask').textContent(), 'rate limit');
  await row(page, 'Broken').locator('.row').click();
  await shows(page, '.card', /The turn failed.*rate limit/s);
});

test('a link leads straight to an agent, on a phone too', async () => {
  const id = await row(page, 'Pane').getAttribute('data-id');
  const phone = await open(browser, `${server.url}/#/agents/${id}`, { viewport: { width: 360, height: 740 } });
  await shows(phone, '#detail h2', 'Pane');
  await becomes(() => phone.locator('#list').isVisible(), false);
  await phone.getByRole('button', { name: 'Close' }).click();
  await until('the list', () => phone.locator('#list').isVisible());
  assert.deepEqual(phone.faults, []);
});

test('no text of the timeline overlaps another, from 1000 px on', async () => {
  const call = { tool_name: 'mcp__a_server_with_a_long_name__and_a_tool', tool_input: { command: 'x '.repeat(80) }, tool_use_id: 'wide' };
  await server.hook('pre-tool-use', 'err', { ...call, sent_at: '2026-01-02T03:04:05Z' });
  await server.hook('post-tool-use-failure', 'err', { ...call, error: 'no' });
  const { agents } = await (await fetch(`${server.url}/api/agents`)).json();
  const { id } = agents.find(({ name }) => name === 'Broken');
  for (const width of [1000, 1024, 1060, 1099, 1280]) {
    const narrow = await open(browser, `${server.url}/#/agents/${id}`, { viewport: { width, height: 800 } });
    await shows(narrow, '.timeline .title', 'mcp__a_server');
    const overlaps = await narrow.evaluate(() => [...document.querySelectorAll('.timeline summary')].flatMap((summary) => {
      const boxes = [...summary.querySelectorAll('time, .title, .ask, .waited, .ms, .state')].map((node) => [node.className || 'time', node.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
      return boxes.flatMap(([name, box], i) => boxes.slice(i + 1).filter(([, other]) => box.right > other.left + 1 && other.right > box.left + 1).map(([other]) => `${name} over ${other}`));
    }));
    assert.deepEqual(overlaps, [], `${width} px`);
    await narrow.context().close();
  }
});

test('nothing went wrong in the page meanwhile', () => assert.deepEqual(page.faults.filter((fault) => !/501|409|422|400/.test(fault)), []));
