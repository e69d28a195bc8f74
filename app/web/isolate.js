// A service worker. It adds the two headers that threads need, which most static hosts cannot send, and keeps what was fetched last, so that
// the page opens without a network.
const kept = 'attnscope';

async function isolated(response) {
  const headers = new Headers(response.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
  return new Response(response.body, {status: response.status, statusText: response.statusText, headers});
}

async function answer(request) {
  const cache = await caches.open(kept);
  try {
    const response = await fetch(request);
    if (response.ok) cache.put(request, response.clone());
    return isolated(response);
  } catch (offline) {
    const found = await cache.match(request, {ignoreSearch: true});
    if (!found) throw offline;
    return isolated(found);
  }
}

addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => {
  const own = event.request.method === 'GET' && new URL(event.request.url).origin === location.origin;
  if (own) event.respondWith(answer(event.request));
});
