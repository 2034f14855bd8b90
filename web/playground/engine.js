// The page's access to its two workers: one for the analysis, one for the run. The WebAssembly
// module is compiled once and posted to both.

// limits are those of a run.
export const limits = { computation: 60_000, output: 1 << 20 };

const patience = 20_000; // milliseconds after which an analysis that does not answer is replaced

// A Worker of the page: calls return promises of their results.
class Engine {
  constructor(module, { onEvents = () => {}, onDeath, onBusy = () => {}, patience = 0, runs = false }) {
    this.patience = patience;
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
      this.reject(reason);
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
      else if (data.busy !== undefined) onBusy(data.busy);
      else if (data.ready) {
        this.isReady = true;
        this.begun.resolve();
      } else if (data.id) {
        const p = this.pending.get(data.id);
        this.pending.delete(data.id);
        clearTimeout(p.timer);
        if (data.error === undefined) p.resolve(data.value);
        else p.reject(new Error(data.error));
      }
      if (data.died) die(data.died);
    };
    module.then((m) => this.worker.postMessage({ module: m, runs }), (e) => die(e.message));
  }

  call(call, argument) {
    return new Promise((resolve, reject) => {
      if (this.dead) {
        reject(new Error("the worker has ended"));
        return;
      }
      const timer = this.patience && setTimeout(() => this.die("it does not answer"), this.patience);
      this.pending.set(++this.last, { resolve, reject, timer });
      this.worker.postMessage({ id: this.last, call, argument });
    });
  }

  // end stops the worker, also while it computes.
  end() {
    this.dead = true;
    this.worker.terminate();
    this.reject("the run was stopped");
  }

  reject(reason) {
    for (const p of this.pending.values()) {
      clearTimeout(p.timer);
      p.reject(new Error(reason));
    }
    this.pending.clear();
  }
}

// download fetches the module. onProgress receives the fetched bytes and their total, which are those
// of the compressed module if the server compresses it. size is the size of the module.
async function download(size, onProgress) {
  const response = await fetch(new URL("./concerto.wasm", import.meta.url));
  const sent = response.headers.has("Content-Encoding") && Number(response.headers.get("Content-Length"));
  const total = sent || size;
  const report = async (reader) => {
    for (let bytes = 0; ;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.length;
      onProgress(Math.min(total, Math.round((bytes / size) * total)), total);
    }
  };
  if (response.ok && size) report(response.clone().body.getReader()).catch(() => {}); // compiling reports the error
  return response;
}

// Engines starts the workers and owns the current run. listener receives {kind, data}: the events of
// a run, and "stopped", "died" and "analysis-died".
export class Engines {
  constructor(listener, size, onProgress) {
    this.listener = listener;
    this.source = download(size, onProgress);
    this.ready = this.start();
  }

  async start() {
    // the workers load their script while the module is compiled
    this.module = WebAssembly.compileStreaming(this.source);
    this.prepare();
    this.analyse();
    await this.module;
    await Promise.all([this.analysis.ready, this.runner.ready]);
  }

  // warm lets the analysis check a program some times while the user reads, so that the browser has
  // compiled its functions before the user types.
  async warm() {
    for (let i = 0; i < 8; i++) {
      await new Promise((resolve) => setTimeout(resolve, 30));
      await this.analysis.call("warm", i);
    }
  }

  analyse() {
    this.analysis = new Engine(this.module, { patience, onDeath: (reason) => this.listener({ kind: "analysis-died", data: reason }) });
  }

  // prepare starts the worker of the next run.
  prepare() {
    const engine = new Engine(this.module, {
      runs: true,
      onEvents: (events) => {
        if (engine === this.runner) events.forEach((e) => this.handle(e));
      },
      onBusy: (busy) => {
        if (engine === this.runner && this.running) this.limit(busy);
      },
      onDeath: (reason) => {
        if (engine !== this.runner) return;
        if (engine.isReady) this.prepare(); // otherwise the next one would die, too
        if (this.running) this.finish("died", reason);
      },
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
    if (this.runner.dead) this.prepare();
    const engine = this.runner;
    this.engine = engine;
    this.limit(true);
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
    if (/^(std|event$)/.test(e.kind)) {
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

  // limit starts or ends the time limit of a program that computes without waiting.
  limit(on) {
    clearTimeout(this.watch);
    if (on) this.watch = setTimeout(() => this.cancel("computed"), limits.computation);
  }

  async end(e) {
    this.limit(false);
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
    this.limit(false);
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

  // send passes the run what it waits for. It is dropped if the run has ended.
  send(name, args) {
    this.engine.call(name, args).catch(() => {});
  }

  answer(number, value) {
    this.send("answer", { number, value });
  }

  host(host, proc, line) {
    return this.engine.call("host", { host, proc, line });
  }

  step(toEnd) {
    this.send("step", toEnd);
  }
}
