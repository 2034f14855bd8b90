// The overview: all runs and their open requests. The data comes from the server's lists (putRow,
// putInbox) and from all later events (handleEvent). An event is applied if its sequence number is
// greater than that of its run's row. store.js loads the lists.
import { byMachine, now, recordMachineTime } from "./clock.js";
import { asRequest, ending, keyOf, newRow, rowAfter, withdrawnByExit } from "./derive.js";
import { signal } from "./signals.js";

const mostRuns = 1000; // maximum number of runs in memory; the oldest ended runs are dropped
const settledFor = 10 * 60_000; // time in ms for which a closed request is shown

const rows = new Map(); // by run ID
const open = new Map(); // by key, oldest first
const closed = new Map();
const signals = new Map(); // signals of single rows, by run ID
let dirty = false;

// Signals for screens. They change at most once in each slice of the queue.
export const runs = signal([]);
export const requests = signal([]);
export const settled = signal([]);
export const newRequest = signal(null);

let lookUp = () => {};

// onUnknown sets the function that loads runs which are not in memory. The function receives the
// IDs of the runs.
export function onUnknown(fn) { lookUp = fn; }

const listeners = new Set();

// onEvent calls fn(e, ended) once for every event of the overview, in the order of the events of
// its run. ended is {request_id, decision, …} or null.
export function onEvent(fn) {
  listeners.add(fn);
  return () => listeners.delete(fn);
}

// putInbox stores the first runs and all open requests from the server's lists, and announces
// requests that opened while the page was not connected. It returns the requests that are closed
// with an unknown outcome: rows may be ahead of the event that reports it.
export function putInbox(list, inbox, announce) {
  const before = new Map(open);
  for (const row of list) putRow(row);
  open.clear();
  for (const q of inbox) {
    const fresh = adopt(q, before);
    if (fresh && announce) newRequest.value = open.get(keyOf(q.run_id, q.request_id));
  }
  for (const q of before.values()) if (!open.has(q.key)) closed.set(q.key, ended(q, { decision: "answered" }));
  dirty = true;
  return [...closed.values()].filter((q) => q.resolution.decision === "answered");
}

const ended = (q, resolution) => ({ ...q, state: "resolved", resolution, closed_ms: Date.now(), closed_at: new Date(byMachine(q.host_id, resolution.ts) ?? now()).toISOString() });

// late handles an event that the page missed.
export function late(e) {
  const outcome = end(e);
  dirty = true;
  for (const fn of listeners) fn(e, outcome);
}

// putRow stores a run and its requests from the server, unless newer data is stored. The server
// reads the open requests after the row, so that later events may report the same requests.
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

// adopt stores a request from the server's list. The list does not contain the time of the request.
function adopt(q, before) {
  const request = asRequest(q, rows.get(q.run_id));
  const was = before.get(request.key);
  if (was?.seq === request.seq) request.ts = was.ts;
  open.set(request.key, request);
  return !was;
}

// progress records that a run is active, although its output is not transmitted. It reports whether
// the row changed.
export function progress(e) {
  const row = rows.get(e.run_id);
  if (!row || row.last_seq >= e.data.seq) return false;
  rows.set(row.id, { ...row, last_seq: e.data.seq, last_active_at: new Date(now()).toISOString(), status: row.status === "lost" ? "running" : row.status });
  dirty = true;
  return true;
}

// handleEvent handles an event.
export function handleEvent(e) {
  let row = rows.get(e.run_id);
  if (row && e.seq <= row.last_seq) return;
  if (!row && e.type === "run.started") rows.set(e.run_id, row = newRow(e.run_id, e.host_id));
  if (!row) lookUp(e.run_id);
  recordMachineTime(e.host_id, e.ts);
  const outcome = end(e);
  if (e.type === "run.permission_requested") ask(e, row);
  if (row) rows.set(row.id, rowAfter(row, e, openOf(row.id)));
  dirty = true;
  for (const fn of listeners) fn(e, outcome);
}

function openOf(run) {
  let n = 0;
  for (const q of open.values()) if (q.run_id === run) n++;
  return n;
}

function ask(e, row) {
  const id = e.data?.request_id;
  const key = keyOf(e.run_id, id);
  if (!id || open.has(key) || closed.has(key) || row?.status === "exited") return; // a run uses each request ID only once
  const request = asRequest({ ...e.data, run_id: e.run_id, host_id: e.host_id, seq: e.seq, ts: e.ts }, row);
  open.set(key, request);
  newRequest.value = request;
}

// end closes the requests that an event closes, and returns an outcome.
function end(e) {
  if (e.type === "run.exited") {
    for (const [key, q] of open) if (q.run_id === e.run_id) close(key, withdrawnByExit(e));
    return null;
  }
  const outcome = ending(e);
  if (outcome) close(keyOf(e.run_id, outcome.request_id), outcome);
  return outcome;
}

function close(key, resolution) {
  const q = open.get(key) || (closed.get(key)?.resolution.decision === "answered" ? closed.get(key) : null);
  if (!q) return;
  open.delete(key);
  closed.set(key, ended(q, resolution));
}

// publish updates the signals.
export function publish() {
  if (!dirty) return false;
  dirty = false;
  trim();
  const all = [...rows.values()].sort(newestFirst);
  runs.value = all.map(withPending);
  requests.value = [...open.values()].map(withExpiry);
  settled.value = [...closed.values()].reverse();
  for (const [id, s] of signals) s.value = rowOf(id);
  return true;
}

// withExpiry returns a request with the time of its expiry according to the current estimate of the
// machine's clock.
function withExpiry(q) {
  const at = byMachine(q.host_id, q.expires_at);
  if (at === q.expires_ms) return q;
  const updated = { ...q, expires_ms: at };
  open.set(q.key, updated);
  return updated;
}

function trim() {
  for (const [key, q] of closed) if (Date.now() - q.closed_ms > settledFor) closed.delete(key);
  if (rows.size <= mostRuns) return;
  const ended = [...rows.values()].filter((r) => r.status === "exited").sort(newestFirst);
  for (const r of ended.slice(mostRuns - rows.size)) rows.delete(r.id);
}

function newestFirst(a, b) {
  const [x, y] = [a.last_active_at || "", b.last_active_at || ""];
  return x === y ? (a.id < b.id ? 1 : -1) : x < y ? 1 : -1;
}

const rowsWithPending = new WeakMap(); // rows that have not changed remain the same objects

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

// run returns a signal with the row of a run. The value is null while the run is unknown.
export function run(id) {
  if (!signals.has(id)) {
    signals.set(id, signal(rowOf(id)));
    if (!rows.has(id)) lookUp(id);
  }
  return signals.get(id);
}

// touch makes publish update all signals, because the clock of a machine was determined.
export function touch() { dirty = true; }

// putStored shows a stored overview.
export function putStored(stored) {
  for (const { pending, ...row } of stored.rows) rows.set(row.id, row);
  for (const q of stored.requests) open.set(q.key, q);
  dirty = true;
}

// clear empties the overview.
export function clear() {
  for (const m of [rows, open, closed]) m.clear();
  newRequest.value = null;
  dirty = true;
}
