// One stream for all pages of this browser: HTTP/1.1 gives a browser six connections, and a stream takes one for good.
// The pages talk to it through ports: `watch`, `leave`, `retry`.

import { openStream } from './stream.js';

const ports = new Set();
let stream = null;
let last = { state: ['connecting'] };

function tell(message) {
  for (const port of ports) port.postMessage(message);
}

const hearing = {
  on: (type, data) => tell({ type, data }),
  opened: () => tell({ opened: true }),
  state(...state) {
    last = { state };
    tell(last);
  },
};

/** No page watches: the server need not send anything. */
function closeIfUnwatched() {
  if (ports.size || !stream) return;
  stream.close();
  stream = null;
  last = { state: ['connecting'] };
}

function drop(port) {
  ports.delete(port);
  closeIfUnwatched();
}

self.onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data: { verb, lock } }) => {
    if (verb === 'watch') {
      ports.add(port);
      port.postMessage(last);
      // A page that comes while the stream is open loads the list by itself.
      if (stream && last.state[0] === 'live') port.postMessage({ opened: true });
      stream ??= openStream(hearing);
    } else if (verb === 'leave') drop(port);
    else if (verb === 'retry') stream?.retryNow();
    // A page holds its lock for as long as it lives. One that crashed or was closed at once has said nothing.
    else if (verb === 'alive') navigator.locks.request(lock, () => drop(port));
  };
};
