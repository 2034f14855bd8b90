// An open run: its loaded events, in order of seq and each once, and the values computed from them.
import { api } from "./api.js";
import { addEvents, dropEvents, eventsKept, firstOf, getEvents } from "./cache.js";
import { sentence } from "./errors.js";
import { History } from "./history.js";
import { Queue } from "./queue.js";
import { batch, computed, signal } from "./signals.js";
import { noteRow, run as rowOf } from "./store.js";

const page = 500; // events in a request
const jump = 2000; // a view that is further behind when opened starts near the end
const holeTries = 3;
const tellEach = 200; // ms between updates while catching up
const keepAfter = 500; // ms
const keptAtOnce = 200; // events

// View is an open run. Its owner (follow.js) connects it: `follow(view)` subscribes to events after
// view.cursor.
export class View {
  id;
  users = 0;
  state = signal({ state: "loading", live: false, from: "cache", behind: 0 });
  earlier = signal({ more: false, loading: false });
  meta = signal({});
  size = signal(null);
  last = signal(0);
  items; // computed: the thread and the waiting inputs

  #base = signal([]);
  #history;
  #queue;
  #follow;
  #first = 0; // the first loaded seq, 0 while nothing is loaded
  #stored; // resolves when the cached events are shown
  #untold = 0; // the timer of the next update
  #unkept = [];
  #keeping = 0;
  #asking = null; // {seq, tries}: an event is missing
  #passes = false; // accept the next event although events before it are missing
  #loading = null;
  #known = false; // the server has reported the run's last seq
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

  // restore shows the events that this browser has stored.
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

  // all handles events and waits until they are shown.
  #all(events, kept = false) {
    if (!events.length) return Promise.resolve();
    return new Promise((resolve) => {
      for (const e of events) this.#queue.put({ e, kept });
      this.#queue.put({ done: resolve });
    });
  }

  // connected is called after each connect: it loads missing events and then subscribes.
  async connected() {
    await this.load();
    if (this.#known && !this.#closed) this.#follow(this);
  }

  // load asks for the run's last seq and loads the end of the run if it is missing or far ahead.
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
    if (behind < 0 || behind > jump) await this.#restart(); // below 0 the server has lost events
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

  // restart drops all loaded and stored events of the run.
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

  // pages yields the events after a seq up to another; a response may be shorter than requested.
  async #pages(after, end) {
    const all = [];
    for (;;) {
      const answer = await api.get(`/runs/${encodeURIComponent(this.id)}/events?after=${after}&limit=${page}`);
      all.push(...answer.events.filter((e) => e.seq <= end));
      after = answer.events.at(-1)?.seq ?? end;
      if (!answer.more || after >= end || this.#closed) return all;
    }
  }

  // loadEarlier loads the page before the loaded events.
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

  // heard handles an event from the connection.
  heard(e) {
    this.#queue.put({ e });
    if (this.#queue.length === 1000) this.#say({ behind: this.#queue.length }); // a long backlog
  }

  // caughtUp is called when all existing events have been sent.
  caughtUp() { this.#queue.put({ caughtUp: true }); }

  // lost is called when the connection is lost.
  lost() { this.#say({ live: false }); }

  // refused is called when the server refuses the subscription. With bad_cursor the run is shorter
  // than the cursor.
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

  // event handles an event if it is the next of its run; otherwise it requests the missing events.
  #event(e, kept) {
    const last = this.cursor;
    if (e.seq <= last) return; // a duplicate
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

  // askFrom subscribes again after a seq. Events that arrive before the answer were sent earlier.
  #askFrom(seq) {
    if (this.#asking) return;
    this.#asking = { seq, tries: 0 };
    this.#say({ live: false });
    this.#follow(this);
  }

  // asksAgain reports whether the missing events are still missing after the server has sent
  // everything. The server reports missing events by a gap event; after some tries the view accepts
  // the gap.
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

  // tell updates the signals: at once when live, else at intervals.
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

  // output calls fn for all loaded output and then for new output.
  output(fn) {
    for (const o of this.#output) fn(o);
    this.#hearers.add(fn);
    return () => this.#hearers.delete(fn);
  }

  // onReset calls fn when the output starts again from another place.
  onReset(fn) {
    this.#resets.add(fn);
    return () => this.#resets.delete(fn);
  }

  #keep(e) {
    this.#unkept.push(e);
    this.#keeping ||= setTimeout(() => this.#flush(), keepAfter);
  }

  // flush stores waiting events in portions. They are a cache: events that cannot be stored are
  // loaded again.
  #flush() {
    clearTimeout(this.#keeping);
    this.#unkept.splice(0, Math.max(0, this.#unkept.length - eventsKept));
    addEvents(this.id, this.#unkept.splice(0, keptAtOnce)).catch(() => {});
    this.#keeping = this.#unkept.length ? setTimeout(() => this.#flush()) : 0;
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#untold);
    this.#flush(); // the rest of a long list was stored before
    this.#queue.close();
  }

  // forget clears the view for another user.
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
