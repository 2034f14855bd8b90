// Opens sealed events where they come in: the frames of connections, and responses of the server.
// The rest of the page sees plain events. Events that cannot be opened keep their enc, with a
// reason.
import { api, incoming } from "./api.js";
import { rosterOf } from "./account.js";
import { dropEvents, firstOf, getEvents, within } from "./cache.js";
import { refuse } from "./canonical.js";
import { check, follow, openEvent, startAt } from "./chain.js";
import { keyOf, newRow, rowAfter } from "./derive.js";
import { accountOf, deviceOf, devices, unsealed, waiting } from "./devices.js";
import { deriveKey, openHistory, openRecord, tagOf, verifyRecord } from "./epochs.js";
import { reload } from "./follow.js";
import { loadMachines, machines } from "./machines.js";
import { handleEvent } from "./outbox.js";
import { linesOf } from "./roster.js";
import { rpc } from "./rpc.js";
import { effect } from "./signals.js";
import { noteRow, refresh, runs } from "./store.js";

const firstRetry = 1_000; // delay in ms before missing keys are requested again; it doubles up to lastRetry
const lastRetry = 60_000;
const before = 300; // events before a request that are loaded to confirm it; a head follows 256 events
const mostTries = 10;

const day = 24 * 3600_000;
const newFor = 30_000; // time in ms for which the newest key record is used without loading newer ones

const rings = new Map(); // keys by machine: {account, host, position, secrets, commands, names, missing, problem, at}
const keys = new Map(); // promises of the keys of runs, by machine, epoch and run
const sealed = new Map(); // {run, host, row} of the runs of which this browser has opened an event
const unsure = new Map(); // by ID of the other runs that were shown: whether plaintext was, and not only what could not be opened
const states = new Map(); // by run: {tags, prevs, confirmed, chain}

// The keys of an account that this browser leaves are deleted.
effect(() => {
  const left = [...rings.values()].filter((r) => !devices.value?.some((d) => d.account === r.account));
  for (const r of left) clearTimeout(r.timer, rings.delete(r.host));
  if (left.length) for (const all of [keys, sealed, unsure, states, asked]) all.clear();
  mark();
});

// mark updates which runs are shown as not sealed: also those of a machine without an account, because the server may hide that it has one.
// The server's word that a run is sealed counts until plaintext of the run was shown.
function mark() {
  unsealed.value = (run, short) => !!devices.value?.length && !sealed.has(run.id) && (!run.sealed || unsure.get(run.id) === true) && `Not sealed${short ? "" : ": the server can read and change this run."}`;
}

// store changes a value beside the counters of a device, unless the device is temporary or
// forgotten.
function store(device, key, change) {
  if (device.temporary || !deviceOf(device.account)) return undefined;
  return within(["counters"], "readwrite", (done, all) => {
    const at = [device.account, ...key];
    all.get(at).onsuccess = (e) => { all.put(change(e.target.result), at); };
  }).catch(() => {});
}

// restore loads the stored keys, and the IDs of the runs that are known as sealed.
export async function restore() {
  const all = await within(["counters"], "readonly", (done, x) => { x.getAll().onsuccess = (e) => done(e.target.result); }, []).catch(() => []);
  for (const v of all) {
    if (v.run) sealed.set(v.run, v);
    if (v.secrets && !rings.has(v.host)) rings.set(v.host, { commands: new Map(), ...v, missing: new Set() });
  }
  mark();
}

// hostOf returns the machine of a run or an event. That of a sealed run does not change. Before an
// event is opened, it is the one that the server names.
export const hostOf = (run, host) => sealed.get(run)?.host ?? host;

// accountFor returns the account of a machine: also if the machine is no member any more.
export const accountFor = (host) => rings.get(host)?.account ?? accountOf(host);

const deviceFor = (host) => deviceOf(accountFor(host));

// bind records the machine that has sealed an event of a run, after the event was opened: the
// server can name any machine. Events that were shown or stored before are loaded again.
async function bind(device, run, host) {
  putRun(device, { run, host, row: newRow(run, host) });
  mark();
  const stored = await getEvents(run).catch(() => []);
  if (!unsure.delete(run) && !stored.length) return;
  await dropEvents(run).catch(() => {});
  reopen();
}

function putRun(device, x) {
  sealed.set(x.run, x);
  return store(device, [x.host, "run", x.run], () => x);
}

