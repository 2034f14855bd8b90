// The page's service worker. It keeps the page itself, so that it opens without a connection, and shows
// what is pushed. What the API says it never keeps.
//
// A build is kept whole or not at all: this file names its files, so that another build is another
// worker, which takes over when no tab shows the old page any more, or a person wants that.
const build = "/assets/BUILD/";
const name = "concerto-page " + build;
const files = /*assets*/[];
const fixed = ["/", "/manifest.webmanifest", "/icon.svg", "/icon-192.png"];
// What is loaded when it is needed is kept then.
const late = (path) => path === build + "joined/xterm.js" || path.endsWith("/LICENSE");

self.addEventListener("install", (e) => {
  e.waitUntil(keep());
  // What the page asks the API does not come by here, where the browser can do that: else it wakes an older
  // worker that is to go, for a newer one, and that stays.
  e.addRoutes?.({ condition: { requestMode: "same-origin" }, source: "network" });
});

async function keep() {
  const cache = await caches.open(name);
  const all = [...fixed, ...files.filter((path) => !late(path))];
  await cache.addAll(all.map((path) => new Request(path, { cache: path.startsWith(build) ? "default" : "reload" })));
}

self.addEventListener("activate", (e) => e.waitUntil(begin()));

async function begin() {
  for (const key of await caches.keys()) if (key.startsWith("concerto-page ") && key !== name) await caches.delete(key);
  await self.clients.claim();
}

self.addEventListener("message", (e) => {
  if (e.data === "take over") self.skipWaiting();
});

self.addEventListener("fetch", (e) => {
  const url = new URL(e.request.url);
  if (e.request.method !== "GET" || url.origin !== self.location.origin) return;
  if (url.pathname.startsWith(build)) e.respondWith(asset(e.request));
  else if (fixed.includes(url.pathname)) e.respondWith(kept(e.request, url.pathname));
});

// kept gives a file of the page as it was when this worker was installed: it fits the others.
async function kept(request, path) {
  return (await (await caches.open(name)).match(path, { ignoreVary: true })) || fetch(request);
}

async function asset(request) {
  const cache = await caches.open(name);
  const had = await cache.match(request, { ignoreVary: true });
  if (had) return had;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

// What is pushed is {title, run_id, request_id, summary}, request_id being "" when a run has ended, or the
// same with withdrawn: true, which closes what was shown (relay/server/push).
self.addEventListener("push", (e) => {
  let said;
  try { said = e.data.json(); } catch { return; } // the server pushes JSON alone
  e.waitUntil(said.withdrawn ? close(said) : show(said));
});

const tagOf = (said) => `${said.run_id}/${said.request_id || ""}`;

function show(said) {
  return self.registration.showNotification(said.title || "Concerto", {
    body: said.summary || "", tag: tagOf(said), icon: "/icon-192.png", badge: "/icon-192.png", data: { run_id: said.run_id, request_id: said.request_id },
  });
}

async function close(said) {
  for (const n of await self.registration.getNotifications({ tag: tagOf(said) })) n.close();
}

self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  e.waitUntil(look(e.notification.data || {}));
});

// look shows the run, and there what it asks: in a tab that is there, else in a new one.
async function look(said) {
  const tabs = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const tab = tabs.find((t) => t.visibilityState === "visible") || tabs[0];
  if (!tab) return self.clients.openWindow("/#/runs/" + encodeURIComponent(said.run_id) + (said.request_id ? "?request=" + encodeURIComponent(said.request_id) : ""));
  await tab.focus().catch(() => {}); // where the browser does not let it
  tab.postMessage({ kind: "open", run_id: said.run_id, request_id: said.request_id });
}
