// How numbers and times are said.
import { h } from "preact";
import { signal } from "./signals.js";
import { useEffect } from "preact/hooks";

const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

const millis = (t) => (typeof t === "number" ? t : Date.parse(t));

// duration says so many milliseconds by their greatest unit: 3 min.
export function duration(ms) {
  const s = Math.round(Math.abs(ms) / 1000);
  for (const [name, size] of units) if (s >= size) return `${Math.floor(s / size)} ${name}`;
  return "0 s";
}

// ago says how long a time is past: "now" below five seconds, else "3 min ago"; a
// time to come is "in 3 min". It takes milliseconds or RFC 3339; what is no time is "".
export function ago(ts, now = Date.now()) {
  const t = millis(ts);
  if (!Number.isFinite(t)) return "";
  if (Math.abs(now - t) < 5000) return "now";
  return t < now ? `${duration(now - t)} ago` : `in ${duration(t - now)}`;
}

// until says how long there is until a time, "" when it is over.
export function until(ts, now = Date.now()) {
  const t = millis(ts);
  return Number.isFinite(t) && t > now ? duration(t - now) : "";
}

// moment says a time in full, in the reader's own zone and language.
export function moment(ts) {
  const t = millis(ts);
  return Number.isFinite(t) ? new Date(t).toLocaleString() : "";
}

// bytes says a size: 512 B, 1.5 KiB.
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

// count says a number with its noun: 1 file, 2 files.
export function count(n, one, more = `${one}s`) {
  return `${n.toLocaleString("en").replaceAll(",", "\u202f")} ${n === 1 ? one : more}`;
}

// The clock that all shown times share runs while there are any, and somebody sees
// them.
const clock = signal(Date.now());
let readers = 0;
let timer = 0;

function run() {
  clearInterval(timer);
  clock.value = Date.now();
  if (readers > 0 && !document.hidden) timer = setInterval(() => { clock.value = Date.now(); }, 1000);
}

// useClock gives the time in milliseconds, and draws again each second.
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

// Ago shows how long ago something was, and keeps it true; the time in full is its
// title.
export function Ago({ ts, now }) {
  const t = useClock();
  if (!Number.isFinite(millis(ts))) return null;
  return h("time", { dateTime: new Date(millis(ts)).toISOString(), title: moment(ts) }, ago(ts, now ?? t));
}
