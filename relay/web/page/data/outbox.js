// Decisions and inputs. Each has an ID and takes effect at most once, so that the page can send it
// again. The page stores an entry before it sends it. One tab sends all entries in order, and shows
// their outcome.
import { api } from "./api.js";
import { addEntry, dropEntry as deleteEntry, getEntries, putEntry } from "./cache.js";
import { contentOf, keyOf } from "./derive.js";
import { drop, explain, seal } from "./devices.js";
import { sentence } from "./errors.js";
import { uuid } from "./ids.js";
import { batch, computed, signal } from "./signals.js";
import { requests } from "./store.js";
import { alone, broadcast, onTabMessage, tab, whenClosed } from "./tabs.js";

const oldest = 24 * 3600_000; // in ms; entries older than this are never sent
const maxDone = 100; // maximum number of finished entries
const inputFor = 15 * 60_000; // time in ms for which an input waits for the token of its machine
const lookAfter = 3_000; // delay in ms before the page loads the event of an input that was applied
const retryAfter = [500, 1000, 2000, 5000, 10_000]; // delays in ms between attempts while the server cannot accept the entry
const secrets = new Map(); // by ID: messages with secret answers, which are not stored

const dropped = new Set(); // IDs of removed entries

// The states of an entry: waiting → accepted → sent → applied | rejected | expired | indeterminate.
// If the server rejects the entry, the state is already_decided, withdrawn, args_changed or failed.
// Entries in the states too_old, lost and locked were never sent.
const order = ["waiting", "accepted", "sent"]; // the other states are final

// rank returns the place of an entry's state in this order, in which a final state is the last, and
// those after it was sealed again are later.
const rank = ({ state, old = 0 }) => 4 * old + [...order, state].indexOf(state);

// isReceived reports whether the server has received an entry that is not done.
const isReceived = (x) => order.indexOf(x.state) > 0;

// outbox contains the entries, oldest first.
export const outbox = signal([]);

let send = null; // sends a message to the server and returns the answer; null without a connection
let changed = () => {}; // called for requests whose arguments have changed
let unconfirmed = new Set(); // entries whose state has not been requested over this connection
let draining = false;
let rerun = false;
let tries = 0;
let timer = 0;

// openBox shows the stored entries. It calls argsChanged(run) if a request differs from the one
// that the user decided.
export async function openBox(argsChanged) {
  changed = argsChanged;
  onTabMessage((m) => { if (m.kind === "outbox") reload(); });
  await reload();
  for (const { id, secret, tab } of outbox.peek()) if (secret) whenClosed(tab, () => lose(id));
}

// lose finishes an entry whose answer was stored only in a tab that is closed.
function lose(id) {
  const entry = entryOf(id);
  if (entry?.state === "waiting") update(entry, { state: "lost" });
}

async function reload() {
  await read();
  drain();
}

// read loads the stored entries, which other tabs may have changed. If this tab has a later state
// of an entry, it retains that state.
async function read() {
  const stored = await getEntries().catch(() => []);
  const here = new Map(outbox.peek().map((x) => [x.n, x]));
  const newer = (x, mine = x) => (rank(mine) > rank(x) ? mine : x);
  const all = stored.filter((x) => !dropped.has(x.id)).map((x) => newer(x, here.get(x.n)));
  outbox.value = [...all, ...outbox.peek().filter((x) => x.n === undefined)]; // entries without n were not stored
}

// connected sets the function that sends messages. null means that the connection is lost.
export function connected(ask) {
  send = ask;
  tries = 0;
  unconfirmed = new Set(outbox.peek().filter(isReceived).map((x) => x.id));
  if (ask) drain();
}

// put stores a new entry and starts to send it.
async function put(entry, message, secret) {
  const whole = { ...entry, state: "waiting", created: Date.now(), tab, secret, message: secret ? undefined : message, done: false };
  if (secret) secrets.set(entry.id, message);
  try {
    whole.n = await addEntry(whole);
  } catch { /* then it lives as long as this tab */ }
  if (whole.n === undefined) delete whole.n;
  outbox.value = [...outbox.peek(), whole];
  broadcast({ kind: "outbox" });
  drain();
  return whole;
}

// hasSecret reports whether the answer to a request must not be stored.
export const hasSecret = (request) => request.questions?.some((q) => q.secret);

// decide stores a decision about a request: {answer?, answers?, text?, scope?}.
export function decide(request, decision, { answer, answers, text, scope } = {}) {
  const { run_id, request_id, args_sha256 } = request;
  const data = { request_id, actor: "web", args_sha256, answer, answers, text, scope };
  const secret = hasSecret(request);
  const type = "run.permission." + decision;
  if (decision === "approve" && request.questions?.length) decision = "answer"; // a request with questions needs an answer, not an approval
  const label = request.op_args_summary || request.prompt || request_id;
  return put({ id: uuid(), kind: "decision", run_id, request_id, host_id: request.host_id, decision, args_sha256, label, shown: contentOf(request) }, { type, run_id, data }, secret);
}

