// Messages and locks between the tabs of one browser.
import { uuid } from "./ids.js";

// tab is the id of this tab while it is open.
export const tab = uuid();

const stealAfter = 5_000; // ms; a frozen tab retains its locks

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

// alone runs fn while no other tab runs it. Without locks, or if the holder hangs, tabs may run it
// at the same time; ids make that harmless.
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

// whenClosed calls fn when a tab is closed, or now if it is.
export function whenClosed(id, fn) {
  if (id === tab) return;
  if (navigator.locks) navigator.locks.request("concerto-tab-" + id, fn).catch(() => {});
  else fn();
}
