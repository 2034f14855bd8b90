// The clocks of devices differ. The page shows times of the server's clock. Hosts report times of
// their own clocks, which this module converts.
import { signal } from "./signals.js";

// differsAt is the minimum difference in ms for which the page shows a warning.
const differsAt = 30_000;

// clockMs is the server's time minus this device's time, in ms.
export const clockMs = signal(0);

// clockDiffers reports whether the page should warn about the difference.
export function clockDiffers() { return Math.abs(clockMs.value) > differsAt; }

// recordServerTime records the server's time (RFC 3339) from a response. sentAt is the time of this
// device at which the request was sent.
export function recordServerTime(ts, sentAt) {
  const server = Date.parse(ts);
  if (Number.isNaN(server)) return;
  const off = Math.round(server - (sentAt + Date.now()) / 2);
  // A difference below a second is network delay.
  if (Math.abs(off - clockMs.peek()) > 1000) clockMs.value = Math.abs(off) < 1000 ? 0 : off;
}

// now returns the server's time in ms.
export function now() { return Date.now() + clockMs.peek(); }

const hosts = new Map(); // by host: the host's time minus the server's time, in ms

// recordHostTime records the time of a host for the server's time `when`. By default `when` is now,
// which is right for an event that the host has just sent.
export function recordHostTime(host, ts, when = now()) {
  const at = Date.parse(ts);
  if (host && !Number.isNaN(at) && !Number.isNaN(when)) hosts.set(host, at - when);
}

// hostClock returns a host's time minus the server's time in ms, or null if the host's clock is
// unknown.
export const hostClock = (host) => hosts.get(host) ?? null;

// byHost converts a host's time (RFC 3339) to ms of the server's clock. It returns null if ts is
// not a time.
export function byHost(host, ts) {
  const at = ts ? Date.parse(ts) : NaN;
  if (Number.isNaN(at)) return null;
  const off = hosts.get(host) || 0;
  return Math.abs(off) < 2000 ? at : at - off; // a difference of up to two seconds is network delay
}
