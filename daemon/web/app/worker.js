// SPDX-License-Identifier: Apache-2.0
// Why: the page as an app opens where the device does not answer, too, and says so. Only its own files are kept, never what it
// shows: that is always asked for.
const version = new URL(self.location).searchParams.get("v");
const shelf = `kinglet-${version}`;

async function begin() {
  await (await caches.open(shelf)).add("/");
  await self.skipWaiting();
}

async function takeOver() {
  for (const name of await caches.keys()) if (name !== shelf) await caches.delete(name);
  await self.clients.claim();
}

async function page(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match("/");
    if (kept) return kept;
    throw error;
  }
}

async function file(request) {
  const kept = await caches.match(request);
  if (kept) return kept;
  const found = await fetch(request);
  if (found.ok) await (await caches.open(shelf)).put(request, found.clone());
  return found;
}

self.addEventListener("install", (event) => event.waitUntil(begin()));
self.addEventListener("activate", (event) => event.waitUntil(takeOver()));
self.addEventListener("fetch", (event) => {
  const {pathname, searchParams} = new URL(event.request.url);
  if (event.request.mode === "navigate" && pathname === "/") event.respondWith(page(event.request));
  else if (pathname.startsWith("/web/") && searchParams.get("v") === version) event.respondWith(file(event.request));
});
