// Answering from the page: whether it is on, whether this browser is unlocked, and the requests. What may be answered and
// how comes with each ask; the server decides.

import { get, post } from './api.js';

/** `{on, unlocked, mine, waiting, keys: [{id, surface, from, at, mine}]}`; null before the server said it. */
export let answering = null;
const listeners = new Set();

export const onAnswering = (listener) => listeners.add(listener);

export async function refreshAnswering() {
  const said = await get('/api/answer').catch(() => null);
  if (JSON.stringify(said) === JSON.stringify(answering)) return;
  answering = said;
  for (const listener of listeners) listener();
}

/** Some kinds of ask can be answered from here. */
export const canAnswer = (ask) => Boolean(answering?.on && ask.answer?.can?.length);

export async function unlock(code) {
  await post('/api/answer/unlock', { code });
  await refreshAnswering();
}

/** Ends this browser's key, or the one with this id. */
export async function lock(id) {
  await post('/api/answer/lock', id === undefined ? {} : { id });
  await refreshAnswering();
}

/** Sends the answer to exactly what was on the page: `digest` is of the ask that was drawn. */
export const send = (id, digest, choice, more) => post(`/api/interactions/${id}/answer`, { digest, choice, ...more });

/** A card or dialog that has just come or changed takes no answer for this long (ms): the hand may have meant what was there before. */
export const INERT_FOR = 700;

/** What the choices are called on a button, and when they were made. */
export const CHOICES = {
  allow: ['Allow once', 'Allowed'],
  approve: ['Approve the plan', 'Approved'],
  answers: ['Send the answer', 'Answered'],
  keep_planning: ['Keep planning', 'Sent back'],
  deny: ['Deny', 'Denied'],
  stop: ['Deny and stop', 'Stopped'],
};

/** Where an answer came from, in words. */
export const PLACES = { web: 'the dashboard', top: 'top', cli: 'the command line', ntfy: 'a notification', terminal: 'its own terminal' };
