// Loads the overview from the server: the lists (GET /runs, GET /inbox) and the events after them.
import { api } from "./api.js";
import { getMeta, putMeta } from "./cache.js";
import { recordMachineTime, machineClock } from "./clock.js";
import { sentence } from "./errors.js";
import * as overview from "./overview.js";
import { Queue } from "./queue.js";
import { batch, computed, signal } from "./signals.js";

export { newRequest, onEvent, requests, run, runs, settled } from "./overview.js";

const pageRuns = 100;
const storedRuns = 100;
const unknownAtOnce = 8; // maximum number of unknown runs that are loaded one by one; for more runs the list is loaded

const initial = { loading: true, more: false, from: "none" }; // state before the server's first answer
export const runsState = signal(initial);
export const requestsState = computed(() => ({ loading: runsState.value.loading, error: runsState.value.error, from: runsState.value.from }));

const unknown = new Set(); // IDs of runs that have events but no row
let fetching = false;

const queue = new Queue((e) => { if (e) overview.handleEvent(e); }, publish);

let buffer = null; // events that arrive while the lists are loading; null otherwise
let sync = 0;

overview.onUnknown(lookUp);

function publish() { if (overview.publish()) saveSoon(); }

// begin makes the store buffer events until refresh has loaded the lists.
export function begin() { buffer = []; }

// refresh loads the lists and reports whether it succeeded.
export async function refresh() {
  const turn = ++sync;
  buffer ??= [];
  if (runsState.peek().from !== "server") runsState.value = { ...runsState.peek(), loading: true, error: undefined };
  let list, inbox;
  try {
    list = await api.get(`/runs?limit=${pageRuns}`);
    inbox = await api.get("/inbox"); // loaded after the runs, so that a request that opens in between is in the list or in an event
  } catch (err) {
    if (turn !== sync) return true;
    release();
    runsState.value = { ...runsState.peek(), loading: false, error: sentence(err) };
    return false;
  }
  if (turn !== sync) return true; // a later refresh is running, or the overview was cleared
  let closed = [];
  batch(() => {
    closed = overview.putInbox(list, inbox, runsState.peek().from === "server");
    runsState.value = { loading: false, more: list.length === pageRuns, from: "server" };
    release();
    publish();
  });
  learnClocks(list).then(() => learnEndings(closed)).catch(() => {}); // the time of expiry of a request depends on the clock of its machine
  return true;
}

// learnEndings loads the outcomes of requests that closed while the page was not connected.
async function learnEndings(closed) {
  for (const run of new Set(closed.map((q) => q.run_id))) {
    const after = Math.min(...closed.filter((q) => q.run_id === run).map((q) => q.seq));
    const { events } = await api.get(`/runs/${encodeURIComponent(run)}/events?after=${after}&types=run.permission_resolved&limit=1000`);
    for (const e of events) overview.late(e);
  }
  if (closed.length) batch(publish);
}

// learnClocks determines the clocks of machines whose requests expire, from a run's last event and the
// time at which the server received it.
async function learnClocks(list) {
  const unknownMachines = new Set(overview.requests.peek().filter((q) => q.expires_at && machineClock(q.host_id) === null).map((q) => q.host_id));
  for (const machine of unknownMachines) {
    const row = list.find((r) => r.host_id === machine && r.last_seq > 0);
    if (!row) continue;
    const { events } = await api.get(`/runs/${encodeURIComponent(row.id)}/events?after=${row.last_seq - 1}&limit=1`);
    if (events[0]?.seq === row.last_seq) recordMachineTime(machine, events[0].ts, Date.parse(row.last_active_at));
  }
  if (unknownMachines.size) batch(() => { overview.touch(); publish(); });
}

function release() {
  const waiting = buffer || [];
  buffer = null;
  queue.putAll(waiting);
}

// handleFrame handles a frame from the overview's connection.
export function handleFrame(e) {
  if (e.type === "run.progress") {
    if (overview.progress(e)) queue.put(null); // the next slice updates the signals
    return;
  }
  if (!e.seq || !e.run_id) return;
  if (buffer) buffer.push(e);
  else queue.put(e);
}

// noteRow stores the row of a run that another request has returned.
export function noteRow(row) {
  overview.putRow(row);
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
    if (all.length > unknownAtOnce) for (const row of await api.get("/runs?limit=1000")) overview.putRow(row);
    else for (const id of all) await fetchRow(id);
  } catch { /* the next event of the run requests it again */ }
  for (const id of all) unknown.delete(id);
  batch(publish);
  fetching = false;
  if (unknown.size) lookUp([...unknown][0]);
}

async function fetchRow(id) {
  try {
    overview.putRow(await api.get("/runs/" + encodeURIComponent(id)));
  } catch (err) {
    if (err.code !== "unknown_run") throw err;
  }
}

// loadMoreRuns loads the runs that were active before the last run in the list.
export async function loadMoreRuns() {
  const state = runsState.peek();
  const last = overview.runs.peek().at(-1);
  if (state.loading || !state.more || !last) return;
  runsState.value = { ...state, loading: true, error: undefined };
  try {
    const list = await api.get(`/runs?limit=${pageRuns}&before=${encodeURIComponent(last.id)}`);
    batch(() => {
      for (const row of list) overview.putRow(row);
      runsState.value = { ...runsState.peek(), loading: false, more: list.length === pageRuns };
      publish();
    });
  } catch (err) {
    runsState.value = { ...runsState.peek(), loading: false, error: sentence(err) };
  }
}

// refreshRequests loads the requests of a run again, because one of them has changed.
export async function refreshRequests(id) {
  noteRow(await api.get("/runs/" + encodeURIComponent(id)));
}

// Storing the overview. The page shows it when it is opened without a connection.
const saveDelay = 250; // in ms
let saveTimer = 0;

function saveSoon() {
  if (runsState.peek().from === "server") saveTimer ||= setTimeout(save, saveDelay);
}

// save stores the overview now if it has changed.
export function save() {
  if (!saveTimer) return;
  clearTimeout(saveTimer);
  saveTimer = 0;
  putMeta("overview", { rows: overview.runs.peek().slice(0, storedRuns), requests: overview.requests.peek() }).catch(() => {});
}

// restore shows the stored overview.
export async function restore() {
  const stored = await getMeta("overview");
  if (!stored || runsState.peek().from !== "none") return;
  batch(() => {
    overview.putStored(stored);
    runsState.value = { ...runsState.peek(), loading: !!buffer, from: "cache" };
    publish();
  });
}

// forget empties the overview.
export function forget() {
  clearTimeout(saveTimer);
  saveTimer = 0;
  sync++;
  buffer = null;
  queue.clear();
  batch(() => {
    overview.clear();
    runsState.value = initial;
    publish();
  });
}
