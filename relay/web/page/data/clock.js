// Clocks differ. Times are shown on the server's; what a host says of time is on its own.
import { signal } from "./signals.js";

// differsAt is from when on a person is told that the clocks differ.
const differsAt = 30_000;

// clockMs is the server's clock minus this device's, in ms.
export const clockMs = signal(0);

// clockDiffers says whether that is worth a word.
export function clockDiffers() { return Math.abs(clockMs.value) > differsAt; }

// heard notes the server's time (RFC 3339) in an answer to what was asked at `asked`, by this clock.
export function heard(ts, asked) {
  const server = Date.parse(ts);
  if (Number.isNaN(server)) return;
  const off = Math.round(server - (asked + Date.now()) / 2);
  // Below a second it is the way of the answer.
  if (Math.abs(off - clockMs.peek()) > 1000) clockMs.value = Math.abs(off) < 1000 ? 0 : off;
}

// now is the server's time in ms.
export function now() { return Date.now() + clockMs.peek(); }

const hosts = new Map(); // a host's clock minus the server's, in ms

// heardOfHost notes what time it was at a host when the server's was `when` (now, of an event that it has
// just sent).
export function heardOfHost(host, ts, when = now()) {
  const at = Date.parse(ts);
  if (host && !Number.isNaN(at) && !Number.isNaN(when)) hosts.set(host, at - when);
}

// hostClock is a host's clock minus the server's, in ms; null while nothing was heard of it.
export const hostClock = (host) => hosts.get(host) ?? null;

// byHost is a host's time (RFC 3339) in ms of the server's clock; null when there is none.
export function byHost(host, ts) {
  const at = ts ? Date.parse(ts) : NaN;
  if (Number.isNaN(at)) return null;
  const off = hosts.get(host) || 0;
  return Math.abs(off) < 2000 ? at : at - off; // seconds are the way of an event
}
