// A phone: something to install, targets for fingers, words instead of JSON, an honest page without a server; and the theme.

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, open, row, shows, until } from '../stage.mjs';

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
let server, browser;

before(async () => {
  server = await Server.start();
  browser = await launch();
  await server.asking('shop', 'npm test', { session_title: 'A title of some length for a small screen' });
  await server.working('api', 'x', { session_title: 'Second' });
});
after(async () => {
  await browser?.close();
  await server?.end();
});

test('it can be put on a home screen', async () => {
  const manifest = await (await fetch(`${server.url}/assets/manifest.webmanifest`)).json();
  assert.equal(manifest.display, 'standalone');
  for (const icon of manifest.icons) {
    const answer = await fetch(`${server.url}${icon.src}`);
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, icon.type], icon.src);
  }
  const page = await open(browser, server.url, PHONE);
  await becomes(() => page.locator('link[rel=manifest]').getAttribute('href'), '/assets/manifest.webmanifest');
  await page.context().close();
});

test('every target is at least 44 px high, in all views', async () => {
  const page = await open(browser, server.url, PHONE);
  await row(page, 'Second').waitFor();
  const id = await row(page, 'A title').getAttribute('data-id');
  for (const view of ['#/agents', `#/agents/${id}`, '#/logging', '#/history']) {
    await page.goto(`${server.url}/${view}`);
    await page.locator(`#${view.split('/')[1]}`).waitFor();
    if (view.endsWith(id)) await shows(page, '.card', 'npm test');
    if (view === '#/history') await page.locator('.chart').first().waitFor();
    const small = await page.evaluate(() => [...document.querySelectorAll('button, a[href], summary, select, input:not(.sr):not([type=radio]):not([type=checkbox]), .segment label')].filter((node) => node.checkVisibility() && node.offsetParent && !node.matches('.skip, .url')).map((node) => [node.getBoundingClientRect(), node]).filter(([box]) => box.width && (box.height < 43.5 || box.width < 43.5)).map(([box, node]) => `${node.tagName} ${node.className} ${node.textContent.slice(0, 20)} ${Math.round(box.width)}×${Math.round(box.height)}`));
    assert.deepEqual(small, [], view);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view} is not wider than the screen`);
  }
  await page.context().close();
});

test('a row says its project at 360 px', async () => {
  const page = await open(browser, server.url, PHONE);
  const project = row(page, 'A title').locator('.project');
  await project.waitFor();
  await becomes(() => project.textContent(), 'shop');
  await until('it to be on the screen', async () => {
    const box = await project.boundingBox();
    return box && box.width > 20 && box.x + box.width <= 360;
  });
  await page.context().close();
});

test('no word is too long for a card', async () => {
  const word = '/home/somebody/.config/headspace/'.repeat(8).replaceAll('/', '_');
  const options = [{ label: word, description: word }, { label: 'no', description: 'x' }];
  const asks = {
    permission: ['Bash', { command: `rm ${word}`, description: word }], tool: ['mcp__x__y', { [word]: word }], write: ['Write', { file_path: `/srv/${word}`, content: word }],
    question: ['AskUserQuestion', { questions: [{ question: word, header: word, options }] }], plan: ['ExitPlanMode', { plan: `# ${word}\n\n\`${word}\`` }],
  };
  const page = await open(browser, server.url, PHONE);
  await page.route('**/api/interactions/*/guard', (route) => route.fulfill({ json: { verdict: 'ask', reason: `because of ${word}`, rule: word } }));
  for (const [kind, [tool_name, tool_input]] of Object.entries(asks)) {
    const session = `long-${kind}`;
    await server.working(session, word, { session_title: `${kind} ${word}` });
    const { agent_id: id } = await server.hook('permission-request', session, { tool_name, tool_input });
    await page.goto(`${server.url}/#/agents/${id}`);
    await page.locator('.card').waitFor();
    if (kind === 'permission') await shows(page, '.guard', 'because of');
    const wide = await page.locator('.detail').evaluate((detail) => [detail, ...detail.querySelectorAll('.card, .card *, header, header *')].filter((node) => node.checkVisibility() && !node.closest('.diff, .md pre') && node.getBoundingClientRect().right > innerWidth + 0.5).map((node) => `${node.tagName}.${node.className}`));
    assert.deepEqual(wide, [], kind);
    await server.hook('session-end', session, { reason: 'other' });
  }
  await page.context().close();
});

