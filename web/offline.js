// The page that is shown without a server: it comes back by itself. A page that reloads every few seconds whatever happens
// would make a screen reader lose its place.

const LOOK_EVERY = 5000;

setInterval(async () => {
  const there = await fetch('/health', { cache: 'no-store' }).then((answer) => answer.ok, () => false);
  // Opened by its own address there is nothing to go back to.
  if (there && location.pathname !== '/assets/offline.html') location.reload();
}, LOOK_EVERY);
