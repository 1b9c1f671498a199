// The pure parts, in the browser that runs them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, launch, open } from '../stage.mjs';

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

test('ages, durations and numbers read at a glance', async () => {
  const table = [
    ['age', 0, '0 s'], ['age', 59_999, '59 s'], ['age', 60_000, '1 m'], ['age', 3_599_000, '59 m'], ['age', 7_200_000, '2 h'], ['age', 90_000_000, '1 d'], ['age', -5, '0 s'],
    ['duration', 29, '29 ms'], ['duration', 2400, '2.4 s'], ['duration', 42_000, '42 s'], ['duration', 192_000, '3 m 12 s'], ['duration', 3_900_000, '1 h 05 m'],
    ['number', 1_284_310, '1,284,310'], ['number', 999, '999'], ['tokens', 84_000, '84 k'], ['tokens', 1_200_000, '1.2 M'],
    ['quoted', '/srv/a b', `'/srv/a b'`], ['quoted', `it's`, `'it'\\''s'`], ['quoted', '/srv/plain', '/srv/plain'], ['tilde', '/home/me/x', '~/x'],
    ['line', ' a\n b ', 'a b'], ['line', 'x\u202Ey\u0007', 'xy␇'],
  ];
  const got = await page.evaluate(async (rows) => {
    const format = await import('/assets/lib/format.js');
    return rows.map(([name, value]) => format[name](value));
  }, table);
  table.forEach(([name, value, expected], i) => assert.equal(got[i], expected, `${name}(${value})`));
});

/** Events of a timeline: [name, seconds, body]. */
async function rows(events) {
  return page.evaluate(async (list) => {
    const { rowsOf } = await import('/assets/lib/calls.js');
    return rowsOf(list.map(([name, at, body], id) => ({ id, name, at: at * 1000, body })));
  }, events);
}

test('calls are joined by their id, whatever order they ended in', async () => {
  const found = await rows([
    ['PreToolUse', 1, { tool_name: 'Bash', tool_input: { command: 'a' }, tool_use_id: '1' }],
    ['PreToolUse', 2, { tool_name: 'Bash', tool_input: { command: 'b' }, tool_use_id: '2' }],
    ['PostToolUseFailure', 3, { tool_name: 'Bash', tool_use_id: '2', error: 'no' }],
    ['PostToolUse', 9, { tool_name: 'Bash', tool_use_id: '1', duration_ms: 7500 }],
  ]);
  assert.deepEqual(found.map(({ text, state, ms }) => [text, state, ms]), [['a', 'ok', 7500], ['b', 'failed', 1000]]);
});

test('a permission without an id belongs to the open call of that tool, and its wait is told', async () => {
  const [call, ...others] = await rows([
    ['PreToolUse', 1, { tool_name: 'Bash', tool_input: { command: 'a' }, tool_use_id: '1' }],
    ['PermissionRequest', 1, { tool_name: 'Bash', tool_input: { command: 'a' } }],
    ['Notification', 7, { notification_type: 'permission_prompt', message: 'Claude needs your permission' }],
    ['PostToolUse', 31, { tool_name: 'Bash', tool_use_id: '1', duration_ms: 2000 }],
  ]);
  assert.deepEqual([call.state, call.ms, call.waited, call.events.length, others.length], ['ok', 2000, 28000, 4, 0]);
});

test('a call without an end is over when its turn is', async () => {
  const states = async (...last) => (await rows([['PreToolUse', 1, { tool_name: 'Bash', tool_use_id: '1' }], ...last]))[0].state;
  assert.equal(await states(), 'open');
  assert.equal(await states(['Stop', 2, {}]), 'unknown');
  assert.equal(await states(['TranscriptInterrupted', 2, {}]), 'interrupted');
  assert.equal(await states(['PostToolBatch', 2, { tool_calls: [{ tool_use_id: '1' }] }]), 'refused');
  assert.equal(await states(['SubagentStop', 2, { agent_id: 'x', agent_type: 'y' }]), 'open', 'not by somebody else’s end');
});

test('a lane is taken by a subagent and given back', async () => {
  const found = await rows([
    ['SubagentStart', 1, { agent_id: 'a', agent_type: 'x' }], ['SubagentStart', 2, { agent_id: 'b', agent_type: 'y' }],
    ['SubagentStop', 3, { agent_id: 'a', agent_type: 'x' }], ['SubagentStart', 4, { agent_id: 'c', agent_type: 'z' }], ['SubagentStop', 5, { agent_id: 'q', agent_type: '' }],
  ]);
  assert.deepEqual(found.map(({ lane }) => lane), [1, 2, 1, 1]);
});

test('moving one row moves one node, in either direction', async () => {
  const moves = await page.evaluate(async () => {
    const { keyed } = await import('/assets/lib/dom.js');
    const list = document.createElement('ul');
    const draw = (keys) => keyed(list, keys, (key) => key, (key) => Object.assign(document.createElement('li'), { textContent: key }));
    const many = Array.from({ length: 100 }, (_, i) => String(i));
    draw(many);
    const count = async (keys) => {
      const observer = new MutationObserver(() => {});
      observer.observe(list, { childList: true });
      draw(keys);
      const touched = new Set(observer.takeRecords().flatMap((record) => [...record.addedNodes, ...record.removedNodes])).size;
      observer.disconnect();
      return [touched, [...list.children].map((li) => li.textContent).join() === keys.join()];
    };
    return [await count(['99', ...many.slice(0, 99)]), await count(many), await count(many.filter((key) => key !== '50')), await count([...many].reverse())];
  });
  assert.deepEqual(moves.slice(0, 3), [[1, true], [1, true], [1, true]]);
  assert.equal(moves[3][1], true, 'a whole new order is right too');
});

test('a step of an answer says what became of it, what was said and from where', async () => {
  const gist = (body) => page.evaluate(async (one) => (await import('/assets/lib/calls.js')).eventGist(one), body);
  assert.equal(await gist({ interaction_id: 7, state: 'lost_to_terminal', tool_name: 'Bash', choice: 'deny', by: 'cli', from: 'pts/6', message: 'use my_file', digest: '00' }), 'Bash · lost to terminal · deny · cli · pts/6 · use my_file');
  assert.equal(await gist({ interaction_id: 7, state: 'open', tool_name: 'Bash' }), 'Bash · open');
});
