// Signals are values that track their readers: a computed value is recomputed, and an effect runs
// again, when a signal it has read changes.

let reader = null; // running Reader; the signals that are read now become its sources
let changes = 0; // total number of changes of all signals
let depth = 0; // number of nested batches
const pending = new Set(); // readers to check at the end of the batch

// Reader depends on signals. Its act method is called when a signal that it has read changes.
export class Reader {
  sources = new Map(); // signals that it has read, with their versions at that time
  isListening = () => true;
  notify = () => pending.add(this);

  constructor(act) { this.act = act; }

  // read runs fn and records which signals it reads.
  read(fn) {
    const end = this.begin();
    try { return fn(); } finally { end(); }
  }

  // begin records the signals that are read until the returned function is called.
  begin() {
    const outer = reader, before = this.sources;
    this.sources = new Map();
    reader = this;
    return () => {
      reader = outer;
      for (const s of before.keys()) if (!this.sources.has(s)) s.leave(this);
    };
  }

  hasNews() {
    for (const [s, version] of this.sources) {
      try { s.refresh(); } catch { return true; } // the reader receives the error when it reads the signal
      if (s.version !== version) return true;
    }
    return false;
  }

  stop() {
    for (const s of this.sources.keys()) s.leave(this);
    pending.delete(this);
  }
}

class Signal {
  version = 0;
  readers = new Set();
  #value;

  constructor(value) { this.#value = value; }

  get value() {
    try {
      this.refresh();
    } finally {
      reader?.sources.set(this, this.version);
      if (reader?.isListening()) this.join(reader);
    }
    return this.#value;
  }

  set value(to) {
    if (!this.put(to)) return;
    changes++;
    batch(() => this.notify());
  }

  peek() {
    this.refresh();
    return this.#value;
  }

  put(to) {
    if (to === this.#value) return false;
    this.#value = to;
    return ++this.version;
  }

  refresh() {}
  join(r) { this.readers.add(r); }
  leave(r) { this.readers.delete(r); }

  notify() {
    for (const r of this.readers) r.notify();
  }
}

// Computed is both a signal and a reader. Its value is computed when it is read. Its sources
// reference it only while it has readers.
class Computed extends Signal {
  #fn;
  #version = -1; // value of changes when the computed value was last up to date
  #self = new Reader();

  constructor(fn) {
    super();
    this.#fn = fn;
    this.#self.isListening = () => this.readers.size > 0;
    this.#self.notify = () => this.notify();
  }

  refresh() {
    if (this.#version === changes) return;
    if (this.#version < 0 || this.#self.hasNews()) {
      this.#version = -1; // errors are not cached
      this.put(this.#self.read(this.#fn));
    }
    this.#version = changes;
  }

  join(r) {
    if (!this.readers.size) for (const s of this.#self.sources.keys()) s.join(this.#self);
    super.join(r);
  }

  leave(r) {
    super.leave(r);
    if (!this.readers.size) this.#self.stop();
  }
}

export const signal = (value) => new Signal(value);

// computed returns a signal of fn's result.
export const computed = (fn) => new Computed(fn);

// effect runs fn, and again after each change of a signal it has read. It returns a function that
// stops it.
export function effect(fn) {
  const e = new Reader(() => e.read(fn));
  e.act();
  return () => e.stop();
}

// batch runs fn and notifies readers once, at the end of the outermost batch.
export function batch(fn) {
  depth++;
  try {
    return fn();
  } finally {
    if (depth === 1) for (const e of pending) {
      pending.delete(e);
      try { if (e.hasNews()) e.act(); } catch (err) { reportError(err); }
    }
    depth--;
  }
}
