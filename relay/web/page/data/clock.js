// The clocks of devices differ. The page shows times of the server's clock. Machines report times of
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

const machines = new Map(); // by machine: the machine's time minus the server's time, in ms

// recordMachineTime records the time of a machine for the server's time `when`. By default `when` is now,
// which is right for an event that the machine has just sent.
export function recordMachineTime(machine, ts, when = now()) {
  const at = Date.parse(ts);
  if (machine && !Number.isNaN(at) && !Number.isNaN(when)) machines.set(machine, at - when);
}

// machineClock returns a machine's time minus the server's time in ms, or null if the machine's clock is
// unknown.
export const machineClock = (machine) => machines.get(machine) ?? null;

// byMachine converts a machine's time (RFC 3339) to ms of the server's clock. It returns null if ts is
// not a time.
export function byMachine(machine, ts) {
  const at = ts ? Date.parse(ts) : NaN;
  if (Number.isNaN(at)) return null;
  const off = machines.get(machine) || 0;
  return Math.abs(off) < 2000 ? at : at - off; // a difference of up to two seconds is network delay
}
