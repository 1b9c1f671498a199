// Events ▶ rows of a timeline. Pure: one row per tool call (its Pre and Post joined), a lane per subagent.

import { line } from './format.js';

/** The field of a tool's input that says most, by tool. */
const SAYS = {
  Bash: 'command', Read: 'file_path', Write: 'file_path', Edit: 'file_path', MultiEdit: 'file_path', NotebookEdit: 'notebook_path', Glob: 'pattern', Grep: 'pattern',
  WebFetch: 'url', WebSearch: 'query', Agent: 'description', Task: 'description', Skill: 'skill', ToolSearch: 'query', ExitPlanMode: 'plan', TaskCreate: 'subject',
};

/** What a tool call does, in one line. */
export function toolGist(name, input) {
  if (!input || typeof input !== 'object') return '';
  if (name === 'AskUserQuestion') return line(input.questions?.[0]?.question ?? '');
  const value = input[SAYS[name]] ?? Object.values(input).find((each) => typeof each === 'string' && each);
  return line(value ?? '');
}

/** What an event says, in one line: the first field that is there. */
const TELLS = {
  SessionStart: ['source'], SessionEnd: ['reason'], UserPromptSubmit: ['prompt'], UserPromptExpansion: ['command_name'], Stop: ['last_assistant_message'],
  StopFailure: ['error_details', 'last_assistant_message', 'error'], Notification: ['message', 'notification_type'], SubagentStart: ['agent_type'],
  SubagentStop: ['last_assistant_message', 'agent_type'], PreCompact: ['trigger'], PostCompact: ['trigger'], CwdChanged: ['new_cwd'], ConfigChange: ['file_path', 'source'],
  Elicitation: ['message'], ElicitationResult: ['action'], PostModelSwitch: ['to_model'], PreModelSwitch: ['to_model'], TaskCreated: ['task_subject'],
  TaskCompleted: ['task_subject'], TeammateIdle: ['teammate_name'], Setup: ['trigger'], DirectoryAdded: ['directory'], GuardVerdict: ['reason', 'verdict'], Renamed: ['name'],
  ProcessGone: ['claude_pid'], ContextWarned: ['level'],
};

export function eventGist(name, body) {
  if (body?.tool_name) return [body.tool_name, toolGist(body.tool_name, body.tool_input)].filter(Boolean).join(': ');
  if (name === 'PostToolBatch') return (body?.tool_calls ?? []).map((call) => call.tool_name).join(', ');
  for (const field of TELLS[name] ?? ['text', 'message', 'reason', 'source']) if (body?.[field]) return line(body[field]);
  return '';
}

/** Events that only prove that a row already there is right. */
const SILENT = new Set(['PostToolBatch', 'TranscriptToolResult', 'TranscriptUsage', 'StatusLine', 'InstructionsLoaded']);
/** Events after which no call of the main thread can still be running. */
const ENDS_CALLS = new Set(['Stop', 'StopFailure', 'SessionEnd', 'ProcessGone', 'TranscriptInterrupted', 'TranscriptTurnEnd']);

/**
 * `events`: `{id, name, at, body}`, at in ms. Answers rows, oldest first:
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
    if (name === 'PostToolBatch') for (const each of body.tool_calls ?? []) settle(calls.get(each.tool_use_id), event, 'refused');
    if (ENDS_CALLS.has(name)) for (const row of rows) if (!row.child) settle(row, event, name === 'TranscriptInterrupted' ? 'interrupted' : 'unknown');
    if (name === 'SubagentStop') {
      for (const row of rows) if (row.child === child) settle(row, event, 'unknown');
      lanes.free(child);
    }
    if (name === 'SessionEnd') lanes.freeAll();
  }
  return rows;
}

/** The row of a call this event belongs to: by id, or for a request without one the newest open call of that tool. */
function callOf(calls, rows, { name, body }, child) {
  if (name === 'PreToolUse') return null;
  if (body.tool_use_id) return calls.get(body.tool_use_id) ?? null;
  if (name === 'PermissionRequest') return rows.findLast((row) => row.state === 'open' && row.child === child && row.tool === body.tool_name) ?? null;
  if (name === 'Notification' && body.notification_type === 'permission_prompt') return rows.findLast((row) => row.state === 'open' && row.asked) ?? null;
  return null;
}

function rowFor(event, lane, child, lanes) {
  const { name, body, at, id } = event;
  const row = { key: id, at, title: name, text: eventGist(name, body), state: null, ms: null, waited: null, lane, child, tool: null, asked: null, events: [event] };
  if (name === 'PreToolUse' || name === 'PermissionRequest') {
    Object.assign(row, { title: body.tool_name, text: toolGist(body.tool_name, body.tool_input), tool: body.tool_name, state: 'open' });
    if (name === 'PermissionRequest') row.asked = at;
  } else if (name === 'PostToolUse' || name === 'PostToolUseFailure' || name === 'PermissionDenied') {
    Object.assign(row, { title: body.tool_name, text: toolGist(body.tool_name, body.tool_input), tool: body.tool_name, state: 'open' });
    close(row, event);
    row.events.pop();
  } else if (name === 'StopFailure') row.state = 'failed';
  row.lanes = lanes.around(lane, name);
  return row;
}

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

/** Lane 0 is the main thread; a subagent takes the first free lane and gives it back. */
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