// noteEvent updates the fields of a run's row that the server does not have.
function noteEvent(e) {
  const x = sealed.get(e.run_id), first = e.type === "run.started";
  if (!x || e.enc || (e.seq <= x.row.last_seq && !first)) return;
  const row = rowAfter(x.row, e, 0);
  x.row = first ? { ...row, title: x.row.title || row.title, last_seq: Math.max(x.row.last_seq, e.seq) } : row;
  if (/started|meta|exited|input$/.test(e.type)) putRun(deviceFor(x.host), x);
}

function ringOf({ account }, host) {
  if (!rings.has(host)) rings.set(host, { account, host, secrets: new Map(), commands: new Map(), names: {}, missing: new Set() });
  return rings.get(host);
}

// keyFor returns the key of a run's events in an epoch.
async function keyFor(device, host, { run_id, enc: { epoch } }) {
  const ring = ringOf(device, host), id = `${host} ${epoch} ${run_id}`;
  if (device.shared) return device.shared(epoch, run_id);
  if (!ring.secrets.has(epoch) && !(ring.timer && ring.missing.has(epoch))) {
    ring.missing.add(epoch);
    await load(device, ring);
  }
  const secret = ring.secrets.get(epoch) ?? refuse(ring.problem === "unknown_host" ? ring.problem : "old_epoch");
  if (!keys.has(id)) keys.set(id, deriveKey(secret, "run", run_id));
  return keys.get(id);
}

const load = (device, ring) => (ring.loading ??= loadKeys(device, ring).finally(() => { ring.loading = null; }));

// loadKeys loads the new key records of a machine, and the history if an epoch is still missing. If
// keys are missing then, it retries later.
async function loadKeys(device, ring) {
  const { size } = ring.secrets;
  ring.problem = "";
  try {
    const roster = await records(device, ring);
    if (missing(ring).some((n) => n <= ring.position?.n)) await readHistory(device, ring, roster);
  } catch (err) {
    if (err.name === "Refusal") ring.problem = err.code;
  }
  if (ring.secrets.size > size) ring.wait = firstRetry;
  if (missing(ring).length && ring.problem !== "unknown_host" && devices.peek()?.includes(deviceOf(ring.account))) retry(device, ring);
}

const missing = (ring) => [...ring.missing].filter((n) => !ring.secrets.has(n));

const records = (device, ring) => (ring.reading ??= readRecords(device, ring).finally(() => { ring.reading = null; }));

// readRecords reads the machine's new key records, and again the newest one if its command key is
// missing. It returns the roster.
async function readRecords(device, ring) {
  const { account, host, commands } = ring, n = ring.position?.n ?? 0;
  let roster = await rosterOf(device);
  if (!roster.hostKey(host)) roster = await rosterOf(device, true);
  if (!roster.hostKey(host)) refuse("unknown_host"); // the server named it
  const lines = linesOf(await api.get(`/seal/${account}/keys?host=${host}&after=${n && !commands.has(n) ? n - 1 : n}`).catch((err) => {
    if (err.status !== 404) throw err; // the server has no record
  }));
  for (const line of lines.filter(Boolean)) {
    const verify = () => verifyRecord(roster, line, host, ring.position);
    const k = await verify().catch(async (err) => { // the record may be for a newer line of the roster
      if (err.code !== "roster_fork") throw err;
      roster = await rosterOf(device, true);
      return verify();
    });
    ring.position = k.position;
    const last = commands.get(k.epoch - 1);
    if (last) last.until ??= Date.parse(k.at) + day;
    if (!k.wraps.some((w) => w.to === device.id)) continue; // the device was added later
    const { secret, command, names } = await openRecord(k, device.id, device);
    ring.secrets.set(k.epoch, secret);
    commands.set(k.epoch, command);
    ring.names = names;
    loadMachines().catch(() => {}); // it inserts the names
  }
  for (const [epoch, { until }] of commands) if (until < Date.now()) commands.delete(epoch);
  await putRing(device, ring);
  ring.at = Date.now();
  return roster;
}

// newestKey returns {epoch, key}, the newest command key of a machine. If reload is set, it reads the
// server's records in any case. A machine needs a moment until it has a key for a new device.
export async function newestKey(device, host, reload, tries = 5) {
  const ring = ringOf(device, host);
  if (reload || !(Date.now() - ring.at < newFor)) await records(device, ring);
  const epoch = ring.position?.n, key = ring.commands.get(epoch);
  if (key) return { epoch, key };
  if (!tries) refuse("no_keys", `this browser has no keys of ${nameOf(host)} yet: try again when it is online`);
  await rpc("rpc.host.info", null, { host_id: host }, { bare: true }).catch(() => {}); // it makes the machine read the list of devices
  await new Promise((done) => { setTimeout(done, 1000); });
  return newestKey(device, host, true, tries - 1);
}

