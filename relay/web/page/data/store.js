// The overview: all runs and their open requests. It is what the server says at one moment
// (GET /runs, GET /inbox), and every event after that, without output. An event counts when its seq is
// beyond what its run's row knows.
import { api } from "./api.js";
import { getMeta, putMeta } from "./cache.js";
import { byHost, heardOfHost, now } from "./clock.js";
import { asRequest, ending, keyOf, newRow, rowAfter, withdrawnByExit } from "./derive.js";
import { sentence } from "./errors.js";
import { Queue } from "./queue.js";
import { batch, computed, signal } from "./signals.js";

const pageRuns = 100;
const mostRuns = 1000; // that are held; of those that have ended the oldest go
const settledFor = 10 * 60_000; // ms
const keptRuns = 100;
const unknownAtOnce = 8; // runs that are asked for one by one; of more the list is asked for

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
export const runsState = signal({ loading: false, more: false, from: "none" });
export const requestsState = computed(() => ({ loading: runsState.value.loading, error: runsState.value.error, from: runsState.value.from }));

const hearers = new Set();

// onEvent hears every event of the overview, once and in order of its run, and what is over: fn(e,
// ended), ended being {request_id, decision, …} or null.
export function onEvent(fn) {
  hearers.add(fn);
  return () => hearers.delete(fn);
}

const unknown = new Set(); // runs of which something came, and nothing is known
let fetching = false;

const queue = new Queue(take, publish);

let buffer = null; // of events, while the server is asked how things stand
let sync = 0;

// begin waits with what comes until refresh has said how things stand.
export function begin() { buffer = []; }

// refresh asks the server how things stand, and gives whether it has said so.
export async function refresh() {
  const turn = ++sync;
  buffer ??= [];
  runsState.value = { ...runsState.peek(), loading: true, error: undefined };
  let list, inbox;
  try {
    list = await api.get(`/runs?limit=${pageRuns}`);
    inbox = await api.get("/inbox"); // after the runs: what comes between is in it, or in an event
  } catch (err) {
    if (turn !== sync) return true;
    release();
    runsState.value = { ...runsState.peek(), loading: false, error: sentence(err) };
    return false;
  }
  if (turn !== sync) return true; // another asks, or nobody any more
  batch(() => {
    settle(list, inbox);
    runsState.value = { loading: false, more: list.length === pageRuns, from: "server" };
    release();
    publish();
  });
  return true;
}

function release() {
  const waiting = buffer || [];
  buffer = null;
  queue.putAll(waiting);
}

function settle(list, inbox) {
  const before = new Map(open);
  for (const row of list) putRow(row);
  open.clear();
  for (const q of inbox) {
    const fresh = adopt(q, before);
    if (fresh && runsState.peek().from === "server") newRequest.value = open.get(keyOf(q.run_id, q.request_id));
  }
  for (const [key, q] of before) if (!open.has(key)) over.set(key, ended(q, { decision: "answered" })); // while nobody listened
  dirty = true;
}

const ended = (q, resolution) => ({ ...q, state: "resolved", resolution, closed: Date.now() });

// putRow notes what the server says of a run and its requests, unless more is known. What is open was
// read after the row: events behind the row's seq may say it once more.
function putRow(row) {
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

// heard takes what came over the connection of the overview.
export function heard(e) {
  if (e.type === "run.progress") { progress(e); return; }
  if (!e.seq || !e.run_id) return;
  if (buffer) buffer.push(e);
  else queue.put(e);
}

function progress(e) {
  const row = rows.get(e.run_id);
  if (!row || row.last_seq >= e.data.seq) return;
  rows.set(row.id, { ...row, last_seq: e.data.seq, last_active_at: new Date(now()).toISOString(), status: row.status === "lost" ? "running" : row.status });
  dirty = true;
  queue.putAll([null]); // it is told with the next slice
}

function take(e) {
  if (!e) return;
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
function publish() {
  if (!dirty) return;
  dirty = false;
  trim();
  const all = [...rows.values()].sort(newestFirst);
  runs.value = all.map(withPending);
  requests.value = [...open.values()].map(timed);
  settled.value = [...over.values()].reverse();
  for (const [id, s] of signals) s.value = rowOf(id);
  keepSoon();
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

// noteRow takes what the server has said of a run elsewhere.
export function noteRow(row) {
  putRow(row);
  batch(publish);
}

function lookUp(id) {
  if (unknown.has(id)) return;
  unknown.add(id);
  if (fetching) return;
  fetching = true;
  queueMicrotask(fetchUnknown);
}

async function fetchUnknown() {
  const all = [...unknown];
  try {
    if (all.length > unknownAtOnce) for (const row of await api.get("/runs?limit=1000")) putRow(row);
    else for (const id of all) await fetchRow(id);
  } catch { /* it is asked for when something comes of it again */ }
  for (const id of all) unknown.delete(id);
  batch(publish);
  fetching = false;
  if (unknown.size) lookUp([...unknown][0]);
}

async function fetchRow(id) {
  try {
    putRow(await api.get("/runs/" + encodeURIComponent(id)));
  } catch (err) {
    if (err.code !== "unknown_run") throw err;
  }
}

// loadMoreRuns asks for the runs that were active before the last one that is listed.
export async function loadMoreRuns() {
  const state = runsState.peek();
  const last = runs.peek().at(-1);
  if (state.loading || !state.more || !last) return;
  runsState.value = { ...state, loading: true, error: undefined };
  try {
    const list = await api.get(`/runs?limit=${pageRuns}&before=${encodeURIComponent(last.id)}`);
    batch(() => {
      for (const row of list) putRow(row);
      runsState.value = { ...runsState.peek(), loading: false, more: list.length === pageRuns };
      publish();
    });
  } catch (err) {
    runsState.value = { ...runsState.peek(), loading: false, error: sentence(err) };
  }
}

// refreshRequests asks for the requests of a run anew: what one of them asks may have changed.
export async function refreshRequests(id) {
  noteRow(await api.get("/runs/" + encodeURIComponent(id)));
}

// The overview is kept for who opens the page without a connection.
const keepAfter = 250; // ms
let keeping = 0;

function keepSoon() {
  if (runsState.peek().from === "server") keeping ||= setTimeout(keep, keepAfter);
}

// keep keeps it now, where there is something new.
export function keep() {
  if (!keeping) return;
  clearTimeout(keeping);
  keeping = 0;
  putMeta("overview", { rows: runs.peek().slice(0, keptRuns), requests: requests.peek() }).catch(() => {});
}

// restore shows what was kept.
export async function restore() {
  const kept = await getMeta("overview");
  if (!kept || runsState.peek().from !== "none") return;
  batch(() => {
    for (const { pending, ...row } of kept.rows) rows.set(row.id, row);
    for (const q of kept.requests) open.set(q.key, q);
    runsState.value = { ...runsState.peek(), from: "cache" };
    dirty = true;
    publish();
  });
}

// forget empties the overview.
export function forget() {
  clearTimeout(keeping);
  keeping = 0;
  sync++;
  buffer = null;
  queue.clear();
  for (const m of [rows, open, over]) m.clear();
  batch(() => {
    dirty = true;
    newRequest.value = null;
    runsState.value = { loading: false, more: false, from: "none" };
    publish();
  });
}
