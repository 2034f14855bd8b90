// Messages and locks between the tabs of one browser.
import { uuid } from "./ids.js";

// tab is the ID of this tab. Its lock is held while the tab is open.
export const tab = uuid();

const stealAfter = 5_000; // in ms; a frozen tab retains its locks

let channel = null;
const listeners = new Set();

// openTabs starts to receive messages of other tabs. A lock shows that this tab is open.
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

// broadcast sends an object with a kind to the other tabs.
export function broadcast(message) { channel?.postMessage(message); }

// onTabMessage calls fn for messages of other tabs.
export function onTabMessage(fn) {
  listeners.add(fn);
  return () => listeners.delete(fn);
}

// alone runs fn while no other tab runs it. If the browser has no locks, or the tab that holds the
// lock hangs, several tabs may run fn at the same time. That is harmless because every message has
// an ID.
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

// whenClosed calls fn when the tab with this ID is closed. If it is already closed, it calls fn at
// once.
export function whenClosed(id, fn) {
  if (id === tab) return;
  if (navigator.locks) navigator.locks.request("concerto-tab-" + id, fn).catch(() => {});
  else fn();
}