export const commandKeys = (host) => rings.get(host)?.commands;

// expire makes the page read the newest key records before it seals.
export function expire() { for (const ring of rings.values()) ring.at = 0; }

async function readHistory(device, ring, roster) {
  const { account, host } = ring;
  const [text] = linesOf(await api.get(`/seal/${account}/history?host=${host}&device=${device.id}`));
  const all = await openHistory(roster, text, host, device.id, device);
  for (const [n, secret] of all) if (!ring.secrets.has(n)) ring.secrets.set(n, secret);
  await putRing(device, ring);
}

// putRing stores the keys of a machine, with those that another tab has stored.
function putRing(device, { host, position, secrets, commands, names }) {
  return store(device, [host, "keys"], (was) => ({ host, account: device.account, names, position: was?.position?.n > position?.n ? was.position : position, secrets: new Map([...(was?.secrets ?? []), ...secrets]), commands }));
}

function retry(device, ring) {
  if (ring.timer) return;
  const { size } = ring.secrets, wait = ring.wait ?? firstRetry;
  ring.wait = Math.min(lastRetry, wait * 2);
  ring.timer = setTimeout(async () => {
    ring.timer = 0;
    await load(device, ring);
    if (ring.secrets.size > size) reopen();
  }, wait);
}

// reopen loads everything again, because there are new keys.
export function reopen() {
  refresh();
  reload();
}

const nameOf = (host) => rings.get(host)?.names[host] || machines.peek().find((m) => m.id === host)?.name || host;

// whyNot returns why an event of a machine cannot be opened, with the next step.
function whyNot(host) {
  const ring = rings.get(host), name = nameOf(host);
  if (ring.problem) return `The server sent other keys than ${name} has signed.`;
  return machines.peek().find((m) => m.id === host)?.online ? `Waiting for the keys of ${name}.` : `${name} is offline. Its older runs appear when it is back.`;
}

// changed returns the event that reports events which the server has changed or withheld. It is not
// stored, so that the page checks them again.
const changed = ({ ts, host_id, run_id, seq }, from = seq, to = seq) => ({ type: "run.refused", ts, host_id, run_id, seq, data: { code: "changed", from, to }, doubtful: true });

const isSealed = (e) => e.run_id && e.seq && (e.enc || sealed.has(e.run_id));

function notePlain(s) {
  if (s.seq && !unsure.get(s.run_id)) {
    unsure.set(s.run_id, true);
    mark();
  }
  return s;
}

const isCalledSealed = (run) => sealed.has(run) || runs.peek().some((r) => r.id === run && r.sealed);

// open returns the plain event of a sealed one, the event itself with a reason, or a report that
// the server has changed it.
export async function open(s) {
  const { ts, run_id, seq, enc } = s;
  if (!isSealed(s)) return notePlain(s);
  if (!enc) return changed(s, firstOf(s));
  const host_id = hostOf(run_id, s.host_id), device = deviceFor(host_id);
  const noteUnsure = () => { if (!sealed.has(run_id)) unsure.set(run_id, unsure.get(run_id) ?? false); };
  if (!device) {
    noteUnsure();
    return s;
  }
  const { type, data } = s, frame = { type, ts, host_id, run_id, seq, enc, data }; // without members that only this page sets
  try {
    check(s);
    const e = await openEvent(await keyFor(device, host_id, s), s, { account: device.account, host: host_id });
    if (!sealed.has(run_id)) bind(device, run_id, host_id);
    if (hostOf(run_id) !== host_id) return changed(s); // another event was opened first
    return { type: e.type, ts, host_id, run_id, seq, data: e.data, tag: e.type === "run.gap" ? e.data.tag : tagOf(s.data.ct) };
  } catch (err) {
    if (err.code === "unsupported") return frame;
    if (err.code !== "old_epoch") {
      noteUnsure();
      if (hostOf(run_id, host_id) !== host_id) return open(s);
      return err.code === "unknown_host" ? frame : changed(s);
    }
    const why = device.why ?? whyNot(host_id);
    return { ...frame, data: { ...data, prompt: why }, tag: tagOf(data.ct), why };
  }
}

function stateOf(run) {
  if (!states.has(run)) states.set(run, { tags: new Map([[0, ""]]), prevs: new Map(), confirmed: [] });
  return states.get(run);
}

