// A server of its own and a browser for each test file, and the few verbs the tests are written in.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const BIN = process.env.HEADSPACE_BIN;
/** `SLOW=6`: pages run six times slower and answers come late, in any order, to find tests that count on luck. */
const SLOW = Number(process.env.SLOW ?? 0);
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Looks until `look()` answers something true, and gives it back. */
export async function until(what, look, within = 8000) {
  const end = Date.now() + within;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`waited ${within} ms for: ${what}`);
    await sleep(25);
  }
}

/** `headspace serve`, or another command of it that says where it listens, with a home of its own. */
export class Server {
  static async start(command = ['serve', '--port', '0'], config = null) {
    const server = new Server();
    server.home = mkdtempSync(join(tmpdir(), 'headspace-browser-'));
    if (config) {
      mkdirSync(join(server.home, 'config/headspace'), { recursive: true });
      writeFileSync(join(server.home, 'config/headspace/config.jsonc'), JSON.stringify(config));
    }
    await server.run(command);
    return server;
  }

  async run(command) {
    const home = this.home;
    const env = { PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CONFIG_HOME: join(home, 'config'), CLAUDE_CONFIG_DIR: join(home, 'claude'), NO_COLOR: '1' };
    this.child = spawn(BIN, command, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    // Also when a test file fails half-way.
    process.once('exit', () => this.child.kill('SIGKILL'));
    this.ended = new Promise((done) => this.child.on('exit', done));
    let said = '';
    for (const out of [this.child.stdout, this.child.stderr]) out.setEncoding('utf8').on('data', (text) => (said += text));
    this.url = await until(`${command[0]} to listen`, () => {
      if (this.child.exitCode !== null) throw new Error(`headspace ended: ${said}`);
      return /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
    }, 15000);
    await until('the server to answer', () => fetch(`${this.url}/health`).then((answer) => answer.ok, () => false));
  }

  async stop() {
    this.child.kill('SIGTERM');
    await this.ended;
  }

  /** The same server again: same port, same store. */
  restart() {
    return this.run(['serve', '--port', new URL(this.url).port]);
  }

  async end() {
    await this.stop();
    rmSync(this.home, { recursive: true, force: true });
  }

  async hook(slug, session, body = {}) {
    const answer = await fetch(`${this.url}/hook/${slug}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ session_id: session, cwd: `/srv/${session}`, hook_event_name: slug.replace(/(^|-)(\w)/g, (_, __, c) => c.toUpperCase()), ...body }),
    });
    if (!answer.ok) throw new Error(`${slug}: HTTP ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** A session at work on `prompt`. */
  async working(session, prompt = 'do the thing', extra = {}) {
    await this.hook('session-start', session, { source: 'startup', ...extra });
    return this.hook('user-prompt-submit', session, { prompt, ...extra });
  }

  /** A session that asks for permission to run `command`. */
  async asking(session, command = 'npm test', extra = {}) {
    await this.working(session, 'do the thing', extra);
    const tool = { tool_name: 'Bash', tool_input: { command } };
    await this.hook('pre-tool-use', session, { ...tool, tool_use_id: `t-${session}`, ...extra });
    return this.hook('permission-request', session, { ...tool, ...extra });
  }

  answered(session, command = 'npm test') {
    return this.hook('post-tool-use', session, { tool_name: 'Bash', tool_input: { command }, tool_use_id: `t-${session}`, tool_response: { stdout: 'ok' }, duration_ms: 1200 });
  }
}

export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
}

async function slow(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOW });
  await page.route('**/api/**', async (route) => {
    await sleep(Math.random() * 50 * SLOW);
    // The page may be gone by now.
    await route.fallback().catch(() => {});
  });
}

/** A page that collects what must never happen: script errors, refused sources, dialogs. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10000);
  if (SLOW) await slow(page);
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(error.stack));
  page.on('dialog', (dialog) => {
    page.faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('console', (message) => {
    // A line that was cut on purpose is no fault of the page.
    if (message.type() === 'error' && !/ERR_CONNECTION_REFUSED|ERR_INTERNET_DISCONNECTED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/.test(message.text())) page.faults.push(message.text());
  });
  await page.goto(url);
  await page.locator('#link[data-state=live]').waitFor();
  // The first list is no news to the page; what is to be news must come after it.
  await until('the first list', async () => (await page.locator('#hooks').textContent()) !== '');
  return page;
}

export const row = (page, name) => page.locator('.agent', { has: page.locator('.name', { hasText: name }) });

/** Names in the order they stand in the list. */
export const names = (page) => page.locator('#list .name').allTextContents();

export async function shows(page, selector, expected, within) {
  return until(`${selector} to show ${expected}`, async () => {
    const texts = await page.locator(selector).allTextContents();
    return texts.some((text) => (expected instanceof RegExp ? expected.test(text) : text.includes(expected)));
  }, within);
}
