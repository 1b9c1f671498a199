// The agents as the page knows them: one map, the counts, and who is told about changes. Order, words and ages of a row
// come from the server (`agent.summary`), so that every surface shows the same.

/** The display groups in their order, in the server's words: `{id, glyph, label, meaning}`. Empty before the first list. */
export let groups = [];

export function setGroups(list) {
  groups = list;
}

/** The words around the age of a row. */
const AGE_WORDS = { waiting: ['waiting ', ''], working: ['for ', ''], quiet: ['', ' ago'], ended: ['ended ', ' ago'], not_heard: ['not heard since ', ''] };

export const glyphOf = (agent) => (agent.ended_at ? '·' : groups.find(({ id }) => id === agent.group)?.glyph ?? '-');

export const agents = new Map();
const listeners = new Set();
let changed = new Set();
let scheduled = false;

/** `listener(ids)` is told once per frame which agents changed; on a hidden page, four times a second. */
export function onChange(listener) {
  listeners.add(listener);
}

/** An agent of another machine that is not shown any more. */
export function remove(id) {
  if (agents.delete(id)) touch(id);
}

export function put(agent) {
  if (!agent.machine && !agent.elsewhere && !agent.edge) here = agent.host ?? here;
  agents.set(agent.id, Object.assign(agent, { hay: null }));
  touch(agent.id);
}

/** A whole new list: what it does not name is gone, except what the stream reported while the list was on its way. */
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

// A requested frame does not come while the page is hidden.
document.addEventListener('visibilitychange', () => scheduled && document.hidden && setTimeout(flush, 250));

function flush() {
  if (!scheduled) return;
  scheduled = false;
  const ids = changed;
  changed = new Set();
  for (const listener of listeners) listener(ids);
}

/** Attention first, then longest wait; the calm ones by when they finished. */
export const compare = (a, b) => (a.summary.order < b.summary.order ? -1 : 1);

/** `ended` or `headless`: folded away at the foot of the list. */
export const foldOf = (agent) => agent.summary.fold ?? null;

/** How many of each group are in the open part of the list. */
export function counts() {
  const found = new Map();
  for (const agent of agents.values()) if (!foldOf(agent)) found.set(agent.group, (found.get(agent.group) ?? 0) + 1);
  return found;
}

/** The agents that wait for you, the longest wait first. */
export const waiting = () => [...agents.values()].filter((agent) => !foldOf(agent) && agent.group === 'needs_you').sort(compare);

/** The moment the row's age counts from, and the words around it. */
export function ageOf({ summary }) {
  const [lead, tail] = AGE_WORDS[summary.age_kind] ?? AGE_WORDS.quiet;
  return { at: Date.parse(summary.since), lead, tail };
}

/** What this machine calls itself, as far as an agent has said so. */
let here = null;

/** The machine an agent is on: as the user calls it, or as it calls itself. One that says nothing (curl) is on this one. */
export const machineOf = (agent) => agent.machine ?? agent.host ?? here;

/** An agent's id from text: a number here, `machine/number` for one of another machine. */
export const idOf = (text) => (/^\d+$/.test(text) ? Number(text) : text);

/** Is every word of the search somewhere in the agent? */
export function matches(agent, words) {
  if (!words.length) return true;
  const { name, project, branch, host, machine, user, cwd, session_id, role, tmux_session, client, summary } = agent;
  agent.hay ??= [name, project, branch, host, machine, user, cwd, session_id, role, tmux_session, client, summary.about, summary.label].join('\n').toLowerCase();
  return words.every((word) => agent.hay.includes(word));
}
