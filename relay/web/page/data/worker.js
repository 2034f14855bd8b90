// The page's side of its service worker (root/sw.js).
import { signal } from "./signals.js";

const lookEach = 3600_000; // interval in ms between checks for a new version

// update is true while a new version waits to take over.
export const update = signal(false);

let waiting = null;
let accepted = false;
let timer = 0;
const openers = new Set();

const workers = () => globalThis.navigator?.serviceWorker;

// onOpen calls fn(run_id, request_id) when a notification is clicked.
export function onOpen(fn) {
  openers.add(fn);
  return () => openers.delete(fn);
}

// register installs the service worker, so that the browser caches the page. Without a secure
// connection (plain http to another machine) that is not possible, and nothing is cached.
export async function register() {
  const all = workers();
  if (!all || globalThis.concertoModules) return; // a page in one file has no worker
  listen(all);
  try {
    const registration = await all.register("sw.js");
    watch(registration);
    clearInterval(timer);
    timer = setInterval(() => registration.update().catch(() => {}), lookEach);
  } catch (err) {
    console.info("this browser does not cache the page:", err.message);
  }
}

let listening = false;

function listen(all) {
  if (listening) return;
  listening = true;
  all.addEventListener("message", (e) => { if (e.data?.kind === "open") for (const fn of openers) fn(e.data.run_id, e.data.request_id); });
  all.addEventListener("controllerchange", () => { if (accepted || update.peek()) location.reload(); }); // all files of the page must belong to one build
}

function watch(registration) {
  const waits = () => {
    if (!registration.waiting || !workers().controller) return;
    waiting = registration.waiting;
    update.value = true;
  };
  waits();
  registration.addEventListener("updatefound", () => registration.installing?.addEventListener("statechange", waits));
}

// applyUpdate makes the new version take over. All tabs reload.
export function applyUpdate() {
  accepted = true;
  waiting?.postMessage("take over");
}

// forgetWorker removes the service worker and the cached page from the browser.
export async function forgetWorker() {
  clearInterval(timer);
  const registration = await workers()?.getRegistration();
  for (const n of (await registration?.getNotifications?.()) || []) n.close();
  for (const key of (await globalThis.caches?.keys()) || []) if (key.startsWith("concerto-page ")) await caches.delete(key);
  await registration?.unregister();
}
