// Tabs of one browser: what one does the others hear, and what only one may do.
import { uuid } from "./ids.js";

// tab is this tab's id, for as long as it lives.
export const tab = uuid();

const stealAfter = 5_000; // ms: a tab that is frozen holds its locks

let channel = null;
const listeners = new Set();

// openTabs begins to hear the others. A lock of the tab's own says that it is alive.
export function openTabs() {
  if (channel || typeof BroadcastChannel === "undefined") return;
  channel = new BroadcastChannel("concerto");
  channel.onmessage = (e) => { for (const fn of [...listeners]) fn(e.data); };
  navigator.locks?.request("concerto-tab-" + tab, () => new Promise(() => {})).catch(() => {});
}

export function closeTabs() {
  channel?.close();
  channel = null;
  listeners.clear();
}

// tell says something to the other tabs: an object with a kind.
export function tell(message) { channel?.postMessage(message); }

// onTold hears what other tabs say.
export function onTold(fn) {
  listeners.add(fn);
  return () => listeners.delete(fn);
}

// alone does something while no other tab does the same. Where there are no locks, or their holder
// does not get on, tabs may do it at once: ids keep that harmless.
export async function alone(name, fn) {
  const locks = navigator.locks;
  if (!locks) return fn();
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), stealAfter);
  let began = false;
  const run = () => { began = true; clearTimeout(timer); return fn(); };
  try {
    return await locks.request(name, { signal: stop.signal }, run);
  } catch (err) {
    if (began || err?.name !== "AbortError") throw err;
    return locks.request(name, { steal: true }, fn);
  } finally {
    clearTimeout(timer);
  }
}

// whenGone calls fn once a tab is not there any more, which may be now.
export function whenGone(id, fn) {
  if (id === tab) return;
  if (navigator.locks) navigator.locks.request("concerto-tab-" + id, fn).catch(() => {});
  else fn();
}
