// Formatting of numbers and times.
import { h } from "preact";
import { signal } from "./signals.js";
import { useEffect } from "preact/hooks";

const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

const millis = (t) => (typeof t === "number" ? t : Date.parse(t));

// duration formats a number of milliseconds in the largest suitable unit: 3 min.
export function duration(ms) {
  const s = Math.round(Math.abs(ms) / 1000);
  for (const [name, size] of units) if (s >= size) return `${Math.floor(s / size)} ${name}`;
  return "0 s";
}

// ago formats a time relative to now: "now" for less than five seconds ago, else "3 min ago", or
// "in 3 min" for a future time. It accepts milliseconds or RFC 3339. For an invalid time it returns
// "".
export function ago(ts, now = Date.now()) {
  const t = millis(ts);
  if (!Number.isFinite(t)) return "";
  if (Math.abs(now - t) < 5000) return "now";
  return t < now ? `${duration(now - t)} ago` : `in ${duration(t - now)}`;
}

// until formats the time until a moment. It returns "" for a moment in the past.
export function until(ts, now = Date.now()) {
  const t = millis(ts);
  return Number.isFinite(t) && t > now ? duration(t - now) : "";
}

// moment formats a time in full, in the user's time zone and language.
export function moment(ts) {
  const t = millis(ts);
  return Number.isFinite(t) ? new Date(t).toLocaleString() : "";
}

// bytes formats a size: 512 B, 1.5 KiB.
export function bytes(n) {
  if (!Number.isFinite(n)) return "";
  let unit = "B";
  for (const next of ["KiB", "MiB", "GiB", "TiB"]) {
    if (Math.abs(n) < 1024) break;
    n /= 1024;
    unit = next;
  }
  return `${unit === "B" || n >= 100 ? Math.round(n) : Math.round(n * 10) / 10} ${unit}`;
}

// count formats a number with its noun: 1 file, 2 files.
export function count(n, one, more = `${one}s`) {
  return `${n.toLocaleString("en").replaceAll(",", "\u202f")} ${n === 1 ? one : more}`;
}

// All displayed times share one clock, which runs while any of them is visible
const clock = signal(Date.now());
let readers = 0;
let timer = 0;

function run() {
  clearInterval(timer);
  clock.value = Date.now();
  if (readers > 0 && !document.hidden) timer = setInterval(() => { clock.value = Date.now(); }, 1000);
}

// useClock returns the current time in milliseconds. It renders the component again every second.
export function useClock() {
  useEffect(() => {
    if (readers++ === 0) document.addEventListener("visibilitychange", run);
    run();
    return () => {
      if (--readers === 0) document.removeEventListener("visibilitychange", run);
      if (readers === 0) run();
    };
  }, []);
  return clock.value;
}

// Ago shows how long ago a time was and updates the text as time passes. Its title is the full time.
export function Ago({ ts, now }) {
  const t = useClock();
  if (!Number.isFinite(millis(ts))) return null;
  return h("time", { dateTime: new Date(millis(ts)).toISOString(), title: moment(ts) }, ago(ts, now ?? t));
}
