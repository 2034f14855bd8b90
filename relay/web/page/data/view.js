// One run, as it is looked at: the events that are loaded, in order of seq and each once, and what is
// made of them.
import { api } from "./api.js";
import { addEvents, dropEvents, eventsKept, firstOf, getEvents } from "./cache.js";
import { sentence } from "./errors.js";
import { History } from "./history.js";
import { Queue } from "./queue.js";
import { batch, computed, signal } from "./signals.js";
import { noteRow, run as rowOf } from "./store.js";

const page = 500; // events that are asked for at once
const jump = 2000; // who is further behind when a run is opened begins near its end
const holeTries = 3;
const tellEach = 200; // ms: how often what is caught up with is drawn
const keepAfter = 500; // ms
const keptAtOnce = 200; // events

// View is a run that is looked at. Its owner (follow.js) connects it: `follow(view)` asks for events
// behind view.cursor.
export class View {
  id;
  users = 0;
  state = signal({ state: "loading", live: false, from: "cache", behind: 0 });
  earlier = signal({ more: false, loading: false });
  meta = signal({});
  size = signal(null);
  last = signal(0);
  items; // computed: the thread, and what waits in the outbox

  #base = signal([]);
  #history;
  #queue;
  #follow;
  #first = 0; // the first seq that is loaded; 0 while nothing is
  #stored; // what the cache has is shown
  #untold = 0; // a timer: what was taken is not shown yet
  #unkept = [];
  #keeping = 0;
  #asking = null; // {seq, tries}: something came that is not the next
  #passes = false; // what does not follow is taken
  #loading = null;
  #known = false; // the server has said how far the run is
  #hearers = new Set(); // of output
  #resets = new Set();
  #output = [];
  #closed = false;

