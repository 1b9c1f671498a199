// Shows an honest page while the server is away. It keeps that one page and nothing else: no list that could be old.

const PAGE = '/assets/offline.html';

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open('offline').then((cache) => cache.add(new Request(PAGE, { cache: 'reload' }))).then(() => self.skipWaiting()));
});
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  if (event.request.mode === 'navigate') event.respondWith(fetch(event.request).catch(() => caches.match(PAGE)));
});