test('the event log says when and who at 360 px', async () => {
  const page = await open(browser, `${server.url}/#/logging`, PHONE);
  const first = page.locator('#logging .log li', { hasText: 'npm test' }).first();
  for (const part of ['time', '.title', '.who', '.ask']) {
    await until(`${part} on the screen`, async () => {
      const box = await first.locator(part).boundingBox();
      return box && box.width > 20 && box.x + box.width <= 360;
    });
  }
  await becomes(() => first.locator('.who').textContent(), /shop/);
  await page.context().close();
});

test('a person is told in words what to do, a program in JSON', async () => {
  const page = await browser.newPage();
  for (const [path, status, words] of [['/login', 400, 'This page needs a link'], ['/login?code=nonsense', 403, 'This link does not work any more'], ['/nowhere', 404, 'There is nothing here'], ['/api/agents/999', 404, 'There is nothing here']]) {
    const answer = await page.goto(server.url + path);
    await becomes(async () => [answer.status(), await page.locator('h1').textContent()], [status, words]);
    const json = await fetch(server.url + path);
    assert.deepEqual([json.status, (await json.json()).status], [status, 'error']);
  }
  await page.close();
});

/** As the system sends it: `fetch` would unpack it. */
const raw = (path, encoding) => new Promise((done) => request(server.url + path, { headers: { 'accept-encoding': encoding } }, (answer) => {
  let bytes = 0;
  answer.on('data', (chunk) => (bytes += chunk.length));
  answer.on('end', () => done({ headers: answer.headers, bytes }));
}).end());

test('files are compressed for who takes it, and the whole page stays small', async (t) => {
  const plain = await raw('/assets/style.css', 'identity');
  const packed = await raw('/assets/style.css', 'gzip, br');
  assert.deepEqual([plain.headers['content-encoding'], packed.headers['content-encoding']], [undefined, 'gzip']);
  assert.ok(packed.bytes < plain.bytes / 2);
  assert.notEqual(plain.headers.etag, packed.headers.etag);
  const context = await browser.newContext();
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  let sent = 0;
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => (sent += encodedDataLength));
  await page.goto(server.url);
  await page.locator('#link[data-state=live]').waitFor();
  await until('everything', async () => page.evaluate(() => document.readyState === 'complete'));
  t.diagnostic(`the page took ${sent} bytes`);
  assert.ok(sent > 10000 && sent < 150000, `${sent} bytes`);
  await context.close();
});

test('the theme follows the system until the user chooses one, and the choice stays', async () => {
  const page = await open(browser, server.url, { colorScheme: 'dark' });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  const theme = page.getByRole('button', { name: /^Colors/ });
  await theme.click();
  await until('light, on a dark system', async () => (await ground()) !== dark);
  await page.reload();
  await page.locator('#link[data-state=live]').waitFor();
  await until('the choice to be remembered', async () => (await ground()) !== dark);
  await theme.click();
  await becomes(ground, dark);
  await page.context().close();
});

test('without a server there is an honest page, and the board comes back by itself', async () => {
  const own = await Server.start();
  const page = await open(browser, own.url, PHONE);
  await until('the worker to be in charge', () => page.evaluate(() => navigator.serviceWorker.controller !== null));
  await own.stop();
  await page.goto(own.url);
  await shows(page, 'h1', 'headspace is not reachable');
  await becomes(() => page.evaluate(() => getComputedStyle(document.querySelector('main')).maxWidth), '576px', 'its look is kept, too');
  await becomes(() => page.locator('main').textContent(), /Nothing is known about your agents from here, so nothing is shown/);
  await own.restart();
  await page.locator('#link[data-state=live]').waitFor();
  await page.context().close();
  await own.end();
});
