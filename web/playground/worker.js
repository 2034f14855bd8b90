// A worker: it runs Concerto's WebAssembly module, for the analysis or for one run. The page posts
// the compiled module first, and then calls; the worker posts results and events.
import * as memfs from "./memfs.js";
import "go/wasm_exec.js";

// events of a run are collected for this time, so that a program that prints a lot posts few messages
const gather = 8; // milliseconds
let queue = [];
let posted = 0;

function flush() {
  if (queue.length === 0) return;
  postMessage({ events: queue });
  queue = [];
  posted = performance.now();
}

globalThis.concertoEvent = (text) => {
  queue.push(text);
  if (performance.now() - posted > gather || text.startsWith('{"kind":"end"') || text.startsWith('{"kind":"waiting"')) flush();
  else if (queue.length === 1) setTimeout(flush, gather);
};

const calls = {
  files: () => memfs.list(),
  mount: (files) => memfs.put(files),
};

function call(name, argument) {
  if (calls[name]) return calls[name](argument);
  const reply = JSON.parse(globalThis.concerto[name](JSON.stringify(argument ?? null)));
  if (reply.error !== undefined) throw new Error(reply.error);
  return reply.value;
}

onmessage = async ({ data }) => {
  if (data.module) {
    const go = new globalThis.Go();
    go.argv = ["concerto", memfs.cwd];
    const ready = new Promise((resolve) => (globalThis.concertoReady = resolve));
    try {
      const instance = await WebAssembly.instantiate(data.module, go.importObject);
      go.run(instance).then(
        () => postMessage({ died: memfs.crash() || "the worker has exited" }),
        (e) => postMessage({ died: memfs.crash() || String(e) }),
      );
      await ready;
      postMessage({ ready: true });
    } catch (e) {
      postMessage({ died: memfs.crash() || String(e) });
    }
    return;
  }
  try {
    postMessage({ id: data.id, value: call(data.call, data.argument) });
  } catch (e) {
    postMessage({ id: data.id, error: e.message, died: e instanceof WebAssembly.RuntimeError ? memfs.crash() || String(e) : undefined });
  }
};
