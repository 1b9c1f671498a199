// Foreign text is shown as text; whatever it tries, nothing of it runs, loads or turns the page round.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, open, row, shows, until } from '../stage.mjs';

let server, browser, page;
const foreign = [];
const IMAGE = '<img src=x onerror="window.hacked=1">';
const SCRIPT = '"><script>window.hacked=2</script><svg onload="window.hacked=3">';
const LINK = '<a href="javascript:window.hacked=4">click</a>';

before(async () => {
  server = await Server.start();
  browser = await launch();
  page = await open(browser, server.url);
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith('data:image/svg')) foreign.push(request.url());
  });
});
after(async () => {
  await browser?.close();
  await server?.end();
});

const clean = async () => {
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('main img, main script, main iframe, main a[href^="javascript"], main [onerror], main [onload]').count(), 0);
  assert.deepEqual(page.faults, []);
  assert.deepEqual(foreign, []);
};

test('markup in names, asks, options, branches and prompts stays text', async () => {
  const extra = { session_title: IMAGE, cwd: `/srv/${SCRIPT}`, host: LINK, tmux_session: SCRIPT, tmux_pane: IMAGE, session_role: LINK };
  await server.working('evil', `${IMAGE + SCRIPT} \`${IMAGE}\` [x](javascript:alert(1))\n\n| ${IMAGE} | b |\n|---|---|\n| ${SCRIPT} | ${LINK} |`, extra);
  const question = { tool_name: 'AskUserQuestion', tool_input: { questions: [{ question: SCRIPT, options: [{ label: IMAGE }, { label: LINK }] }] } };
  await server.hook('pre-tool-use', 'evil', { ...question, ...extra, tool_use_id: IMAGE });
  await server.hook('permission-request', 'evil', { ...question, ...extra });
  await server.hook('subagent-start', 'evil', { agent_id: 'a1', agent_type: IMAGE, ...extra });
  await until('the name as text', async () => (await page.locator('.name').first().textContent()) === IMAGE);
  await page.locator('.agent .row').first().click();
  await shows(page, '.options li', IMAGE);
  await shows(page, '.talk li .md', IMAGE);
  await page.locator('.segment').getByText('timeline').click();
  for (const summary of await page.locator('.timeline summary').all()) await summary.click();
  await shows(page, '.raw pre', '<img src=x onerror=');
  await clean();
});

test('a line of a megabyte neither blocks nor widens the page', async () => {
  await server.working('long', 'x'.repeat(1 << 20), { session_title: 'y'.repeat(1 << 20) });
  await server.hook('pre-tool-use', 'long', { tool_name: 'Bash', tool_input: { command: 'z'.repeat(1 << 20) }, tool_use_id: 'z1' });
  await until('the long one', async () => (await page.locator('.agent').count()) === 2);
  const long = page.locator('.agent', { hasText: 'yyyy' });
  assert.ok((await long.textContent()).length < 2000);
  assert.equal((await long.boundingBox()).height < 80, true);
  await long.locator('.row').click();
  await shows(page, '.timeline li', 'zzzz');
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  await clean();
});

test('control and reordering characters are shown or dropped, never obeyed', async () => {
  await server.asking('odd', 'echo \u202Egnp.exe\u2066 \u0007\u001b[31mred\u200b', { session_title: '\u202Eesrever \u0000 name' });
  await until('the odd one', async () => (await page.locator('.agent').count()) === 3);
  const odd = page.locator('.agent', { hasText: 'esrever' });
  // The row comes with the prompt, its ask a moment later.
  await until('its ask', async () => (await odd.textContent()).includes('gnp.exe'));
  const text = await odd.textContent();
  assert.doesNotMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069]/);
  await clean();
});

test('a right-to-left name does not turn its neighbours', async () => {
  await server.asking('rtl', 'ls', { session_title: 'שלום 123' });
  const hebrew = row(page, 'שלום');
  await hebrew.waitFor();
  const mark = await hebrew.locator('.mark').boundingBox();
  const word = await hebrew.locator('.word').boundingBox();
  assert.ok(mark.x < word.x);
  await clean();
});

test('payloads of any shape leave the page whole', async () => {
  const shapes = [null, 0, true, '', 'text', [], [null], {}, { toString: 1 }, { tool_name: 7, tool_input: 'x' }, { questions: [null] }];
  for (const [i, shape] of shapes.entries()) {
    await server.hook('pre-tool-use', 'odd', { tool_name: shape, tool_input: shape, tool_use_id: `s${i}`, agent_id: typeof shape === 'string' ? shape : undefined });
    await server.hook('post-tool-batch', 'odd', { tool_calls: shape });
    await server.hook('permission-request', 'odd', { tool_name: 'AskUserQuestion', tool_input: shape });
    await server.hook('stop', 'odd', { last_assistant_message: shape, background_tasks: shape });
    await server.hook('something-new', 'odd', { __proto__: { polluted: 1 }, constructor: shape, message: shape });
  }
  await page.locator('.agent', { hasText: 'esrever' }).locator('.row').click();
  await shows(page, '.timeline li', 'SomethingNew');
  for (const summary of (await page.locator('.timeline summary').all()).slice(0, 12)) await summary.click();
  await page.keyboard.press('2');
  await shows(page, '#logging .log li', 'SomethingNew');
  await page.keyboard.press('3');
  await page.getByLabel('Search the conversations').fill('"; DROP TABLE events; --');
  await shows(page, '#history [role=status]', /./);
  await page.keyboard.press('Escape');
  await clean();
});

test('the policy forbids inline and foreign sources', async () => {
  const answer = await fetch(server.url);
  const policy = answer.headers.get('content-security-policy');
  for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:"]) assert.ok(policy.includes(rule), rule);
  const tried = await page.evaluate(async () => {
    const refused = [];
    document.addEventListener('securitypolicyviolation', (event) => refused.push(event.effectiveDirective));
    const script = document.createElement('script');
    script.textContent = 'window.hacked = 5';
    document.body.append(script);
    const image = new Image();
    image.src = 'http://127.0.0.1:1/pixel.png';
    document.body.append(image);
    document.body.insertAdjacentHTML('beforeend', '<p style="color:red" onclick="window.hacked=6"></p>');
    document.body.lastElementChild.click();
    await fetch('http://127.0.0.1:1/').catch(() => {});
    // Refusals are reported a little later.
    const end = performance.now() + 10_000;
    while (new Set(refused).size < 5 && performance.now() < end) await new Promise((done) => setTimeout(done, 10));
    script.remove();
    image.remove();
    return { refused: [...new Set(refused)].sort(), hacked: window.hacked };
  });
  assert.equal(tried.hacked, undefined);
  assert.deepEqual(tried.refused, ['connect-src', 'img-src', 'script-src-attr', 'script-src-elem', 'style-src-attr']);
});
