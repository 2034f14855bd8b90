// A worker: it runs Concerto's WebAssembly module, for the analysis or for one run. The page posts
// the compiled module first, and then calls; the worker posts results and events.
import * as memfs from "./memfs.js";
import "go/wasm_exec.js";

// events of a run are collected for this time, so that a program that prints a lot posts few messages
const gather = 8; // milliseconds
let queue = [];
let posted = 0;
let warmed = () => {}; // called at the end of the program that warms the worker
let isWarming = false;

function flush() {
  if (queue.length === 0) return;
  postMessage({ events: queue });
  queue = [];
  posted = performance.now();
}

globalThis.concertoEvent = (text) => {
  if (isWarming) {
    if (text.startsWith('{"kind":"end"')) warmed();
    return;
  }
  queue.push(text);
  if (performance.now() - posted > gather || text.startsWith('{"kind":"end"') || text.startsWith('{"kind":"waiting"')) flush();
  else if (queue.length === 1) setTimeout(flush, gather);
};

// The page learns when the program begins and ends to wait, so that it can stop a program that
// computes for too long. A program that computes returns to the event loop often, but only for a
// moment.
const moment = 25; // milliseconds
let ended = 0; // time at which the program has returned
let idle = false;
let timer = 0;

function watch(go) {
  const resume = go._resume.bind(go);
  go._resume = () => {
    if (idle) {
      idle = false;
      postMessage({ busy: true });
    }
    resume();
    ended = performance.now();
    timer ||= setTimeout(rest, moment);
  };
}

function rest() {
  const passed = performance.now() - ended;
  timer = 0;
  if (passed < moment - 1) {
    timer = setTimeout(rest, moment - passed);
  } else if (!idle) {
    idle = true;
    postMessage({ busy: false });
  }
}

// concertoFile reads a file of the playground, at once: Go's package os waits for it.
globalThis.concertoFile ??= (name) => {
  const request = new XMLHttpRequest();
  request.open("GET", new URL(`./${name}`, import.meta.url), false);
  request.responseType = "arraybuffer";
  request.send();
  if (request.status !== 200) throw new Error(`status ${request.status}`);
  return new Uint8Array(request.response);
};

const calls = {
  files: () => memfs.list(),
  mount: (files) => memfs.put(files),
};

// warm runs an empty program, so that the browser has compiled most functions before the user runs one.
async function warm() {
  isWarming = true;
  memfs.put({ "main.conc": 'fn main() { println("${1}"); }' });
  const end = new Promise((resolve) => (warmed = resolve));
  globalThis.concerto.run('{"path":"main.conc","alone":true}');
  await end;
  memfs.put({});
  isWarming = false;
}

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
    go.env = { ZONEINFO: memfs.zones };
    watch(go);
    const ready = new Promise((resolve) => (globalThis.concertoReady = resolve));
    try {
      const instance = await WebAssembly.instantiate(data.module, go.importObject);
      go.run(instance).then(
        () => postMessage({ died: memfs.crash() || "the worker has exited" }),
        (e) => postMessage({ died: memfs.crash() || String(e) }),
      );
      await ready;
      if (data.runs) await warm();
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