  constructor(id, follow, sending) {
    this.id = id;
    this.#follow = follow;
    this.row = rowOf(id);
    this.#history = new History(() => this.row.peek());
    this.#queue = new Queue((e) => this.#take(e), () => this.#tell());
    this.items = computed(() => withSending(this.#base.value, sending.value));
    this.#stored = this.#restore();
  }

  get cursor() { return this.last.peek(); }

  // restore shows what this browser has kept.
  async #restore() {
    let kept = [];
    try { kept = await getEvents(this.id); } catch { /* then the server is asked for all */ }
    if (this.#closed || !kept.length) return;
    this.#first = firstOf(kept[0]);
    this.earlier.value = { more: this.#first > 1, loading: false };
    this.last.value = this.#first - 1;
    await this.#all(kept, true);
    this.#say({ state: "ready" });
  }

  // all takes events, and waits until they are shown.
  #all(events, kept = false) {
    if (!events.length) return Promise.resolve();
    return new Promise((resolve) => {
      for (const e of events) this.#queue.put({ e, kept });
      this.#queue.put({ done: resolve });
    });
  }

  // connected is called each time there is a connection: what is not loaded is, and then followed.
  async connected() {
    await this.load();
    if (this.#known && !this.#closed) this.#follow(this);
  }

  // load finds out how far the run is, and loads its end when that is not here, or far ahead.
  load() {
    if (this.#known) return Promise.resolve();
    this.#loading ??= this.#load().catch((err) => { if (!this.#closed) this.#failed(err); }).finally(() => { this.#loading = null; });
    return this.#loading;
  }

  async #load() {
    await this.#stored;
    const row = await api.get("/runs/" + encodeURIComponent(this.id));
    if (this.#closed) return;
    noteRow(row);
    const behind = row.last_seq - this.cursor;
    if (behind < 0 || behind > jump) await this.#restart(); // below 0 the server has lost what was seen here
    if (this.cursor === 0 && row.last_seq > 0) await this.#loadEnd(row.last_seq);
    if (this.#closed) return;
    this.#known = true;
    this.#say({ state: "ready", from: "server", error: undefined });
  }

  #failed(err) {
    if (err.code === "unknown_run") {
      dropEvents(this.id).catch(() => {});
      this.#say({ state: "unknown", live: false, error: sentence(err) });
      return;
    }
    this.#say({ state: this.cursor ? "ready" : "error", live: false, error: sentence(err) });
  }

  // restart forgets what is loaded and kept of it.
  async #restart() {
    this.#empty();
    await dropEvents(this.id).catch(() => {});
  }

  #empty() {
    for (const x of this.#queue.clear()) x.done?.();
    this.#unkept = [];
    this.#history = new History(() => this.row.peek());
    this.#first = 0;
    this.#output = [];
    this.#asking = null;
    batch(() => {
      this.last.value = 0;
      this.earlier.value = { more: false, loading: false };
      this.#publish();
    });
    for (const fn of this.#resets) fn();
  }

  async #loadEnd(end) {
    const after = Math.max(0, end - page);
    const events = await this.#pages(after, end);
    if (!events.length || this.#closed) return;
    this.#first = firstOf(events[0]);
    this.last.value = this.#first - 1;
    this.earlier.value = { more: after > 0, loading: false };
    await this.#all(events);
  }

  // pages gives the events behind a seq up to another; an answer may be shorter than it was asked for.
  async #pages(after, end) {
    const all = [];
    for (;;) {
      const answer = await api.get(`/runs/${encodeURIComponent(this.id)}/events?after=${after}&limit=${page}`);
      all.push(...answer.events.filter((e) => e.seq <= end));
      after = answer.events.at(-1)?.seq ?? end;
      if (!answer.more || after >= end || this.#closed) return all;
    }
  }

  // loadEarlier loads the page before what is loaded.
  async loadEarlier() {
    const { more, loading } = this.earlier.peek();
    if (!more || loading || !this.#first) return;
    this.earlier.value = { more, loading: true };
    const history = this.#history;
    try {
      let events = [];
      let after = this.#first - 1;
      while (!events.length && after > 0) { // a gap may be longer than a page
        const end = after;
        after = Math.max(0, after - page);
        events = await this.#pages(after, end);
      }
      if (this.#closed || history !== this.#history) return;
      batch(() => this.#before(events, after));
    } catch (err) {
      this.earlier.value = { more: true, loading: false, error: sentence(err) };
    }
  }

  #before(events, after) {
    this.#history.prepend(events);
    if (events.length) this.#first = Math.min(this.#first, firstOf(events[0]));
    this.earlier.value = { more: after > 0 && this.#first > 1, loading: false };
    const output = events.filter((e) => e.type === "run.output").map(asOutput);
    this.#output = [...output, ...this.#output];
    this.#publish();
    if (!output.length) return;
    for (const fn of this.#resets) fn();
    for (const o of this.#output) for (const fn of this.#hearers) fn(o);
  }

  // heard takes an event that came over the connection.
  heard(e) {
    this.#queue.put({ e });
    if (this.#queue.length === 1000) this.#say({ behind: this.#queue.length }); // there is much to come
  }

  // caughtUp says that all that there was has come.
  caughtUp() { this.#queue.put({ caughtUp: true }); }

  // lost says that the connection is gone.
  lost() { this.#say({ live: false }); }

  // refused says that the server does not let it be followed: with bad_cursor the run ends before.
  async refused(code, message) {
    if (code !== "bad_cursor") { this.#failed({ code, message }); return; }
    this.#known = false;
    await this.#restart();
    await this.connected();
  }

  #take({ e, kept, done, caughtUp }) {
    if (done) { this.#publish(); done(); }
    else if (!caughtUp) this.#event(e, kept);
    else if (!this.#asksAgain()) this.#say({ live: true, behind: 0, error: undefined });
  }

  // event takes an event when it is the next of its run; else the server is asked from where we are.
  #event(e, kept) {
    const last = this.cursor;
    if (e.seq <= last) return; // it was here
    if (last > 0 && firstOf(e) > last + 1) {
      if (!this.#passes) { this.#askFrom(last); return; }
    }
    this.#passes = false;
    this.last.value = e.seq;
    this.#first ||= firstOf(e);
    this.#history.add(e);
    if (e.type === "run.output") this.#outputs(asOutput(e));
    if (!kept) this.#keep(e);
  }

  // askFrom asks for what is behind a seq; what else comes meanwhile was sent before.
  #askFrom(seq) {
    if (this.#asking) return;
    this.#asking = { seq, tries: 0 };
    this.#say({ live: false });
    this.#follow(this);
  }

  // asksAgain says whether what was asked for has still not come, all having been told. It should: what
  // is missing is said by an event. After some tries it is passed over.
  #asksAgain() {
    const asking = this.#asking;
    if (!asking) return false;
    if (this.cursor > asking.seq) { this.#asking = null; return false; }
    if (++asking.tries >= holeTries) {
      this.#asking = null;
      this.#passes = true;
    }
    this.#follow(this);
    return true;
  }

  // tell shows what was taken: at once, or now and then while there is more to come.
  #tell() {
    if (this.state.peek().live) this.#publish();
    else this.#untold ||= setTimeout(() => batch(() => this.#publish()), tellEach);
  }

  #publish() {
    clearTimeout(this.#untold);
    this.#untold = 0;
    this.#base.value = this.#history.items();
    this.meta.value = this.#history.meta();
    this.size.value = this.#history.size();
    const { behind } = this.state.peek();
    if (behind) this.#say({ behind: this.#queue.length });
  }

  #say(more) {
    const now = { ...this.state.peek(), ...more };
    if (JSON.stringify(now) !== JSON.stringify(this.state.peek())) this.state.value = now;
  }

  #outputs(o) {
    this.#output.push(o);
    for (const fn of this.#hearers) fn(o);
  }

  // output gives all output that is loaded, then what comes.
  output(fn) {
    for (const o of this.#output) fn(o);
    this.#hearers.add(fn);
    return () => this.#hearers.delete(fn);
  }

  // onReset hears that output begins anew.
  onReset(fn) {
    this.#resets.add(fn);
    return () => this.#resets.delete(fn);
  }

  #keep(e) {
    this.#unkept.push(e);
    this.#keeping ||= setTimeout(() => this.#flush(), keepAfter);
  }

  // flush keeps what is not kept, some at a time. It is a cache: what cannot be kept is asked for again.
  #flush() {
    clearTimeout(this.#keeping);
    this.#unkept.splice(0, Math.max(0, this.#unkept.length - eventsKept));
    addEvents(this.id, this.#unkept.splice(0, keptAtOnce)).catch(() => {});
    this.#keeping = this.#unkept.length ? setTimeout(() => this.#flush()) : 0;
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#untold);
    this.#flush(); // what is left of much is kept meanwhile
    this.#queue.close();
  }

  // forget forgets what it shows, for somebody else may look.
  forget() {
    this.#known = false;
    this.#empty();
    this.state.value = { state: "loading", live: false, from: "cache", behind: 0 };
  }
}

const asOutput = (e) => ({ seq: e.seq, text: String(e.data?.text ?? ""), stream: e.data?.stream, off: e.data?.off });

function withSending(items, sending) {
  if (!sending.length) return items;
  const came = new Set();
  for (let i = items.length - 1, n = 0; i >= 0 && n < 200; i--, n++) if (items[i].kind === "input") came.add(items[i].data.input_id);
  const waiting = sending.filter((entry) => !came.has(entry.id));
  return waiting.length ? [...items, ...waiting.map(asSending)] : items;
}

const asSending = (entry) => ({ key: "sending " + entry.id, kind: "sending", role: "user", seq: null, ts: new Date(entry.created).toISOString(), text: entry.label, data: entry });
