// The page's access to its two workers: one for the analysis, one for the run. The WebAssembly
// module is compiled once and posted to both.

// limits are those of a run.
export const limits = { computation: 60_000, output: 1 << 20 };

// A Worker of the page: calls return promises of their results.
class Engine {
  constructor(module, onEvents, onDeath) {
    this.worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "concerto" });
    this.pending = new Map();
    this.last = 0;
    this.ready = new Promise((resolve, reject) => (this.begun = { resolve, reject }));
    this.ready.catch(() => {}); // onDeath reports it
    const die = (reason) => {
      if (this.dead) return;
      this.dead = true;
      this.worker.terminate();
      this.begun.reject(new Error(reason));
      for (const p of this.pending.values()) p.reject(new Error(reason));
      this.pending.clear();
      onDeath(reason);
    };
    this.die = die;
    this.worker.onerror = (e) => {
      e.preventDefault();
      die(e.message || "the worker could not be loaded");
    };
    this.worker.onmessage = ({ data }) => {
      if (this.dead) return;
      if (data.events) onEvents(data.events.map((text) => JSON.parse(text)));
      else if (data.ready) this.begun.resolve();
      else if (data.id) {
        const p = this.pending.get(data.id);
        this.pending.delete(data.id);
        if (data.error === undefined) p.resolve(data.value);
        else p.reject(new Error(data.error));
      }
      if (data.died) die(data.died);
    };
    this.worker.postMessage({ module });
  }

  call(call, argument) {
    return new Promise((resolve, reject) => {
      if (this.dead) {
        reject(new Error("the worker has ended"));
        return;
      }
      this.pending.set(++this.last, { resolve, reject });
      this.worker.postMessage({ id: this.last, call, argument });
    });
  }

  // end stops the worker, also while it computes.
  end() {
    this.dead = true;
    this.worker.terminate();
    for (const p of this.pending.values()) p.reject(new Error("the run was stopped"));
    this.pending.clear();
  }
}

// Engines starts the workers and owns the current run. listener receives {kind, data}: the events of
// a run, and "stopped", "died" and "analysis-died".
export class Engines {
  constructor(listener) {
    this.listener = listener;
    this.ready = this.start();
  }

  async start() {
    const response = fetch(new URL("./concerto.wasm", import.meta.url));
    this.module = await WebAssembly.compileStreaming(response);
    this.prepare();
    this.analyse();
    await Promise.all([this.analysis.ready, this.runner.ready]);
  }

  analyse() {
    this.analysis = new Engine(this.module, () => {}, (reason) => this.listener({ kind: "analysis-died", data: reason }));
  }

  // prepare starts the worker of the next run.
  prepare() {
    const engine = new Engine(this.module, (events) => {
      if (engine === this.runner) events.forEach((e) => this.handle(e));
    }, (reason) => {
      if (engine !== this.runner) return;
      this.prepare();
      if (this.running) this.finish("died", reason);
    });
    this.runner = engine;
  }

  // restartAnalysis replaces a worker of the analysis that has died.
  restartAnalysis() {
    this.analyse();
    return this.analysis.ready;
  }

  // run runs a program. The listener receives its events, the last of which is "end", "stopped" or
  // "died".
  async run(files, request) {
    if (this.running) throw new Error("a program is running");
    this.running = true;
    this.output = 0;
    const engine = this.runner;
    this.engine = engine;
    this.compute(true);
    try {
      await engine.ready;
      await engine.call("mount", files);
      await engine.call("run", request);
    } catch (e) {
      if (this.running && this.engine === engine && !engine.dead) this.finish("died", e.message);
    }
  }

  handle(e) {
    if (!this.running) return;
    if (e.kind === "waiting" || e.kind === "at") this.compute(false);
    if (e.kind === "computing") this.compute(true);
    if (e.kind === "stdout" || e.kind === "stderr") {
      const rest = limits.output - this.output;
      this.output += e.data.length;
      if (rest <= 0) return;
      if (e.data.length >= rest) {
        this.listener({ kind: e.kind, data: e.data.slice(0, rest) });
        this.listener({ kind: "cut" });
        return;
      }
    }
    if (e.kind === "end") this.end(e);
    else this.listener(e);
  }

  // compute starts or ends the limit for a program that computes without waiting.
  compute(on) {
    clearTimeout(this.watch);
    if (on) this.watch = setTimeout(() => this.cancel("computed"), limits.computation);
  }

  async end(e) {
    this.compute(false);
    const engine = this.engine;
    let files = {};
    try {
      files = await engine.call("files");
    } catch {
      // the worker was stopped
    }
    if (!this.running || this.engine !== engine) return;
    engine.end();
    this.prepare();
    this.running = false;
    this.listener({ kind: "files", data: files });
    this.listener(e);
  }

  finish(kind, data) {
    this.compute(false);
    this.running = false;
    this.listener({ kind, data });
  }

  // stop ends the run at once and prepares the next one.
  stop() {
    this.cancel("stopped");
  }

  cancel(kind) {
    if (!this.running) return;
    this.engine.end();
    this.prepare();
    this.finish(kind);
  }

  answer(number, value) {
    return this.engine.call("answer", { number, value });
  }

  host(host, proc, line) {
    return this.engine.call("host", { host, proc, line });
  }

  step(toEnd) {
    return this.engine.call("step", toEnd);
  }
}
