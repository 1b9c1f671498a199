// Stored events, loaded in pages: the newest first, then what is newer or older than the known ones.

import { get } from './api.js';

const PAGE = 200;

/** The events of one query. `changed(events)` is called after each answer, and returns false if the page no longer needs them. */
export class Events {
  constructor(path, query, changed) {
    Object.assign(this, { path, query, changed, known: new Map(), newest: 0, lookedTo: null, more: false, fault: null, busy: false, again: false });
  }

  /** Loads what is new; a call while one is under way loads once more. */
  async news() {
    this.again = true;
    if (this.busy) return;
    this.busy = true;
    while (this.again) {
      this.again = false;
      const first = !this.newest;
      if (first) await this.back({});
      else if ((await this.ask({ after: this.newest })).count >= PAGE) this.again = true;
    }
    this.busy = false;
  }

  async older() {
    await this.back({ before: this.lookedTo ?? Math.min(...this.known.keys()) });
  }

  /** Loads a page further back. The server searches one part of the store per request, so this may take several. */
  async back(range) {
    for (let found = 0; ; range = { before: this.lookedTo }) {
      const { count, lookedTo } = await this.ask(range);
      found += count;
      this.lookedTo = lookedTo;
      this.more = lookedTo !== null || found >= PAGE;
      if (this.changed(this) === false || lookedTo === null || found >= PAGE) return;
    }
  }

  async ask(range) {
    let [events, lookedTo] = [[], null];
    try {
      ({ events, looked_to: lookedTo = null } = await get(this.path, { ...this.query, ...range, limit: PAGE }));
      this.fault = null;
    } catch (error) {
      this.fault = error.message;
    }
    for (const { id, name, at, source, agent_id: agent, session_id: session, duplicate, body } of events) {
      this.known.set(id, { id, name, at: Date.parse(at), source, agent, session: session ?? '', duplicate, body: body ?? {} });
      this.newest = Math.max(this.newest, id);
    }
    this.changed(this);
    return { count: events.length, lookedTo };
  }

  /** Newest first. */
  list() {
    return [...this.known.values()].sort((a, b) => b.id - a.id);
  }

  /** Drops the oldest; they can be loaded again. */
  keep(most) {
    for (const { id } of this.list().slice(most)) {
      this.known.delete(id);
      [this.more, this.lookedTo] = [true, null];
    }
  }
}
