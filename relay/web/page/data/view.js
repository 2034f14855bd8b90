// An open run: its loaded events in order, each once, and the values that are computed from them.
import { api, incoming } from "./api.js";
import { addEvents, dropEvents, firstOf, getEvents, maxEvents } from "./cache.js";
import { sentence } from "./errors.js";
import { History } from "./history.js";
import { Queue } from "./queue.js";
import { batch, computed, signal } from "./signals.js";
import { noteRow, run as rowOf } from "./store.js";

const page = 500; // number of events in a request
const jump = 2000; // minimum number of events after the cursor for which an opened view starts near the end
const holeTries = 3;
const updateInterval = 200; // interval in ms between updates while the view receives a backlog
const saveDelay = 500; // in ms
const savedAtOnce = 200; // maximum number of events that are stored in one transaction

// View is an open run. Its owner (follow.js) connects it: `follow(view)` subscribes to the events
// after view.cursor.
export class View {
  id;
  users = 0;
  state = signal({ state: "loading", live: false, from: "cache", backlog: 0 });
  earlier = signal({ more: false, loading: false });
  meta = signal({});
  size = signal(null);
  last = signal(0);
  end = signal(0); // number of an event that the machine has sealed and that should have arrived, or 0
  items; // computed: the items of the thread, and the inputs that are not applied

  #base = signal([]);
  #history;
  #queue;
  #follow;
  #first = 0; // sequence number of the first loaded event; 0 while no event is loaded
  #stored; // promise that resolves when the stored events are shown
  #updateTimer = 0; // timer of the next update; 0 if there is none
  #unsaved = [];
  #saveTimer = 0;
  #asking = null; // {seq, tries} while an event is missing; otherwise null
  #skipsHole = false; // accept the next event even if events before it are missing
  #loading = null;
  #hasRow = false; // the server has reported the last sequence number of the run
  #listeners = new Set(); // callbacks for output
  #resets = new Set();
  #output = [];
  #closed = false;

