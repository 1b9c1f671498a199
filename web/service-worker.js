// Shows an honest page while the server is away. It keeps that one page and nothing else: no list that could be old.

const PAGE = '/assets/offline.html';
const KEPT = [PAGE, '/assets/offline.css', '/assets/offline.js'];

self.addEventListener('install', (event) => {
  const fresh = KEPT.map((path) => new Request(path, { cache: 'reload' }));
  event.waitUntil(caches.open('offline').then((cache) => cache.addAll(fresh)).then(() => self.skipWaiting()));
});
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  const { pathname } = new URL(event.request.url);
  const path = event.request.mode === 'navigate' ? PAGE : KEPT.find((kept) => kept === pathname);
  if (path) event.respondWith(fetch(event.request).catch(() => caches.match(path)));
});
