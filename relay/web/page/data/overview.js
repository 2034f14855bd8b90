// The overview: all runs and their open requests, as they are by what the server has said (putRow,
// putInbox) and by every event after that (take). An event counts when its seq is beyond what its run's
// row knows. store.js asks the server.
import { byHost, heardOfHost, now } from "./clock.js";
import { asRequest, ending, keyOf, newRow, rowAfter, withdrawnByExit } from "./derive.js";
import { signal } from "./signals.js";

const mostRuns = 1000; // that are held; of those that have ended the oldest go
const settledFor = 10 * 60_000; // ms

const rows = new Map(); // by id
const open = new Map(); // requests by key, oldest first
const over = new Map();
const signals = new Map(); // a signal of one row, by id
let dirty = false;

// The signals that screens read; they change once a slice.
export const runs = signal([]);
export const requests = signal([]);
export const settled = signal([]);
export const newRequest = signal(null);

let lookUp = () => {};

// onUnknown is given the ids of runs of which something is to be known, and nothing is.
export function onUnknown(fn) { lookUp = fn; }

const hearers = new Set();

// onEvent hears every event of the overview, once and in order of its run, and what is over: fn(e,
// ended), ended being {request_id, decision, …} or null.
export function onEvent(fn) {
  hearers.add(fn);
  return () => hearers.delete(fn);
}

// putInbox notes the first runs and the requests of all, as the server lists them, and announces those
// that have come while nobody listened. It gives those of which it is known that they are over, and not what
// became of them: the rows may be ahead of the event that says it.
export function putInbox(list, inbox, announce) {
  const before = new Map(open);
  for (const row of list) putRow(row);
  open.clear();
  for (const q of inbox) {
    const fresh = adopt(q, before);
    if (fresh && announce) newRequest.value = open.get(keyOf(q.run_id, q.request_id));
  }
  for (const q of before.values()) if (!open.has(q.key)) over.set(q.key, ended(q, { decision: "answered" }));
  dirty = true;
  return [...over.values()].filter((q) => q.resolution.decision === "answered");
}

const ended = (q, resolution) => ({ ...q, state: "resolved", resolution, closed: Date.now(), closed_at: new Date(byHost(q.host_id, resolution.ts) ?? now()).toISOString() });

// late takes an event that is known to be, and was not heard.
export function late(e) {
  end(e);
  dirty = true;
}

// putRow notes what the server says of a run and its requests, unless more is known. What is open was
// read after the row: events behind the row's seq may say it once more.
export function putRow(row) {
  const was = rows.get(row.id);
  if (was && was.last_seq > row.last_seq) return;
  const { pending, ...rest } = row;
  rows.set(row.id, { ...rest, meta: rest.meta || {}, waits: rest.status === "awaiting_input" });
  const before = new Map([...open].filter(([, q]) => q.run_id === row.id));
  for (const key of before.keys()) open.delete(key);
  for (const q of pending || []) adopt({ ...q, host_id: row.host_id }, before);
  dirty = true;
}

// adopt takes a request as the server lists it, which does not say when it came.
function adopt(q, before) {
  const request = asRequest(q, rows.get(q.run_id));
  const was = before.get(request.key);
  if (was?.seq === request.seq) request.ts = was.ts;
  open.set(request.key, request);
  return !was;
}

// progress notes that a run goes on, of which no output is told; it gives whether that is news.
export function progress(e) {
  const row = rows.get(e.run_id);
  if (!row || row.last_seq >= e.data.seq) return false;
  rows.set(row.id, { ...row, last_seq: e.data.seq, last_active_at: new Date(now()).toISOString(), status: row.status === "lost" ? "running" : row.status });
  dirty = true;
  return true;
}

