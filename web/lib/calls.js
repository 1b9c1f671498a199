// Events ▶ rows of a timeline. Pure: one row per tool call (its Pre and Post joined), a lane per subagent.

import { line } from './format.js';

/** Fields of a tool's input, and of an event, that say what it is about; the first one present counts. */
const INPUT_SAYS = ['command', 'file_path', 'notebook_path', 'pattern', 'url', 'query', 'description', 'plan', 'subject'];
const EVENT_SAYS = ['prompt', 'error_details', 'last_assistant_message', 'message', 'error', 'text', 'reason', 'command_name', 'new_cwd', 'file_path', 'to_model', 'task_subject',
  'teammate_name', 'directory', 'action', 'verdict', 'agent_type', 'source', 'trigger', 'name', 'level'];

/** What a step of an answer says: the audit is read in this line. */
const STEP_SAYS = ['tool_name', 'state', 'choice', 'by', 'from', 'message'];

const first = (body, fields) => fields.map((field) => body[field]).find(Boolean);

/** What a tool call does, in one line. */
export function toolGist(input) {
  if (!input || typeof input !== 'object') return '';
  return line(input.questions?.[0]?.question ?? first(input, INPUT_SAYS) ?? Object.values(input).find((each) => typeof each === 'string') ?? '');
}

/** What an event says, in one line. */
export function eventGist(body) {
  if (body.interaction_id && body.state) return line(STEP_SAYS.map((field) => (typeof body[field] === 'string' ? (field === 'message' ? body[field] : body[field].replaceAll('_', ' ')) : '')).filter(Boolean).join(' · '));
  if (body.tool_name) return [line(body.tool_name, 60), toolGist(body.tool_input)].filter(Boolean).join(': ');
  return line(body.tool_calls?.map?.((call) => call?.tool_name).join(', ') ?? first(body, EVENT_SAYS) ?? '');
}

/** Events that only confirm what another row shows. */
const SILENT = new Set(['PostToolBatch', 'TranscriptToolResult', 'TranscriptUsage', 'StatusLine', 'InstructionsLoaded']);
/** Events about one tool call. */
const CALLS = new Set(['PreToolUse', 'PermissionRequest', 'PostToolUse', 'PostToolUseFailure', 'PermissionDenied']);
/** Events after which no call of the main thread can still be running. */
const ENDS_CALLS = new Set(['Stop', 'StopFailure', 'SessionEnd', 'ProcessGone', 'TranscriptInterrupted', 'TranscriptTurnEnd']);

/**
 * `events`: `{id, name, at, body}`, at in ms. Returns rows, oldest first:
 * `{key, at, title, text, state, ms, waited, lane, lanes, events}`; `lanes` says for each lane whether its line
 * runs up (to newer), down (to older), and whether the row sits on it.
 */
export function rowsOf(events) {
  const rows = [];
  const calls = new Map();
  const lanes = new Lanes();
  for (const event of [...events].sort((a, b) => a.at - b.at || a.id - b.id)) {
    const { name, body } = event;
    const child = body.agent_id || null;
    if (name === 'SubagentStop' && !body.agent_type) continue;
    const lane = lanes.of(child);
    const call = callOf(calls, rows, event, child);
    if (call) close(call, event);
    else if (!SILENT.has(name)) rows.push(rowFor(event, lane, child, lanes));
    if (name === 'PreToolUse' && body.tool_use_id) calls.set(body.tool_use_id, rows.at(-1));
    if (Array.isArray(body.tool_calls)) for (const each of body.tool_calls) settle(calls.get(each?.tool_use_id), event, 'refused');
    if (ENDS_CALLS.has(name)) for (const row of rows) if (!row.child) settle(row, event, name === 'TranscriptInterrupted' ? 'interrupted' : 'unknown');
    if (name === 'SubagentStop') {
      for (const row of rows) if (row.child === child) settle(row, event, 'unknown');
      lanes.free(child);
    }
    if (name === 'SessionEnd') lanes.freeAll();
  }
  return rows;
}

/** The row of the call that this event belongs to: by id; for a request without one, the newest open call of that tool. */
function callOf(calls, rows, { name, body }, child) {
  if (name === 'PreToolUse') return null;
  if (body.tool_use_id) return calls.get(body.tool_use_id) ?? null;
  if (name === 'PermissionRequest') return rows.findLast((row) => row.state === 'open' && row.child === child && row.tool === body.tool_name) ?? null;
  if (name === 'Notification' && body.notification_type === 'permission_prompt') return rows.findLast((row) => row.state === 'open' && row.asked) ?? null;
  return null;
}

function rowFor(event, lane, child, lanes) {
  const { name, body, at, id } = event;
  const row = { key: id, at, title: name, text: eventGist(body), state: name === 'StopFailure' ? 'failed' : null, ms: null, waited: null, lane, child, tool: null, asked: null, events: [] };
  if (CALLS.has(name)) Object.assign(row, { title: body.tool_name, text: toolGist(body.tool_input), tool: body.tool_name, state: 'open' });
  close(row, event);
  row.lanes = lanes.around(lane, name);
  return row;
}

/** What the event says about the end of the call, if anything. */
function close(row, event) {
  const { name, body, at } = event;
  row.events.push(event);
  if (name === 'PermissionRequest') row.asked ??= at;
  const states = { PostToolUse: 'ok', PostToolUseFailure: body.is_interrupt ? 'interrupted' : 'failed', PermissionDenied: 'refused', TranscriptRefused: 'refused', TranscriptToolResult: 'ok' };
  if (!states[name]) return;
  if (row.state !== 'open' && name.startsWith('Transcript')) return;
  row.state = states[name];
  row.ms = typeof body.duration_ms === 'number' ? body.duration_ms : at - row.at;
  if (row.asked) row.waited = Math.max(0, at - row.asked - (typeof body.duration_ms === 'number' ? body.duration_ms : 0));
}

function settle(row, event, state) {
  if (row?.state !== 'open') return;
  row.state = state;
  row.ms = event.at - row.at;
}

/** Lane 0 is the main thread; a subagent takes the first free lane and frees it at its end. */
class Lanes {
  constructor() {
    this.taken = [];
    this.born = null;
  }

  of(child) {
    if (!child) return 0;
    let at = this.taken.indexOf(child);
    if (at < 0) {
      at = this.taken.indexOf(null);
      if (at < 0) at = this.taken.length;
      this.taken[at] = child;
      this.born = at + 1;
    }
    return at + 1;
  }

  around(lane, name) {
    const born = this.born;
    this.born = null;
    return [null, ...this.taken].map((child, i) => {
      const on = i === lane;
      if (i > 0 && child === null) return { on: false, up: false, down: false };
      return { on, up: !(on && name === 'SubagentStop'), down: i !== born };
    });
  }

  free(child) {
    const at = this.taken.indexOf(child);
    if (at >= 0) this.taken[at] = null;
  }

  freeAll() {
    this.taken = this.taken.map(() => null);
  }
}
