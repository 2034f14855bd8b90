// The clocks of devices differ. The page shows times of the server's clock; hosts report times of
// their own clocks.
import { signal } from "./signals.js";

// differsAt is the difference from which the page shows a warning, in ms.
const differsAt = 30_000;

// clockMs is the server's clock minus this device's, in ms.
export const clockMs = signal(0);

// clockDiffers reports whether the page should warn about the difference.
export function clockDiffers() { return Math.abs(clockMs.value) > differsAt; }

// recordServerTime records the server's time (RFC 3339) from the response to a request sent at
// `sentAt` by this device's clock.
export function recordServerTime(ts, sentAt) {
  const server = Date.parse(ts);
  if (Number.isNaN(server)) return;
  const off = Math.round(server - (sentAt + Date.now()) / 2);
  // A difference below a second is network delay.
  if (Math.abs(off - clockMs.peek()) > 1000) clockMs.value = Math.abs(off) < 1000 ? 0 : off;
}

// now returns the server's time in ms.
export function now() { return Date.now() + clockMs.peek(); }

const hosts = new Map(); // a host's clock minus the server's, in ms

// recordHostTime records a host's time for the server's time `when` (now, for an event that was
// just sent).
export function recordHostTime(host, ts, when = now()) {
  const at = Date.parse(ts);
  if (host && !Number.isNaN(at) && !Number.isNaN(when)) hosts.set(host, at - when);
}

// hostClock returns a host's clock minus the server's in ms, or null if unknown.
export const hostClock = (host) => hosts.get(host) ?? null;

// byHost converts a host's time (RFC 3339) to ms of the server's clock, or returns null.
export function byHost(host, ts) {
  const at = ts ? Date.parse(ts) : NaN;
  if (Number.isNaN(at)) return null;
  const off = hosts.get(host) || 0;
  return Math.abs(off) < 2000 ? at : at - off; // a few seconds are network delay
}
