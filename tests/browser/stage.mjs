// A server of its own and a browser for each test file, and the few verbs the tests are written in.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const BIN = process.env.HEADSPACE_BIN;
/** `SLOW=6`: pages run six times slower and answers come late, in any order, to find tests that count on luck. */
const SLOW = Number(process.env.SLOW ?? 0);
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** How long a busy machine may take. A test waits that long only if it fails. */
const PATIENCE = SLOW ? 180000 : 60000;

/** Looks until `look()` answers something true, and gives it back. */
export async function until(what, look, within = PATIENCE) {
  const end = Date.now() + within;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`waited ${within} ms for: ${what}`);
    await sleep(25);
  }
}

/**
 * Looks until `look()` gives `expected` (a value, or an expression its text matches), and fails with what it gave last. For
 * everything the page draws because of something else: a hook, a click, an answer of the server. A plain `assert` is right
 * only for what must already be so, or must not have changed.
 */
export async function becomes(look, expected, what, within = PATIENCE) {
  const end = Date.now() + within;
  for (;;) {
    const seen = await look();
    try {
      if (expected instanceof RegExp) assert.match(seen, expected, what && `${what}: ${seen}`);
      else assert.deepEqual(seen, expected, what);
      return seen;
    } catch (difference) {
      if (Date.now() > end) throw difference;
    }
    await sleep(25);
  }
}

/** `headspace serve`, or another command of it that says where it listens, with a home of its own. */
export class Server {
  static async start(command = ['serve', '--port', '0'], config = null) {
    const server = new Server();
    server.home = mkdtempSync(join(tmpdir(), 'headspace-browser-'));
    if (config) server.configure(config);
    await server.run(command);
    return server;
  }

  configure(config) {
    mkdirSync(join(this.home, 'config/headspace'), { recursive: true });
    writeFileSync(join(this.home, 'config/headspace/config.jsonc'), JSON.stringify(config));
  }

  /** What commands of this home see. */
  get env() {
    const { home } = this;
    return { PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CONFIG_HOME: join(home, 'config'), CLAUDE_CONFIG_DIR: join(home, 'claude'), NO_COLOR: '1' };
  }

  /** Runs a command of headspace's, which must succeed, and gives what it printed. */
  command(words) {
    return new Promise((done, fail) => execFile(BIN, words, { env: this.env }, (error, out, err) => (error ? fail(new Error(`${words}: ${err}`)) : done(out))));
  }

  async run(command) {
    this.child = spawn(BIN, command, { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
    // Also when a test file fails half-way.
    process.once('exit', () => this.child.kill('SIGKILL'));
    this.ended = new Promise((done) => this.child.on('exit', done));
    let said = '';
    for (const out of [this.child.stdout, this.child.stderr]) out.setEncoding('utf8').on('data', (text) => (said += text));
    this.url = await until(`${command[0]} to listen`, () => {
      if (this.child.exitCode !== null) throw new Error(`headspace ended: ${said}`);
      return /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
    });
    await until('the server to answer', () => fetch(`${this.url}/health`).then((answer) => answer.ok, () => false));
  }

  async stop() {
    this.child.kill('SIGTERM');
    this.child.kill('SIGCONT');
    await this.ended;
  }

  /** The made-up day of `headspace demo` stands still, however slow this machine is; its server goes on. */
  hold() {
    this.child.kill('SIGSTOP');
  }

  goOn() {
    this.child.kill('SIGCONT');
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

/** `WEB=1`: the files of web/ as they are now, not as they were built in. For trying a change without a build. */
const WEB = process.env.WEB ? join(import.meta.dirname, '../../web') : null;

/** A browser. `measured`: its pages are never slowed down. */
export async function launch({ measured = false } = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
  const make = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await make({ ...options, ...(WEB && { serviceWorkers: 'block' }) });
    context.setDefaultTimeout(PATIENCE);
    if (WEB) await fromFiles(context);
    if (SLOW && !measured) await slow(context);
    return context;
  };
  return browser;
}

function fromFiles(context) {
  return context.route(({ pathname }) => pathname === '/' || pathname.startsWith('/assets/'), (route) => {
    const path = new URL(route.request().url()).pathname;
    return route.fulfill({ path: join(WEB, path === '/' ? 'index.html' : path.slice('/assets/'.length)) });
  });
}

async function slow(context) {
  await context.route('**/api/**', async (route) => {
    await sleep(Math.random() * 50 * SLOW);
    // The page may be gone by now.
    await route.fallback().catch(() => {});
  });
  const make = context.newPage.bind(context);
  context.newPage = async () => {
    const page = await make();
    const devtools = await context.newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOW });
    return page;
  };
}

/** A page that collects what must never happen: script errors, refused sources, dialogs. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark', ...options });
  const page = await context.newPage();
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