// sendInput stores an input for a run. The text of a secret input is not stored.
export function sendInput(run_id, text, secret) {
  const id = uuid();
  return put({ id, kind: "input", run_id, label: secret ? "***" : text }, { type: "run.send_input", run_id, data: { input_id: id, text, actor: "web" } }, secret);
}

// update stores the new state of an entry.
function update(entry, more) {
  const after = { ...entry, ...more };
  after.done = !order.includes(after.state);
  if (after.done) {
    if (after.statement && after.kind === "input" && after.state !== "applied") drop(after.id, after.statement);
    delete after.message;
    delete after.shown;
    secrets.delete(after.id);
  }
  if (after.kind === "input" && after.state === "applied") { // delete the typed text, because the thread shows it redacted
    remove(after).catch(() => {});
    return after;
  }
  outbox.value = outbox.peek().map((x) => (x.id === entry.id ? after : x));
  if (after.n !== undefined) putEntry(after).then(() => broadcast({ kind: "outbox" }), () => {});
  return after;
}

const entryOf = (id) => outbox.peek().find((x) => x.id === id);

// drain sends the waiting entries in order while there is a connection.
async function drain() {
  rerun = true;
  if (draining) return;
  draining = true;
  try {
    while (rerun && send) {
      rerun = false;
      if (outbox.peek().some(isDue)) await alone("concerto-outbox", sendAll);
    }
  } catch { // another tab sends the entries now
    soon();
  } finally {
    draining = false;
  }
  tidy();
}

function soon(after = retryAfter[Math.min(tries++, retryAfter.length - 1)]) {
  clearTimeout(timer);
  timer = setTimeout(drain, after);
}

const isDue = (x) => x.state === "waiting" || unconfirmed.has(x.id);

async function sendAll() {
  await read(); // another tab may have sent some entries
  const offline = new Set(); // runs of machines that issue no token now
  for (const { id } of outbox.peek()) {
    const entry = entryOf(id);
    if (!send) return;
    if (entry && isDue(entry) && !offline.has(entry.run_id) && !(await sendEntry(entry, offline))) return;
  }
}

// sendEntry sends an entry. It reports whether the next entry may be sent.
async function sendEntry(entry, offline) {
  unconfirmed.delete(entry.id);
  if (Date.now() - entry.created > oldest) {
    update(entry, { state: entry.state === "waiting" ? "too_old" : "indeterminate" });
    return true;
  }
  const message = entry.message || secrets.get(entry.id);
  if (!message) return true; // only another tab has the answer
  try {
    const sealed = await sealEntry(entry, message);
    if (!send) return false;
    const answer = await send(sealed, (e) => isState(e, entry));
    tries = 0;
    handleState(answer.data);
    return true;
  } catch (err) {
    if (err.code !== "host_offline" || entry.kind !== "input" || entry.state !== "waiting") return handleRefusal(entryOf(entry.id) || entry, err);
    if (Date.now() - entry.created > inputFor) update(entry, { state: "expired" });
    offline.add(entry.run_id);
    soon(retryAfter.at(-1));
    return true;
  }
}

// sealEntry returns an entry's message, signed or sealed as the entry's machine requires. It does
// so when the entry is sent, so that the token is new, for the content that the user decided. The
// text of a sealed entry is not stored any more.
async function sealEntry(entry, unsealed) {
  const { run_id, request_id, secret } = entry, id = stateId(entry);
  const more = await seal({ ...entry, kind: request_id ? "decide" : "input", id, message: unsealed, request: requests.peek().find((q) => q.key === keyOf(run_id, request_id)) });
  const { message } = more;
  if (message === unsealed) return message;
  if (secret) secrets.set(entry.id, message);
  if (entryOf(entry.id)) update(entryOf(entry.id), secret ? { ...more, message: undefined } : more);
  return message;
}

const stateId = (entry) => entry.request_id || entry.id;
const isState = (e, entry) => e.type === "command.state" && e.data.id === stateId(entry) && e.data.kind === entry.kind && e.data.run_id === entry.run_id;