// take takes an event.
export function take(e) {
  let row = rows.get(e.run_id);
  if (row && e.seq <= row.last_seq) return;
  if (!row && e.type === "run.started") rows.set(e.run_id, row = newRow(e.run_id, e.host_id));
  if (!row) lookUp(e.run_id);
  heardOfHost(e.host_id, e.ts);
  const said = end(e);
  if (e.type === "run.permission_requested") ask(e, row);
  if (row) rows.set(row.id, rowAfter(row, e, openOf(row.id)));
  dirty = true;
  for (const fn of hearers) fn(e, said);
}

function openOf(run) {
  let n = 0;
  for (const q of open.values()) if (q.run_id === run) n++;
  return n;
}

function ask(e, row) {
  const id = e.data?.request_id;
  const key = keyOf(e.run_id, id);
  if (!id || open.has(key) || over.has(key) || row?.status === "exited") return; // an id is asked once
  const request = asRequest({ ...e.data, run_id: e.run_id, host_id: e.host_id, seq: e.seq, ts: e.ts }, row);
  open.set(key, request);
  newRequest.value = request;
}

// end notes the requests that an event ends, and gives what it says of one.
function end(e) {
  if (e.type === "run.exited") {
    for (const [key, q] of open) if (q.run_id === e.run_id) close(key, withdrawnByExit(e));
    return null;
  }
  const said = ending(e);
  if (said) close(keyOf(e.run_id, said.request_id), said);
  return said;
}

function close(key, resolution) {
  const q = open.get(key) || (over.get(key)?.resolution.decision === "answered" ? over.get(key) : null);
  if (!q) return;
  open.delete(key);
  over.set(key, ended(q, resolution));
}

// publish changes the signals.
export function publish() {
  if (!dirty) return false;
  dirty = false;
  trim();
  const all = [...rows.values()].sort(newestFirst);
  runs.value = all.map(withPending);
  requests.value = [...open.values()].map(timed);
  settled.value = [...over.values()].reverse();
  for (const [id, s] of signals) s.value = rowOf(id);
  return true;
}

// timed has a request's expiry by what is known now of its host's clock.
function timed(q) {
  const at = byHost(q.host_id, q.expires_at);
  if (at === q.expires_ms) return q;
  const again = { ...q, expires_ms: at };
  open.set(q.key, again);
  return again;
}

function trim() {
  for (const [key, q] of over) if (Date.now() - q.closed > settledFor) over.delete(key);
  if (rows.size <= mostRuns) return;
  const ended = [...rows.values()].filter((r) => r.status === "exited").sort(newestFirst);
  for (const r of ended.slice(mostRuns - rows.size)) rows.delete(r.id);
}

function newestFirst(a, b) {
  const [x, y] = [a.last_active_at || "", b.last_active_at || ""];
  return x === y ? (a.id < b.id ? 1 : -1) : x < y ? 1 : -1;
}

const rowsWithPending = new WeakMap(); // so that what has not changed is the same object

function withPending(row) {
  if (row.status !== "awaiting_approval" && row.status !== "lost") {
    if (!rowsWithPending.has(row)) rowsWithPending.set(row, { ...row, pending: [] });
    return rowsWithPending.get(row);
  }
  return { ...row, pending: [...open.values()].filter((q) => q.run_id === row.id) };
}

function rowOf(id) {
  const row = rows.get(id);
  return row ? withPending(row) : null;
}

// run is a signal of one run's row; null while it is not known.
export function run(id) {
  if (!signals.has(id)) {
    signals.set(id, signal(rowOf(id)));
    if (!rows.has(id)) lookUp(id);
  }
  return signals.get(id);
}

// touch has everything told anew: what is known of clocks has changed.
export function touch() { dirty = true; }

// putKept shows what was kept of an overview.
export function putKept(kept) {
  for (const { pending, ...row } of kept.rows) rows.set(row.id, row);
  for (const q of kept.requests) open.set(q.key, q);
  dirty = true;
}

// clear forgets it.
export function clear() {
  for (const m of [rows, open, over]) m.clear();
  newRequest.value = null;
  dirty = true;
}
