// Stored events, asked for in pages: the newest first, then whatever is newer or older than what is known.

import { get } from './api.js';

const PAGE = 200;

/** The events of one question. `changed(events)` hears when an answer came. */
export class Events {
  constructor(path, query, changed) {
    Object.assign(this, { path, query, changed, known: new Map(), newest: 0, more: false, fault: null, busy: false, again: false });
  }

  /** Asks for what is new; a call while one is under way makes it ask once more. */
  async news() {
    this.again = true;
    if (this.busy) return;
    this.busy = true;
    while (this.again) {
      this.again = false;
      const first = !this.newest;
      const count = await this.ask(first ? {} : { after: this.newest });
      if (first) this.more = count >= PAGE;
      else if (count >= PAGE) this.again = true;
    }
    this.busy = false;
  }

  async older() {
    this.more = (await this.ask({ before: Math.min(...this.known.keys()) })) >= PAGE;
    this.changed(this);
  }

  async ask(range) {
    let events = [];
    try {
      ({ events } = await get(this.path, { ...this.query, ...range, limit: PAGE }));
      this.fault = null;
    } catch (error) {
      this.fault = error.message;
    }
    for (const { id, name, at, source, agent_id: agent, session_id: session, duplicate, body } of events) {
      this.known.set(id, { id, name, at: Date.parse(at), source, agent, session: session ?? '', duplicate, body: body ?? {} });
      this.newest = Math.max(this.newest, id);
    }
    this.more ||= !range.after && events.length >= PAGE;
    this.changed(this);
    return events.length;
  }

  /** Newest first. */
  list() {
    return [...this.known.values()].sort((a, b) => b.id - a.id);
  }

  /** Lets go of the oldest; they can be asked for again. */
  keep(most) {
    for (const { id } of this.list().slice(most)) {
      this.known.delete(id);
      this.more = true;
    }
  }
}
