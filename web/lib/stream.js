// The stream of changes, and an honest word about the line to the server.

const TYPES = ['agent_created', 'state_changed', 'turn_created', 'agent_updated', 'session_ended', 'hook_status', 'event'];
const FIRST = 400;
const LONGEST = 15000;
/** So many failed tries in a row mean: the server is not there. */
const GONE_AFTER = 4;

/**
 * Opens the stream and keeps it open. `on(type, data)` gets each message, `opened(again)` each new line,
 * `state(word, retryInMs)` what to show. The browser's own retry has a fixed pace and hides it, so the line is
 * opened anew here, with the id of the last message: the server replays what was missed.
 */
export function openStream({ on, opened, state }) {
  let source = null;
  let lastId = '';
  let failures = 0;
  let everOpen = false;
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
      opened(everOpen);
      everOpen = true;
    };
    mine.onerror = () => {
      if (source !== mine) return;
      mine.close();
      failures += 1;
      const wait = Math.min(LONGEST, FIRST * 2 ** (failures - 1)) * (0.8 + 0.4 * Math.random());
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
  document.addEventListener('visibilitychange', () => !document.hidden && failures && retryNow());

  // A laptop that slept has a line that looks open and is dead: a jump of the clock tells.
  let before = Date.now();
  setInterval(() => {
    const slept = Date.now() - before > 20000;
    before = Date.now();
    if (slept && Date.now() - heard > 20000) {
      state('reconnecting', 0);
      connect();
    }
  }, 5000);

  state('connecting');
  connect();
  return { retryNow };
}
