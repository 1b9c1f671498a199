// The stream of changes, and the truth about the connection to the server. Runs in the worker that all pages share, or in
// the page itself where there is no such worker.

const TYPES = ['agent_created', 'state_changed', 'turn_created', 'agent_updated', 'agent_removed', 'session_ended', 'hook_status', 'event', 'answer'];
const FIRST_RETRY_AFTER = 400;
const RETRY_AT_LEAST_EVERY = 15000;
/** After this many failures in a row, the server is gone. */
const GONE_AFTER = 4;
/** A clock that jumps this far means that the computer slept. */
const SLEPT = 20000;

/**
 * Opens the stream and keeps it open. `on(type, data)` gets each message, `opened()` each new connection, `state(word,
 * retryInMs)` what to show. The browser's own retry has a fixed pace and hides it, so reconnecting is done here, with the id
 * of the last message: the server replays what was missed.
 */
export function openStream({ on, opened, state }) {
  let source = null;
  let lastId = '';
  let failures = 0;
  let timer = 0;
  let heard = Date.now();

  function connect() {
    clearTimeout(timer);
    source?.close();
    const mine = new EventSource(`/api/events/stream${lastId ? `?last_event_id=${encodeURIComponent(lastId)}` : ''}`);
    source = mine;
    mine.onopen = () => {
      failures = 0;
      heard = Date.now();
      state('live');
      opened();
    };
    mine.onerror = () => {
      if (source !== mine) return;
      mine.close();
      failures += 1;
      const wait = Math.min(RETRY_AT_LEAST_EVERY, FIRST_RETRY_AFTER * 2 ** (failures - 1)) * (0.8 + 0.4 * Math.random());
      state(failures > GONE_AFTER ? 'gone' : 'reconnecting', wait);
      timer = setTimeout(connect, wait);
    };
    for (const type of TYPES)
      mine.addEventListener(type, (message) => {
        heard = Date.now();
        if (message.lastEventId) lastId = message.lastEventId;
        let data;
        try {
          data = JSON.parse(message.data);
        } catch {
          return;
        }
        on(type, data);
      });
  }

  function retryNow() {
    if (source?.readyState !== EventSource.OPEN) connect();
  }

  addEventListener('online', retryNow);

  // The connection of a computer that slept looks open and is dead.
  let before = Date.now();
  const watch = setInterval(() => {
    const slept = Date.now() - before > SLEPT;
    before = Date.now();
    if (slept && Date.now() - heard > SLEPT) {
      state('reconnecting', 0);
      connect();
    }
  }, 5000);

  state('connecting');
  connect();
  return {
    retryNow,
    close() {
      clearTimeout(timer);
      clearInterval(watch);
      removeEventListener('online', retryNow);
      source?.close();
      source = null;
    },
  };
}

/**
 * The stream for this page, shared with all others of this browser. `wanted()` says whether a hidden page still
 * wants it, as one that may notify does; otherwise a hidden page lets the stream go, and takes it again when it is seen.
 */
export function watchStream(hearing, wanted) {
  const shared = typeof SharedWorker === 'function' ? new SharedWorker('/assets/lib/stream-worker.js', { type: 'module', name: 'headspace' }) : null;
  const connection = shared ? throughWorker(shared.port, hearing) : inPage(hearing);
  let watching = false;

  function settle() {
    const wants = !document.hidden || wanted();
    if (wants === watching) return;
    watching = wants;
    if (wants) connection.watch();
    else connection.leave();
  }

  document.addEventListener('visibilitychange', () => {
    settle();
    if (!document.hidden) connection.retryNow();
  });
  addEventListener('pagehide', () => connection.leave());
  addEventListener('pageshow', ({ persisted }) => persisted && watching && connection.watch());
  settle();
  return { retryNow: connection.retryNow, settle };
}

function throughWorker(port, { on, opened, state }) {
  port.onmessage = ({ data }) => {
    if (data.type) on(data.type, data.data);
    else if (data.opened) opened();
    else state(...data.state);
  };
  const send = (verb) => () => port.postMessage({ verb });
  const lock = `headspace-page-${Math.random()}`;
  // Not there where the page comes by plain http under a name other than localhost.
  navigator.locks?.request(lock, () => {
    port.postMessage({ verb: 'alive', lock });
    return new Promise(() => {});
  });
  return { watch: send('watch'), leave: send('leave'), retryNow: send('retry') };
}

function inPage(hearing) {
  let stream = null;
  return {
    watch: () => (stream ??= openStream(hearing)),
    leave() {
      stream?.close();
      stream = null;
    },
    retryNow: () => stream?.retryNow(),
  };
}
