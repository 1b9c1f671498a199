// The team's board: a real hub on a real PostgreSQL, two people with a machine each, chosen and told apart on the page.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server, becomes, launch, names, open, row, shows, until } from '../stage.mjs';

/** The programs of PostgreSQL, wherever the distribution has them. */
function programs() {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
  return [...versions.map((version) => `/usr/lib/postgresql/${version}/bin`), '/usr/bin', '/usr/local/bin'].find((folder) => existsSync(join(folder, 'initdb')));
}

/** PostgreSQL refuses to run as root; then it runs as somebody who has nothing. */
function account() {
  if (process.getuid() !== 0) return {};
  const [, , uid, gid] = readFileSync('/etc/passwd', 'utf8').split('\n').find((line) => line.startsWith('nobody:')).split(':').map(Number);
  return { uid, gid };
}

class Postgres {
  constructor(folder) {
    this.folder = folder;
    this.root = mkdtempSync(join(tmpdir(), 'headspace-pg-'));
    this.port = 20000 + (process.pid % 12000);
    this.as = account();
    if (this.as.uid) chownSync(this.root, this.as.uid, this.as.gid);
    this.run('initdb', '-D', this.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N');
    writeFileSync(join(this.data, 'postgresql.auto.conf'), `port = ${this.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '${this.root}'\n`);
    this.run('pg_ctl', '-D', this.data, '-l', join(this.root, 'log'), '-w', '-t', '120', 'start');
    this.url = `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  get data() {
    return join(this.root, 'data');
  }

  run(program, ...words) {
    execFileSync(join(this.folder, program), words, { ...this.as, cwd: this.root, env: { PATH: process.env.PATH, LC_ALL: 'C' }, stdio: 'ignore' });
  }

  end() {
    this.run('pg_ctl', '-D', this.data, '-m', 'immediate', '-w', 'stop');
    rmSync(this.root, { recursive: true, force: true });
  }
}

const missing = programs() ? false : 'no PostgreSQL here (initdb, pg_ctl)';
if (missing) console.log(`skipped: ${missing}`);

let postgres, hub, browser;
const machines = [];

/** Runs a command of headspace in the home of this server. */
const run = (server, ...words) => execFileSync(process.env.HEADSPACE_BIN, words, { env: server.env, encoding: 'utf8' });

before(async () => {
  if (missing) return;
  postgres = new Postgres(programs());
  hub = await Server.start(['hub', 'serve', '--database-url', postgres.url, '--listen', '127.0.0.1:0']);
  browser = await launch();
  for (const person of ['Ada', 'Grace']) {
    const machine = await Server.start();
    machines.push(machine);
    const { url } = JSON.parse(run(hub, 'hub', 'invite', person, '--json', '--database-url', postgres.url));
    run(machine, 'hub', 'join', url, '--share', 'full');
  }
});
after(async () => {
  await browser?.close();
  for (const machine of machines) await machine.end();
  await hub?.end();
  postgres?.end();
});

test('the hub’s page shows everybody’s agents, by person and by machine', { skip: missing }, async () => {
  const [ada, grace] = machines;
  await ada.asking('api', 'npm test', { session_title: 'Parser' });
  await grace.working('web', 'count to ten', { session_title: 'Counter' });
  const page = await open(browser, JSON.parse(run(ada, 'hub', 'login', '--json')).url);
  await row(page, 'Parser').waitFor();
  await row(page, 'Counter').waitFor();
  await becomes(() => row(page, 'Parser').locator('.row .ask').textContent(), 'Allow Bash: npm test');
  await becomes(() => names(page), ['Parser', 'Counter'], 'who needs somebody comes first');
  await becomes(() => row(page, 'Counter').textContent(), /Grace/);

  const where = page.getByLabel('Machine or person');
  const offered = () => where.locator('option').evaluateAll((all) => all.map((option) => option.value));
  await until('both people to be offered', async () => {
    const all = await offered();
    return ['user:Ada', 'user:Grace'].every((value) => all.includes(value));
  });
  await where.selectOption('user:Grace');
  await becomes(() => names(page), ['Counter']);
  await where.selectOption('user:Ada');
  await becomes(() => names(page), ['Parser']);
  const byMachine = (await offered()).filter((value) => value.startsWith('machine:') || value.startsWith('host:'));
  for (const value of byMachine) {
    await where.selectOption(value);
    await until('those of the machine', async () => (await names(page)).length > 0);
  }
  await where.selectOption('');
  await becomes(async () => (await names(page)).length, 2);
  await page.getByLabel('Group by').selectOption('user');
  await becomes(async () => (await page.locator('h2.folder span:first-child').allTextContents()).toSorted(), ['Ada', 'Grace']);

  // Live, and open to its conversation.
  await ada.answered('api', 'npm test');
  await becomes(() => row(page, 'Parser').getAttribute('data-g'), 'working');
  await row(page, 'Counter').locator('.row').click();
  await becomes(() => page.locator('#detail h2').first().textContent(), 'Counter');
  await until('what was said', async () => (await page.locator('.talk li').allTextContents()).some((text) => text.includes('count to ten')));
  assert.equal(await page.locator('.card [data-choice]').count(), 0, 'nobody answers for others');
  // A hub judges no commands, takes no answers and searches nothing: the page does not ask for it, and does not offer it.
  for (const name of ['History', 'Export', 'Rename']) assert.equal(await page.getByText(name, { exact: true }).or(page.getByLabel(name, { exact: true })).filter({ visible: true }).count(), 0, name);
  await page.evaluate(() => (location.hash = '#/history'));
  await becomes(() => page.locator('.tabs [aria-current]').textContent(), 'Agents');
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('a browser that may not see the board is told what to do', { skip: missing }, async () => {
  const [ada] = machines;
  // `open` waits for a board, which this browser never gets.
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${new URL(JSON.parse(run(ada, 'hub', 'login', '--json')).url).origin}/`);
  await shows(page, '#refused:visible', /may not see the board.*headspace hub login/s);
  assert.equal(await page.locator('#gone').isVisible(), false, 'the hub is there');
  await page.context().close();
});
