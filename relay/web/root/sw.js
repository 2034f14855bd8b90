// The page's service worker. It caches the files of the page, so that the page opens without a
// connection, and shows push messages. It never caches responses of the API.
//
// The worker caches either all files of a build or none. The server writes the list of the files
// into this script, so each build has a worker of its own. A new worker replaces the old one when
// no tab shows the old build, or when the user accepts the new version.
const root = new URL(".", self.location).pathname;
const at = (path) => root + path.slice(1);
const build = at("/assets/BUILD/");
const name = "concerto-page " + build;
const files = /*assets*/[].map(at);
const fixed = ["/", "/manifest.webmanifest", "/icon.svg", "/icon-192.png"].map(at);
// late reports whether a file is cached when the page first loads it, and not at installation.
const late = (path) => path === build + "joined/xterm.js" || path.endsWith("/LICENSE");

self.addEventListener("install", (e) => {
  e.waitUntil(cacheBuild());
  // If the browser supports routes, requests to the API bypass the worker. Without a route, they
  // would keep an old worker running that a new one should replace.
  e.addRoutes?.({ condition: { requestMode: "same-origin" }, source: "network" });
});

async function cacheBuild() {
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
  else if (fixed.includes(url.pathname)) e.respondWith(cachedFile(e.request, url.pathname));
});

// cachedFile returns the version of a file that belongs to this worker's build, or requests the file
// if the cache does not contain it.
async function cachedFile(request, path) {
  return (await (await caches.open(name)).match(path, { ignoreVary: true })) || fetch(request);
}

async function asset(request) {
  const cache = await caches.open(name);
  const cached = await cache.match(request, { ignoreVary: true });
  if (cached) return cached;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

/*script notice=page/data/notice.js*/
const { textOf } = notice;

// A push message is {title, run_id, request_id, summary, host_id}. In a message about the end of a
// run, request_id is "". A message with withdrawn: true closes the notification with the same run_id
// and request_id. Package relay/server/push sends the messages. In a message about a run of an
// account, sealed: {type, epoch, device, ct} has the texts, which only a device of the account can
// read (package relay/seal).
self.addEventListener("push", (e) => {
  let note;
  try { note = e.data.json(); } catch { return; } // the server sends only JSON
  e.waitUntil(note.withdrawn ? close(note) : show(note));
});

const tagOf = (note) => `${note.run_id}/${note.request_id || ""}`;
const shownFor = (note) => self.registration.getNotifications({ tag: tagOf(note) });

// isKept reports whether a message may not replace or close a notification, because the machine has
// sealed that and not the message.
const isKept = ({ data }, note, text) => !!data?.host_id && (!text.mine || data.host_id !== note.host_id);

async function show(note) {
  const text = await textOf(note), { run_id, request_id, host_id } = note;
  if ((await shownFor(note)).some((n) => isKept(n, note, text))) return;
  await self.registration.showNotification(text.title || "Concerto", {
    body: text.summary || "", tag: tagOf(note), icon: at("/icon-192.png"), badge: at("/icon-192.png"), data: { run_id, request_id, host_id: text.mine && host_id },
  });
}

async function close(note) {
  const text = await textOf(note);
  for (const n of await shownFor(note)) if (!isKept(n, note, text)) n.close();
}

self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  e.waitUntil(openRun(e.notification.data || {}));
});

// openRun shows the run and its request, in an open tab or a new one.
async function openRun(note) {
  const tabs = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const tab = tabs.find((t) => t.visibilityState === "visible") || tabs[0];
  if (!tab) return self.clients.openWindow(root + "#/runs/" + encodeURIComponent(note.run_id) + (note.request_id ? "?request=" + encodeURIComponent(note.request_id) : ""));
  await tab.focus().catch(() => {}); // some browsers do not permit focus
  tab.postMessage({ kind: "open", run_id: note.run_id, request_id: note.request_id });
}
