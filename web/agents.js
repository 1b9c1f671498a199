// The agents as the page knows them: one map, the order, the counts, and who wants to hear of changes.

import { line, tilde } from './format.js';

/** The six display groups in their order: the server names the group of an agent, this gives glyph and word. */
export const GROUPS = [
  { id: 'needs_you', glyph: '!', label: 'needs you', means: 'asks something and waits for you' },
  { id: 'error', glyph: 'x', label: 'error', means: 'the turn failed' },
  { id: 'working', glyph: '*', label: 'working', means: 'busy with your command' },
  { id: 'background', glyph: '~', label: 'background', means: 'its turn is over, background work is not' },
  { id: 'done', glyph: '+', label: 'done, unseen', means: 'finished, and nobody has looked yet' },
  { id: 'idle', glyph: '-', label: 'idle', means: 'nothing to do' },
];
const RANK = new Map(GROUPS.map((group, i) => [group.id, i]));

export const groupOf = (agent) => GROUPS[RANK.get(agent.group) ?? 5];

export const agents = new Map();
const listeners = new Set();
let changed = new Set();
let scheduled = false;

/** `listener(ids)` hears once per frame which agents changed; a page nobody sees hears four times a second. */
export function onChange(listener) {
  listeners.add(listener);
}

export function put(agent) {
  agents.set(agent.id, Object.assign(agent, { hay: null, since: since(agent) }));
  touch(agent.id);
}

/** A whole new list: what it does not name is gone, except what the stream told after `since` was asked for. */
export function replaceAll(list, toldSince) {
  const named = new Set();
  for (const agent of list) {
    named.add(agent.id);
    if (!toldSince.has(agent.id)) put(agent);
  }
  for (const id of [...agents.keys()]) {
    if (named.has(id) || toldSince.has(id)) continue;
    agents.delete(id);
    touch(id);
  }
  if (!list.length) touch(null);
}

function touch(id) {
  changed.add(id);
  if (scheduled) return;
  scheduled = true;
  if (document.hidden) setTimeout(flush, 250);
  else requestAnimationFrame(flush);
}

// A frame that was asked for does not come while the page is hidden.
document.addEventListener('visibilitychange', () => scheduled && document.hidden && setTimeout(flush, 250));

function flush() {
  if (!scheduled) return;
  scheduled = false;
  const ids = changed;
  changed = new Set();
  for (const listener of listeners) listener(ids);
}

const time = (stamp) => (stamp ? Date.parse(stamp) : 0);

/** Attention first, then longest wait; the calm ones by last sign of life. */
export function compare(a, b) {
  return RANK.get(a.group) - RANK.get(b.group) || a.since - b.since || a.id - b.id;
}

/** What decides the order inside a group; worked out once, because a list is sorted often. */
function since(agent) {
  if (agent.group === 'needs_you') return time(agent.waiting_since);
  if (agent.group === 'working' || agent.group === 'background') return time(agent.current_command?.started_at ?? agent.started_at);
  return -time(agent.last_active_at);
}

/** Folded away at the foot of the list, unless somebody should look. */
export function foldOf(agent) {
  if (agent.ended_at) return 'ended';
  return agent.headless && RANK.get(agent.group) > 1 ? 'headless' : null;
}

/** How many of each group are in the open part of the list. */
export function counts() {
  const found = new Map(GROUPS.map((group) => [group.id, 0]));
  for (const agent of agents.values()) if (!foldOf(agent)) found.set(agent.group, (found.get(agent.group) ?? 0) + 1);
  return found;
}

/** The one to look at next: who needs you and has waited longest. */
export function longestWaiting() {
  let best = null;
  for (const agent of agents.values())
    if (!foldOf(agent) && agent.group === 'needs_you' && (!best || compare(agent, best) < 0)) best = agent;
  return best;
}

/** The second line of a row: the ask itself, or what it is doing. */
export function gistOf(agent) {
  if (agent.ended_at) return agent.end_reason ? `ended: ${line(agent.end_reason, 80).replaceAll('_', ' ')}` : 'ended';
  if (agent.group === 'error') return line(agent.error, 240).replaceAll('_', ' ');
  const quiet = agent.group === 'done' || agent.group === 'idle';
  return line(agent.status_detail ?? (quiet ? agent.last_said : agent.current_command?.instruction) ?? tilde(agent.cwd), 240);
}

/** The moment the row's clock counts from, and the words around it. */
export function clockOf(agent) {
  if (agent.ended_at) return { at: time(agent.ended_at), lead: 'ended ', tail: ' ago' };
  if (agent.group === 'needs_you') return { at: time(agent.waiting_since ?? agent.source_at), lead: 'waiting ', tail: '' };
  if (agent.group === 'working' && agent.current_command && !agent.stale)
    return { at: time(agent.current_command.started_at), lead: 'for ', tail: '' };
  return { at: time(agent.last_active_at), lead: 'last active ', tail: ' ago' };
}

/** Does the agent answer to every word of the search? */
export function matches(agent, words) {
  if (!words.length) return true;
  const { name, project, branch, host, cwd, session_id, role, tmux_session, client } = agent;
  agent.hay ??= [name, project, branch, host, cwd, session_id, role, tmux_session, client, gistOf(agent), groupOf(agent).label].join('\n').toLowerCase();
  return words.every((word) => agent.hay.includes(word));
}
