// Stored events, asked for in pages: the newest first, then whatever is newer or older than what is known.

import { get } from './api.js';

const PAGE = 200;

/** The events of one question. `changed(events)` hears when an answer came, and says false if nobody asks any more. */
export class Events {
  constructor(path, query, changed) {
    Object.assign(this, { path, query, changed, known: new Map(), newest: 0, lookedTo: null, more: false, fault: null, busy: false, again: false });
  }

  /** Asks for what is new; a call while one is under way makes it ask once more. */
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

  /** A page further back. The server searches a part of the store at a time, so that may take several questions. */
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

  /** Lets go of the oldest; they can be asked for again. */
  keep(most) {
    for (const { id } of this.list().slice(most)) {
      this.known.delete(id);
      [this.more, this.lookedTo] = [true, null];
    }
  }
}