  constructor(id, follow, sending) {
    this.id = id;
    this.#follow = follow;
    this.row = rowOf(id);
    this.#history = new History(() => this.row.peek());
    this.#queue = new Queue((e) => this.#handle(e), () => this.#update());
    this.items = computed(() => withWithheld(withSending(this.#base.value, sending.value), this.end.value, this.last));
    this.#stored = this.#restore();
  }

  get cursor() { return this.last.peek(); }

  // restore shows the events that this browser has stored.
  async #restore() {
    let cached = [];
    try { cached = await getEvents(this.id); } catch { /* then the server sends all */ }
    if (this.#closed || !cached.length) return;
    this.#first = firstOf(cached[0]);
    this.earlier.value = { more: this.#first > 1, loading: false };
    this.last.value = this.#first - 1;
    await this.#all(cached, true);
    this.#setState({ state: "ready" });
  }

  // all handles a list of events and waits until they are shown.
  #all(events, cached = false) {
    if (!events.length) return Promise.resolve();
    return new Promise((resolve) => {
      for (const e of events) this.#queue.put({ e, cached });
      this.#queue.put({ done: resolve });
    });
  }

  // connected is called after each connect. It loads missing events and then subscribes.
  async connected() {
    await this.load();
    if (this.#hasRow && !this.#closed) this.#follow(this);
  }

  // load requests the last sequence number of the run. If the end of the run is not loaded and far
  // ahead, load loads it.
  load() {
    if (this.#hasRow) return Promise.resolve();
    this.#loading ??= this.#load().catch((err) => { if (!this.#closed) this.#failed(err); }).finally(() => { this.#loading = null; });
    return this.#loading;
  }

  async #load() {
    await this.#stored;
    const row = await api.get("/runs/" + encodeURIComponent(this.id));
    if (this.#closed) return;
    noteRow(row);
    const backlog = row.last_seq - this.cursor;
    if (backlog < 0 || backlog > jump) await this.#restart(); // a negative number means that the server has lost events
    if (this.cursor === 0 && row.last_seq > 0) await this.#loadEnd(row.last_seq);
    if (this.#closed) return;
    this.#hasRow = true;
    this.#setState({ state: "ready", from: "server", error: undefined });
  }

  #failed(err) {
    if (err.code === "unknown_run") {
      dropEvents(this.id).catch(() => {});
      this.#setState({ state: "unknown", live: false, error: sentence(err) });
      return;
    }
    this.#setState({ state: this.cursor ? "ready" : "error", live: false, error: sentence(err) });
  }

  // restart drops all loaded and stored events of the run and loads its end.
  async #restart() {
    this.#empty();
    await dropEvents(this.id).catch(() => {});
  }

  #empty() {
    for (const x of this.#queue.clear()) x.done?.();
    this.#unsaved = [];
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

  // pages yields the events after one sequence number up to another. A response may contain fewer
  // events than requested.
  async #pages(after, end) {
    const all = [];
    for (;;) {
      const answer = await api.get(`/runs/${encodeURIComponent(this.id)}/events?after=${after}&limit=${page}`);
      all.push(...answer.events.filter((e) => e.seq <= end));
      after = answer.events.at(-1)?.seq ?? end;
      if (!answer.more || after >= end || this.#closed) return all;
    }
  }

  // loadEarlier loads the page of events before the loaded ones.
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
    incoming.earlier(this.id, events, this.#first);
    this.#history.prepend(events);
    if (events.length) this.#first = Math.min(this.#first, firstOf(events[0]));
    this.earlier.value = { more: after > 0 && this.#first > 1, loading: false };
    const output = events.filter((e) => e.type === "run.output").map(asOutput);
    this.#output = [...output, ...this.#output];
    this.#publish();
    if (!output.length) return;
    for (const fn of this.#resets) fn();
    for (const o of this.#output) for (const fn of this.#listeners) fn(o);
  }

  // handleEvent handles an event from the connection.
  handleEvent(e) {
    this.#queue.put({ e });
    if (this.#queue.length === 1000) this.#setState({ backlog: this.#queue.length }); // a long backlog
  }

  // caughtUp is called when the server has sent all existing events.
  caughtUp() { this.#queue.put({ caughtUp: true }); }

  // lost is called when the connection is lost.
  lost() { this.#setState({ live: false }); }

  // refused is called when the server rejects the subscription. The error bad_cursor means that the
  // run is shorter than the cursor.
  async refused(code, message) {
    if (code !== "bad_cursor") { this.#failed({ code, message }); return; }
    this.#hasRow = false;
    await this.#restart();
    await this.connected();
  }

  #handle({ e, cached, done, caughtUp }) {
    if (done) { this.#publish(); done(); }
    else if (!caughtUp) this.#event(e, cached);
    else if (!this.#retryHole()) this.#setState({ live: true, backlog: 0, error: undefined });
  }

  // event handles an event if it is the next one of the run. If events are missing, it requests
  // them.
  #event(e, cached) {
    const last = this.cursor;
    if (e.seq <= last) return; // a duplicate
    if (last > 0 && firstOf(e) > last + 1) {
      if (!this.#skipsHole) { this.#askFrom(last); return; }
    }
    this.#skipsHole = false;
    this.last.value = e.seq;
    this.#first ||= firstOf(e);
    this.#history.add(e);
    if (e.type === "run.output") this.#outputs(asOutput(e));
    if (!cached && !e.enc && !e.doubtful) this.#save(e); // the others are checked again
  }

  // askFrom subscribes again, to the events after a sequence number. Events that arrive before the
  // answer belong to the earlier subscription.
  #askFrom(seq) {
    if (this.#asking) return;
    this.#asking = { seq, tries: 0 };
    this.#setState({ live: false });
    this.#follow(this);
  }

  // retryHole reports whether events are still missing after the server has sent all events. The
  // server reports missing events by a gap event. After several attempts the view accepts the gap.
  #retryHole() {
    const asking = this.#asking;
    if (!asking) return false;
    if (this.cursor > asking.seq) { this.#asking = null; return false; }
    if (++asking.tries >= holeTries) {
      this.#asking = null;
      this.#skipsHole = true;
    }
    this.#follow(this);
    return true;
  }

  // update updates the signals: at once if the view is live, and otherwise at intervals.
  #update() {
    if (this.state.peek().live) this.#publish();
    else this.#updateTimer ||= setTimeout(() => batch(() => this.#publish()), updateInterval);
  }

  #publish() {
    clearTimeout(this.#updateTimer);
    this.#updateTimer = 0;
    this.#base.value = this.#history.items();
    this.meta.value = this.#history.meta();
    this.size.value = this.#history.size();
    const { backlog } = this.state.peek();
    if (backlog) this.#setState({ backlog: this.#queue.length });
  }

  #setState(more) {
    const now = { ...this.state.peek(), ...more };
    if (JSON.stringify(now) !== JSON.stringify(this.state.peek())) this.state.value = now;
  }

  #outputs(o) {
    this.#output.push(o);
    for (const fn of this.#listeners) fn(o);
  }

  // output calls fn for all loaded output, and then for new output.
  output(fn) {
    for (const o of this.#output) fn(o);
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  // onReset calls fn when the output restarts from another place.
  onReset(fn) {
    this.#resets.add(fn);
    return () => this.#resets.delete(fn);
  }

  #save(e) {
    this.#unsaved.push(e);
    this.#saveTimer ||= setTimeout(() => this.#flush(), saveDelay);
  }

  // flush stores the waiting events in portions. Storing may fail, because the events can be loaded
  // again.
  #flush() {
    clearTimeout(this.#saveTimer);
    this.#unsaved.splice(0, Math.max(0, this.#unsaved.length - maxEvents));
    addEvents(this.id, this.#unsaved.splice(0, savedAtOnce)).catch(() => {});
    this.#saveTimer = this.#unsaved.length ? setTimeout(() => this.#flush()) : 0;
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#updateTimer);
    this.#flush(); // the other portions of a long list are already stored
    this.#queue.close();
  }

  // forget clears the view, because another user logs in.
  forget() {
    this.#hasRow = false;
    this.#empty();
    this.state.value = { state: "loading", live: false, from: "cache", backlog: 0 };
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

// withWithheld adds a report of the events that the server withholds after the last one. end is the
// number of the last of them. The report disappears when they arrive.
function withWithheld(items, end, last) {
  if (!end || last.value >= end) return items;
  return [...items, { key: "withheld", kind: "refused", role: "system", seq: null, data: { code: "changed", from: last.value + 1, to: end } }];
}

const asSending = (entry) => ({ key: "sending " + entry.id, kind: "sending", role: "user", seq: null, ts: new Date(entry.created).toISOString(), text: entry.label, data: entry });
