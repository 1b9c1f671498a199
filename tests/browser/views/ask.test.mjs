// The whole ask on its card: commands with their lines, questions with their choices, plans as Markdown, edits as diffs.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, open, row, shows, until } from '../stage.mjs';

let server, browser, page;

before(async () => {
  server = await Server.start();
  browser = await launch();
  page = await open(browser, server.url);
});
after(async () => {
  await browser?.close();
  await server?.end();
});

async function asks(session, tool_name, tool_input, extra = {}) {
  await server.working(session, 'go', { session_title: session, ...extra });
  await server.hook('pre-tool-use', session, { tool_name, tool_input, tool_use_id: `t-${session}`, ...extra });
  await server.hook('permission-request', session, { tool_name, tool_input, ...extra });
  await row(page, session).locator('.row').click();
  await until('its card', async () => (await page.locator('#detail h2').first().textContent()) === session && (await page.locator('.card').count()) === 1);
  return page.locator('.card');
}

test('a command stands there with its lines, its purpose and its directory', async () => {
  const command = 'set -e\nfor f in *.log; do\n\trm "$f"  # <b>all</b>\ndone';
  const card = await asks('lines', 'Bash', { command, description: 'Remove old logs' });
  await becomes(() => card.locator('.command pre').textContent(), command);
  await becomes(() => card.textContent(), /Remove old logs.*in lines/s);
  await becomes(() => card.locator('.command pre').evaluate((pre) => getComputedStyle(pre).fontFamily), /mono/i);
  assert.ok(!(await row(page, 'lines').locator('.row .ask').textContent()).includes('\n'), 'a list keeps one line');
});

test('every question has its choices, their meaning, and whether several may be chosen', async () => {
  const questions = [
    { question: 'Which **colors**?', header: 'Colors', multiSelect: true, options: [{ label: 'Red', description: 'like a fire' }, { label: 'Blue' }] },
    { question: 'Which size?', header: 'Size', multiSelect: false, options: [{ label: 'Small', description: 'fits' }, { label: 'Big' }] },
  ];
  const card = await asks('questions', 'AskUserQuestion', { questions });
  await becomes(() => card.locator('.question > .ask').allTextContents(), ['Colors Which **colors**?', 'Size Which size?']);
  await becomes(() => card.locator('.options li b').allTextContents(), ['Red', 'Blue', 'Small', 'Big']);
  await becomes(() => card.locator('.options .note').allTextContents(), ['like a fire', 'fits']);
  await becomes(() => card.locator('.question').evaluateAll((all) => all.map((one) => one.textContent.includes('several may be chosen'))), [true, false]);
});

test('a plan is rendered', async () => {
  const card = await asks('plan', 'ExitPlanMode', { plan: '# Plan\n\n1. **Split** the `parser`\n2. Test it\n\n<script>window.hacked = 1</script>' });
  await becomes(() => card.locator('.plan li').allTextContents(), ['Split the parser', 'Test it']);
  await becomes(() => card.locator('.plan').textContent(), /<script>/);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await becomes(() => row(page, 'plan').locator('.row .ask').textContent(), 'Approve plan: Split the parser');
});

test('an edit is a diff, with a path from the project on that is cut in the middle', async () => {
  const file = `/srv/edit/src/${'a-long-directory/'.repeat(8)}auth.ts`;
  const card = await asks('edit', 'Edit', { file_path: file, old_string: 'let a = 1;\n', new_string: 'let a = 2;\nlet b = 3;\n' });
  await becomes(() => card.locator('.diff .del').textContent(), '-let a = 1;\n');
  await becomes(() => card.locator('.diff .add').allTextContents(), ['+let a = 2;\n', '+let b = 3;\n']);
  const path = await card.locator('.about code').textContent();
  assert.match(path, /^src\/a-long.*….*auth\.ts$/);
  assert.ok(path.length <= 90);
});

test('an unknown tool shows all of its input', async () => {
  const card = await asks('mcp', 'mcp__shop__refund', { order: 4711, reason: 'x'.repeat(300), nested: { deep: ['<i>'] } });
  await becomes(() => card.locator('.command pre').textContent(), /"order": 4711[\s\S]*<i>/);
});

test('what the guard would say stands on the card', async () => {
  const card = await asks('guarded', 'Bash', { command: 'git push --force origin main' });
  await shows(page, '.guard[data-verdict]', /The guard would (ask|deny)/);
  await until('its reason', async () => (await card.locator('.guard').textContent()).length > 25);
  await asks('harmless', 'Bash', { command: 'ls -la' });
  await until('nothing against it', async () => (await page.locator('.card .guard').getAttribute('data-verdict')) !== 'ask');
});

test('without answering switched on, the card leads to the terminal and has no button that answers', async () => {
  const card = page.locator('.card');
  await becomes(() => card.textContent(), /answer in (its|the) terminal/i);
  assert.equal(await card.locator('[data-choice]').count(), 0);
});

test('nothing went wrong in the page meanwhile', () => assert.deepEqual(page.faults, []));