// join checks the place of an event after those that the page has. last is the sequence number of
// the event before, if it is known. at has the chain. The result is e or its replacement.
async function join(s, e, last, at) {
  if (!isSealed(s)) return e;
  const { tags, prevs, confirmed } = stateOf(s.run_id), prev = s.data?.prev, first = e.data.code === "changed" ? e.data.from : firstOf(e), host = hostOf(s.run_id, s.host_id), device = deviceFor(host);
  const tag = tags.get(first - 1);
  if (tag === undefined ? last !== undefined && last < first - 1 : tag !== null && prev && tag !== prev) Object.assign(e, { broken: { ...changed(s, tag === undefined ? last + 1 : first - 1, first - 1), seq: s.seq - 0.5 }, doubtful: true });
  if (e.tag && !e.enc) {
    const c = at.chain?.seq >= first - 1 && at.chain.seq < s.seq ? at.chain : startAt(s), roster = await rosterOf(device);
    try {
      const next = await follow(c, s, e, { account: device.account, host, key: roster.hostKey(host) });
      at.chain = next.chain;
      if (next.confirmed) addSpan(confirmed, next.confirmed);
    } catch {
      e = changed(s, c.from || first);
    }
  }
  tags.set(s.seq, e.tag ?? null); // null: it is reported
  prevs.set(first, prev);
  return e;
}

function addSpan(all, [from, to]) {
  const last = all.at(-1);
  if (last?.[1] === from - 1) last[1] = to;
  else all.push([from, to]);
}

// isConfirmed reports whether a head covers an event. The server may have sent another one in a
// list.
function isConfirmed({ run, seq, tag }) {
  const { confirmed, tags } = stateOf(run);
  return tags.get(seq) === tag && confirmed.some(([from, to]) => from <= seq && seq <= to);
}

const asked = new Map(); // {key, run, seq, tag, text, tries} of the requests that wait for a confirmation

// noteRequests updates the requests that wait for a confirmation by their machine, after events. If
// the server has shown two forms of a request, both must be confirmed.
function noteRequests(...events) {
  for (const { type, run_id: run, host_id, seq, data, tag } of events) {
    const key = keyOf(run, data?.request_id), id = `${key} ${tag}`;
    if (type === "run.permission_requested" && tag && !asked.has(id)) asked.set(id, { key, run, seq, tag, text: `Waiting for ${nameOf(host_id)} to confirm.`, tries: 0 });
    if (type === "run.permission_resolved") for (const [other, x] of asked) if (x.key === key) asked.delete(other);
  }
  for (const [id, x] of asked) if (isConfirmed(x)) asked.delete(id);
  if (asked.size || waiting.peek().size) waiting.value = new Map([...asked.values()].map((x) => [x.key, x.text]));
}

let confirming = Promise.resolve();

// confirm loads the events about the requests of a run that wait for a confirmation.
function confirm(run) {
  confirming = confirming.then(async () => {
    for (const x of asked.values()) if (x.run === run && x.tries++ < mostTries) await api.get(`/runs/${run}/events?after=${Math.max(0, x.seq - before)}&limit=500`);
  }).catch(() => {});
}

const isRequest = (e) => e.type === "run.permission_requested";

async function page(events, path) {
  // The first opened event shows whose the run is, and that no event may be plaintext.
  const first = await Promise.all(events.map((s) => s.enc && open(s)));
  const opened = await Promise.all(events.map((s, i) => (first[i]?.tag ? first[i] : open(s)))), [, after] = /after=(\d+)&limit=500$/.exec(path) ?? [];
  for (const e of opened) if (e.type === "run.input" && e.tag) handleEvent(e);
  if (!after || !events.some(isSealed)) return opened;
  const state = stateOf(events[0].run_id), at = { chain: state.chain };
  let last = state.tags.has(Number(after)) ? Number(after) : undefined;
  for (const [i, s] of events.entries()) {
    opened[i] = await join(s, opened[i], last, at);
    last = s.seq;
  }
  if (at.chain && !(state.chain?.seq > at.chain.seq)) state.chain = at.chain;
  noteRequests(...opened);
  return opened;
}

const queues = new WeakMap(); // by the owner of a connection: {length, tail}

