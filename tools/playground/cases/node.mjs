// Runs programs in the worker of the playground under Node. The argument is the directory of the
// playground. Each line of the input is a job {files, request, check}; each line of the output is its
// result {code, stdout, stderr, emits, notices, check}.
import { readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const dir = process.argv[2];
const input = process.stdin;
const module = await WebAssembly.compile(readFileSync(join(dir, "playground/concerto.wasm")));
const print = (value) => writeSync(1, `${JSON.stringify(value)}\n`);
const exit = process.exit.bind(process);

let handle = () => {};
globalThis.concertoFile = (name) => new Uint8Array(readFileSync(join(dir, "playground", name)));
globalThis.postMessage = (message) => handle(message);
globalThis.onmessage = null;
await import(pathToFileURL(join(dir, "playground/worker.js")));
const post = (data) => globalThis.onmessage({ data });

await new Promise((resolve, reject) => {
  handle = (m) => (m.ready ? resolve() : reject(new Error(m.died)));
  post({ module });
});

let last = 0;
function call(name, argument, onEvent = () => {}) {
  return new Promise((resolve, reject) => {
    const id = ++last;
    handle = (m) => {
      if (m.events) m.events.forEach((text) => onEvent(JSON.parse(text)));
      if (m.died) reject(new Error(m.died));
      if (m.id === id) {
        if (m.error === undefined) resolve(m.value);
        else reject(new Error(m.error));
      }
    };
    post({ id, call: name, argument });
  });
}

async function play({ files, request, check }) {
  const out = { code: -1, stdout: "", stderr: "", emits: [], notices: [] };
  if (check) {
    await call("mount", {});
    await call("put", files);
    out.check = await call("check", { name: "main.conc" });
    await call("put", {});
  }
  if (!request) return out;
  await call("mount", files);
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  const onEvent = ({ kind, data }) => {
    if (/^(std|event$)/.test(kind)) out[kind === "stdout" ? kind : "stderr"] += data;
    else if (kind === "emit") out.emits.push(data);
    else if (kind === "notice") out.notices.push(data);
    else if (kind === "end") {
      out.code = data;
      end();
    }
  };
  await call("run", request, onEvent);
  await ended;
  return out;
}

for await (const line of createInterface({ input })) {
  try {
    print(await play(JSON.parse(line)));
  } catch (e) {
    print({ died: e.message });
    exit(1);
  }
}
exit(0);
