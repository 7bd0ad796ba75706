// The page without a network. A build is kept as a whole or not at all, and a window that was opened by
// one build gets everything from that build: a newer one waits until no window of the older is open.
// src/bin/finish/worker.rs fills in the list and the version after each build and takes the comments out.

// Every file of this build and its digest. Digests stand in one row: nothing can make them smaller, and what would stand
// between them need not be there. An empty list is that of a build which is being worked on.
const DIGEST = 43;
const [names = [], digests = ""] = [/* {{files}} */];
const FILES = new Map(names.map((name, at) => [name, digests.slice(at * DIGEST, (at + 1) * DIGEST)]));
// The digest of this worker and its list: it names the cache, so that no two builds share one.
const VERSION = "{{version}}";

// Caches belong to the whole origin, workers to a folder: the name of a cache says both.
const SCOPE = registration.scope;
const MINE = `bmax ${SCOPE} `;
const CACHE = MINE + VERSION;

// A page is asked for by the name under which most visits have it in the browser's own cache already.
const place = (name) => SCOPE + name.replace(/(^|\/)index\.html$/, "$1");

// What the browser has already will do, because the digest decides: a file of another build, or one that
// something on the way has changed, is refused.
const fetched = async (name, digest) => {
  const ask = (cache) => fetch(place(name), { cache, integrity: `sha256-${digest}=` });
  const response = await ask("force-cache").catch(() => ask("reload"));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  // A new response does not say that it was redirected, which browsers refuse for a page.
  return new Response(response.body, response);
};

const install = async () => {
  if (!FILES.size) return skipWaiting();
  const cache = await caches.open(CACHE);
  try {
    await Promise.all([...FILES].map(async ([name, digest]) => cache.put(place(name), await fetched(name, digest))));
  } catch (error) {
    await caches.delete(CACHE);
    throw error;
  }
};

const clearUp = async () => {
  const old = (await caches.keys()).filter((name) => name.startsWith(MINE) && name !== CACHE);
  // A still newer build that is on its way has its cache already, and will clear up after this one.
  if (!registration.installing && !registration.waiting) await Promise.all(old.map((name) => caches.delete(name)));
};

const activate = async () => {
  await clearUp();
  // Nobody who changes the page should look at an old one.
  if (!FILES.size) await registration.unregister();
};

const answer = async (request, name) => {
  const cache = await caches.open(CACHE);
  // Browsers may clear their caches, all of one origin together; then the network has the page.
  return (await cache.match(place(name))) ?? fetch(request);
};

addEventListener("install", (event) => event.waitUntil(install()));
addEventListener("activate", (event) => event.waitUntil(activate()));
addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  // The query is the configuration, which the page reads by itself.
  const path = address.origin + address.pathname;
  if (request.method !== "GET" || !path.startsWith(SCOPE)) return;
  const name = path.slice(SCOPE.length).replace(/(^|\/)$/, "$1index.html");
  if (FILES.has(name)) event.respondWith(answer(request, name));
  // Firefox may put a worker in charge without telling it, so that nothing was cleared up then.
  if (request.mode === "navigate") event.waitUntil(clearUp());
});
