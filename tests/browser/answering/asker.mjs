// A client that asks: the hooks it would run, with a real `headspace wait` beside its dialog, and a person at a terminal.

import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Server, until } from '../stage.mjs';

const BIN = process.env.HEADSPACE_BIN;
/** Whatever still waits when a test file ends. */
const waiting = new Set();
process.once('exit', () => waiting.forEach((child) => child.kill('SIGKILL')));

/** A server with the hooks installed and answering on. */
export async function startAsked(config = null) {
  const server = await Server.start(['serve', '--port', '0'], config);
  const port = Number(new URL(server.url).port);
  server.configure({ ...config, port });
  await server.command(['install']);
  await server.command(['answer', 'on']);
  await until('answering to be on', async () => (await (await fetch(`${server.url}/api/answer`)).json()).on);
  return server;
}

/** The code that `headspace answer unlock` shows on a terminal of its own. */
export async function codeFor(server) {
  const shown = await run('script', ['-qec', `${BIN} answer unlock`, '/dev/null'], server.env);
  const code = /\b[A-Z2-9]{4}-[A-Z2-9]{4}\b/.exec(shown)?.[0];
  if (!code) throw new Error(`no code: ${shown}`);
  return code;
}

/** A command of headspace's on a terminal of its own: what it showed. */
export const onTerminal = (server, words) => run('script', ['-qec', `${BIN} ${words}`, '/dev/null'], server.env);

function run(program, words, env) {
  return new Promise((done, fail) => {
    const child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const out of [child.stdout, child.stderr]) out.setEncoding('utf8').on('data', (text) => (said += text));
    child.on('error', fail);
    child.on('exit', () => done(said));
  });
}

/** One `headspace wait`, as the client starts it: in a session of its own, with the payload on its standard input. */
class Waiter {
  constructor(server, payload) {
    const env = { ...server.env, CLAUDECODE: '1', CLAUDE_CODE_ENTRYPOINT: 'cli', CLAUDE_CODE_SESSION_ATTENDED: '1', HEADSPACE_DEBUG: '1' };
    this.child = spawn(BIN, ['wait'], { env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    waiting.add(this.child);
    this.child.on('exit', () => waiting.delete(this.child));
    this.text = '';
    this.ended = new Promise((done) => this.child.on('close', done));
    this.child.stdout.setEncoding('utf8').on('data', (text) => (this.text += text));
    this.child.stdin.on('error', () => {});
    this.child.stdin.end(`${JSON.stringify(payload)}\n`);
  }

  get runs() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The decision that it printed; null for none. */
  async printed() {
    await until('`wait` to end', () => !this.runs);
    await this.ended;
    return this.text ? JSON.parse(this.text).hookSpecificOutput.decision : null;
  }
}

/** A `wait` that the server holds. On a busy machine the server may be late for it: then it leaves, as it must, and another one comes. */
async function hold(server, payload) {
  let waiter = new Waiter(server, payload);
  await until('the server to hold `wait`', async () => {
    if (!waiter.runs) waiter = new Waiter(server, payload);
    const log = await readFile(`${server.home}/state/headspace/notify.log`, 'utf8').catch(() => '');
    return log.includes(` ${waiter.child.pid} waiting\n`);
  });
  return waiter;
}

/**
 * The client asks: the hook that waits, PreToolUse, PermissionRequest. Comes back when the card can be answered. The hook is
 * first because an ask that nobody waits for any more is not held again.
 */
export async function ask(server, session, tool_name, tool_input) {
  await server.working(session, 'go', { session_title: session });
  const payload = { session_id: session, hook_event_name: 'PermissionRequest', cwd: `/srv/${session}`, permission_mode: 'default', tool_name, tool_input };
  const waiter = await hold(server, payload);
  await server.hook('pre-tool-use', session, { tool_name, tool_input, tool_use_id: `t-${session}` });
  await server.hook('permission-request', session, { tool_name, tool_input, permission_mode: 'default' });
  const found = await until(`a card of ${session} that can be answered`, async () => {
    const one = await card(server, session);
    return one?.answer.can.length && one;
  });
  return Object.assign(waiter, { card: found });
}

/** The terminal was first: the tool has run. */
export const ranInTerminal = (server, session, tool_name, tool_input) =>
  server.hook('post-tool-use', session, { tool_name, tool_input, tool_use_id: `t-${session}`, tool_response: {} });

/** The open question of a session, as the server has it. */
export async function card(server, session) {
  const { agents } = await (await fetch(`${server.url}/api/agents?all=1`)).json();
  return agents.find((agent) => agent.session_id === session)?.interactions[0];
}

/** The steps that were recorded for an ask. */
export async function steps(server, id) {
  const { events } = await (await fetch(`${server.url}/api/events?type=Answer&limit=1000`)).json();
  return events.filter((event) => event.body.interaction_id === id).sort((a, b) => a.id - b.id).map((event) => event.body);
}