incoming.frame = (s, pass, owner) => {
  const q = queues.get(owner) ?? { length: 0, tail: Promise.resolve() };
  queues.set(owner, q);
  if (!q.length && !isSealed(s)) { pass(notePlain(s)); return; }
  q.length++;
  const opening = s.enc && open(s);
  q.tail = q.tail.then(async () => {
    let e = await opening;
    if (!e?.tag) e = await open(s); // the events before it may have shown whose the run is
    if (owner.whole && isSealed(s)) e = await joinLive(s, e);
    noteRequests(e);
    if (!owner.whole) noteEvent(e);
    if (!owner.whole && (isRequest(e) || e.type === "run.head")) confirm(e.run_id);
    pass(e);
  }).catch((err) => console.error("an event could not be opened", err)).finally(() => { q.length--; });
};

async function joinLive(s, e) {
  const state = stateOf(s.run_id), { tags } = state;
  state.cached ??= getEvents(s.run_id).then((all) => { for (const x of all) if (x.tag && !tags.has(x.seq)) tags.set(x.seq, x.tag); }, () => {});
  await state.cached;
  const first = firstOf(e), last = tags.has(first - 1) ? undefined : Math.max(...[...tags.keys()].filter((n) => n < first));
  return join(s, e, last, state);
}

// earlier completes a page of events before the event with the sequence number first.
incoming.earlier = (run, events, first) => {
  if (!sealed.has(run)) return;
  const { tags, prevs } = stateOf(run), last = events.at(-1), tag = tags.get(last?.seq), prev = prevs.get(first), to = first - 1;
  if (!last || last.seq < to || (tag && prev && tag !== prev)) events.push(changed({ ...last, run_id: run, seq: to }, Math.min((last?.seq ?? 0) + 1, to)));
};

// openRequest returns a request from the server's lists with its content, or null if the server has
// changed it.
async function openRequest(q, isSealedRun) {
  if (!q.enc) return notePlain(q) && (isSealedRun || isCalledSealed(q.run_id)) ? null : q;
  const { run_id, request_id, seq, state, ts, enc, ct, prev } = q, host_id = hostOf(run_id, q.host_id);
  const e = await open({ type: "run.permission_requested", ts, run_id, host_id, seq, enc, data: { ct, prev, request_id } });
  if (!isRequest(e)) return null;
  noteRequests(e);
  confirm(run_id);
  return { ...(e.enc ? { prompt: e.why } : e.data), request_id, run_id, host_id, seq, state, ts };
}

// openRow returns a run's row with its open requests, and with the fields that only the page knows.
async function openRow(row) {
  const { id, host_id } = row, x = sealed.get(id) ?? (deviceFor(host_id) && { host: host_id, row: newRow(id, host_id) });
  if (!x) return row; // this browser is not enrolled
  if (!x.row.tool) learn(id);
  const { tool, cwd, command, title, meta, exit_code, waits } = x.row;
  const pending = await Promise.all((row.pending ?? []).map((q) => openRequest({ ...q, host_id: x.host }, true)));
  return { ...row, host_id: x.host, sealed: true, tool, cwd, command, title, meta, exit_code, status: waits && row.status === "running" ? "awaiting_input" : row.status, pending: pending.filter(Boolean) };
}

let learning = Promise.resolve();

// learn completes the row of a run from the run's first event.
function learn(run) {
  learning = learning.then(async () => {
    const [e] = sealed.get(run)?.row.tool ? [] : (await api.get(`/runs/${run}/events?after=0&limit=1`)).events;
    if (e?.type !== "run.started") return;
    noteEvent(e);
    complete();
  }).catch(() => {});
}

// complete adds the fields that the server does not have to the rows of the overview, which may
// come from a list that was opened before.
function complete() {
  for (const row of runs.peek()) {
    const x = sealed.get(row.id);
    if (!x?.row.tool || row.tool) continue;
    const { tool, cwd, command, title } = x.row;
    noteRow({ ...row, host_id: x.host, sealed: true, tool, cwd, command, title });
  }
}

effect(() => {
  if (runs.value.length) queueMicrotask(complete);
});

incoming.body = async (body, path) => {
  const one = (x) => (x?.sealed || sealed.has(x?.id) ? openRow(x) : x?.request_id && x.run_id ? openRequest(x) : named(x));
  if (Array.isArray(body)) return (await Promise.all(body.map(one))).filter(Boolean);
  if (Array.isArray(body?.events)) return { ...body, events: await page(body.events, path) };
  return body?.sealed || sealed.has(body?.id) ? openRow(body) : body;
};

// named returns a machine with the name that the machine has signed.
function named(x) {
  const name = rings.get(x?.id)?.names[x.id];
  return name ? { ...x, name } : x;
}
