// The line to the server: honest about its state, whole again after every break.

import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, open, row, until } from '../stage.mjs';

let server, browser, page, wire;
const state = () => page.locator('#link').getAttribute('data-state');
const group = (name) => row(page, name).getAttribute('data-g');

before(async () => {
  server = await Server.start();
  browser = await launch();
  await server.working('one', 'x', { session_title: 'One' });
});
after(async () => {
  wire?.end();
  await browser?.close();
  await server?.end();
});

test('a stopped server is told, and what was known stays', async () => {
  page = await open(browser, server.url);
  await row(page, 'One').waitFor();
  await page.evaluate(() => (window.untouched = true));
  await server.stop();
  await until('reconnecting', async () => (await state()) === 'reconnecting');
  await until('gone', async () => (await state()) === 'gone');
  await becomes(() => page.locator('#link b').textContent(), 'server gone');
  await becomes(() => page.locator('#gone').textContent(), /The server is gone.*headspace up/);
  assert.equal(await row(page, 'One').count(), 1);
});

test('it comes back by itself, with what happened meanwhile, without a reload', async () => {
  await server.restart();
  await server.asking('one', 'make', { session_title: 'One' });
  // The page may have tried by itself before, and then the button is gone.
  await page.getByRole('button', { name: /Try now/ }).click({ timeout: 1000 }).catch(() => {});
  await until('live', async () => (await state()) === 'live');
  await until('the question', async () => (await group('One')) === 'needs_you');
  await becomes(() => page.locator('#gone').isVisible(), false);
  assert.equal(await page.evaluate(() => window.untouched), true);
});

test('a cut line asks for the stretch it missed, and the page is right again', async () => {
  wire = await Wire.to(new URL(server.url).port);
  page = await open(browser, wire.url);
  await row(page, 'One').waitFor();
  await server.working('two', 'y', { session_title: 'Two' });
  await row(page, 'Two').waitFor();
  wire.asked.length = 0;
  wire.cut();
  await until('reconnecting', async () => (await state()) === 'reconnecting');
  await server.answered('one', 'make');
  await server.working('three', 'z', { session_title: 'Three' });
  wire.mend();
  await until('live', async () => (await state()) === 'live');
  await until('both to be right', async () => (await group('One')) === 'working' && (await row(page, 'Three').count()) === 1);
  await becomes(() => wire.asked.find((line) => line.includes('/stream')) ?? '', /last_event_id=\d+/);
});

/** Clients of the event stream, as the server counts them. It notices that one is gone when it sends something. */
async function streams() {
  await server.hook('notification', 'one', { message: 'x', notification_type: 'auth_success' });
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^headspace_stream_clients (\d+)/m.exec(text)[1]);
}

test('ten pages of one browser share one stream, and all of them are right', async () => {
  const before = await streams();
  const context = await browser.newContext();
  const pages = await Promise.all(Array.from({ length: 10 }, async () => {
    const one = await context.newPage();
    await one.goto(server.url);
    return one;
  }));
  await server.asking('four', 'make', { session_title: 'Four' });
  for (const one of pages) {
    await one.locator('#link[data-state=live]').waitFor();
    await until('the count', async () => (await one.locator('.counter[data-g=needs_you] b').textContent()) === '1');
  }
  await until('one stream for all ten', async () => (await streams()) <= before + 1);
  await server.answered('four', 'make');
  for (const one of pages) await until('the news', async () => (await one.locator('.counter[data-g=needs_you] b').textContent()) === '0');
  for (const one of pages.slice(1)) await one.close();
  await server.asking('four', 'make', { session_title: 'Four' });
  await until('the last page to go on', async () => (await pages[0].locator('.counter[data-g=needs_you] b').textContent()) === '1');
  await context.close();
  await until('no stream without a page', async () => (await streams()) <= before);
});

test('no count is drawn before the first list has come', async () => {
  const context = await browser.newContext();
  const late = await context.newPage();
  let send;
  await late.route('**/api/agents?*', async (route) => {
    await new Promise((done) => (send = done));
    await route.continue();
  });
  await late.goto(server.url);
  await until('the list to be asked for', () => send);
  assert.equal(await late.locator('.counter').count(), 0);
  assert.equal(await late.locator('#link').getAttribute('data-state'), 'connecting', 'not live before there is something to show');
  send();
  await late.locator('#link[data-state=live]').waitFor();
  await becomes(() => late.locator('.counter').count(), 6);
  await context.close();
});

test('a hidden page lets the stream go, and is right when it is seen again', async () => {
  for (const open of browser.contexts()) await open.close();
  await becomes(streams, 0, 'nobody watches yet');
  const context = await browser.newContext();
  const hidden = await context.newPage();
  await hidden.goto(server.url);
  await hidden.locator('#link[data-state=live]').waitFor();
  await becomes(streams, 1, 'its stream');
  const look = (isHidden) => hidden.evaluate((isHidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
  await look(true);
  await becomes(streams, 0, 'the stream to be gone');
  await server.working('five', 'x', { session_title: 'Five' });
  await look(false);
  await row(hidden, 'Five').waitFor();
  await context.close();
});

/** A wire between browser and server that can be cut. */
class Wire {
  static async to(port) {
    const wire = new Wire();
    wire.ends = new Set();
    wire.broken = false;
    /** First lines of the requests. The stream runs in a worker, whose requests the page does not see. */
    wire.asked = [];
    wire.server = createServer((near) => {
      if (wire.broken) return near.destroy();
      const far = connect(port, '127.0.0.1');
      for (const end of [near, far]) {
        wire.ends.add(end);
        end.on('error', () => {}).on('close', () => {
          near.destroy();
          far.destroy();
          wire.ends.delete(end);
        });
      }
      near.on('data', (bytes) => wire.asked.push(...bytes.toString('latin1').split('\r\n').filter((line) => /^GET /.test(line))));
      near.pipe(far).pipe(near);
    });
    await new Promise((done) => wire.server.listen(0, '127.0.0.1', done));
    wire.url = `http://127.0.0.1:${wire.server.address().port}`;
    return wire;
  }

  cut() {
    this.broken = true;
    for (const end of this.ends) end.destroy();
  }

  mend() {
    this.broken = false;
  }

  end() {
    this.cut();
    this.server.close();
  }
}