// handleState handles a command.state.
export function handleState(d) {
  const entry = outbox.peek().findLast((x) => isState({ type: "command.state", data: d }, x) && !x.done);
  // The answer to an entry may arrive after later states.
  if (!entry || rank({ ...entry, state: d.state }) < rank(entry)) return;
  const { run_id, statement, sealed } = entry, [, code] = (statement && d.state === "rejected" && /^(\w+):/.exec(d.error)) || [];
  if (code === "old_epoch" && !entry.secret && !entry.old) { // seal it again if the keys have ended
    update(entry, { old: 1, state: "waiting" });
    drain();
    return;
  }
  const again = code === "args_changed"; // the machine's request differs from the one that the user decided
  const state = again ? code : d.state === "applied" && sealed ? "sent" : d.state; // the machine reports the outcome of a sealed entry by an event
  update(entry, { state, error: d.error || undefined, by: d.by, again });
  if (again) changed(run_id);
  else if (state !== d.state && entry.kind === "input") setTimeout(() => lookFor(entry), lookAfter);
  else if (code) explain(d.error, statement.kind).then((error) => update(entryOf(entry.id), { error }), () => {});
}

// lookFor loads the inputs of a run whose machine has applied a sealed one, if its event has not
// arrived: the page may have connected after it.
function lookFor({ id, run_id }) {
  if (entryOf(id)) api.get(`/runs/${encodeURIComponent(run_id)}/events?after=0&types=run.input&limit=1000`).catch(() => {}); // the next connection tries again
}

// refusals contains the state of an entry for each error code of the server.
const refusals = { __proto__: null, already_decided: "already_decided", args_changed: "args_changed", expired: "expired", old_epoch: "rejected", invalid_answer: "rejected", locked: "locked" };
const later = new Set(["rate_limited", "internal"]);
const undecided = new Set(["withdrawn", "expired"]); // outcomes that are not a decision

function handleRefusal(entry, err) {
  if (err.code === "unreachable" || later.has(err.code)) {
    if (entry.state !== "waiting" || err.code !== "unreachable") unconfirmed.add(entry.id);
    if (send) soon(err.retry_after_ms || undefined); // the answer may be lost; without a connection, the next one retries
    return false;
  }
  const [, by, decision, answer] = /^already decided by (.*?): (\w+) ?(.*)/s.exec(!entry.sealed && err.serverMessage) || [];
  update(entry, { state: undecided.has(decision) ? decision : refusals[err.code] || "failed", error: sentence(err), by, was: decision, gave: parseAnswer(answer), again: err.name === "Refusal" });
  if (err.code === "args_changed") changed(entry.run_id);
  return true;
}

function parseAnswer(text) {
  try { return JSON.parse(text); } catch { return undefined; }
}

// handleEvent updates entries according to the events of runs. The store calls it for each event.
export function handleEvent(e, ended) {
  const mine = (is) => outbox.peek().filter((x) => (!x.done || x.state === "already_decided") && x.run_id === e.run_id && is(x));
  if (e.type === "run.input") for (const x of mine((x) => x.id === e.data?.input_id)) update(x, { state: "applied" });
  if (e.type !== "run.permission_resolved") return;
  for (const x of mine((x) => x.kind === "decision" && x.request_id === ended?.request_id)) update(x, outcome(x, ended));
}

// outcome returns the state of a decision after the machine's event. If the entry was not sent,
// another decision came first.
function outcome(entry, { decision, answer, by, reason }) {
  if (undecided.has(decision)) return { state: decision, error: reason };
  if (isReceived(entry) && (decision === entry.decision || decision === "answer" || entry.decision === "answer")) return { state: "applied" };
  return { state: "already_decided", by, was: decision, gave: answer };
}

// dropEntry removes an entry that is waiting or finished.
export async function dropEntry(id) {
  const entry = entryOf(id);
  if (entry && !isReceived(entry)) await remove(entry);
}

async function remove({ id, n }) {
  secrets.delete(id);
  dropped.add(id);
  outbox.value = outbox.peek().filter((x) => x.id !== id);
  if (n === undefined) return;
  await deleteEntry(n);
  broadcast({ kind: "outbox" });
}

// clearDone removes all finished entries.
export async function clearDone() {
  for (const x of outbox.peek().filter((x) => x.done)) await dropEntry(x.id);
}

// tidy removes the oldest finished entries.
function tidy() {
  const done = outbox.peek().filter((x) => x.done);
  for (const x of done.slice(0, Math.max(0, done.length - maxDone))) dropEntry(x.id).catch(() => {});
}

// forgetBox removes all entries.
export function forgetBox() {
  clearTimeout(timer);
  secrets.clear();
  unconfirmed.clear();
  batch(() => { outbox.value = []; });
}

const sending = new Map();

// sendingOf returns a signal with the inputs of a run that may not have been applied yet.
export function sendingOf(run) {
  if (!sending.has(run)) sending.set(run, computed(() => outbox.value.filter((x) => x.kind === "input" && x.run_id === run && x.state !== "applied")));
  return sending.get(run);
}
