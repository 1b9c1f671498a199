// Shows an honest page while the server is away. It keeps that one page and nothing else: no list that could be old.

const PAGE = '/assets/offline.html';
const SCRIPT = '/assets/offline.js';

self.addEventListener('install', (event) => {
  const fresh = (path) => new Request(path, { cache: 'reload' });
  event.waitUntil(caches.open('offline').then((cache) => cache.addAll([fresh(PAGE), fresh(SCRIPT)])).then(() => self.skipWaiting()));
});
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  if (event.request.mode === 'navigate') event.respondWith(fetch(event.request).catch(() => caches.match(PAGE)));
  else if (new URL(event.request.url).pathname === SCRIPT) event.respondWith(fetch(event.request).catch(() => caches.match(SCRIPT)));
});
