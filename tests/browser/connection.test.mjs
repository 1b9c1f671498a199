// The line to the server: honest about its state, whole again after every break.

import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { Server, launch, open, row, until } from './stage.mjs';

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
  await until('gone', async () => (await state()) === 'gone', 20000);
  assert.equal(await page.locator('#link b').textContent(), 'server gone');
  assert.match(await page.locator('#gone').textContent(), /The server is gone.*headspace up/);
  assert.equal(await row(page, 'One').count(), 1);
});

test('it comes back by itself, with what happened meanwhile, without a reload', async () => {
  await server.restart();
  await server.asking('one', 'make', { session_title: 'One' });
  await page.getByRole('button', { name: /Try now/ }).click();
  await until('live', async () => (await state()) === 'live', 20000);
  await until('the question', async () => (await group('One')) === 'needs_you');
  assert.equal(await page.locator('#gone').isVisible(), false);
  assert.equal(await page.evaluate(() => window.untouched), true);
});

test('a cut line asks for the stretch it missed, and the page is right again', async () => {
  wire = await Wire.to(new URL(server.url).port);
  page = await open(browser, wire.url);
  await row(page, 'One').waitFor();
  await server.working('two', 'y', { session_title: 'Two' });
  await row(page, 'Two').waitFor();
  const asked = [];
  page.on('request', (request) => request.url().includes('/stream') && asked.push(request.url()));
  wire.cut();
  await until('reconnecting', async () => (await state()) === 'reconnecting');
  await server.answered('one', 'make');
  await server.working('three', 'z', { session_title: 'Three' });
  wire.mend();
  await until('live', async () => (await state()) === 'live', 20000);
  await until('both to be right', async () => (await group('One')) === 'working' && (await row(page, 'Three').count()) === 1);
  assert.match(asked.at(-1), /last_event_id=\d+/);
});

/** A wire between browser and server that can be cut. */
class Wire {
  static async to(port) {
    const wire = new Wire();
    wire.ends = new Set();
    wire.broken = false;
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
