// Commands to runs. The page sends a command at once, or not at all.
import { api } from "./api.js";
import { uuid } from "./ids.js";
import { rpc } from "./rpc.js";
import { effect } from "./signals.js";
import { runs } from "./store.js";

const beginWithin = 5_000; // in ms
const together = 10; // in ms; keys typed within this time are sent together

// unasked is the ID of messages that the page sends without a request of the user. Errors of these
// messages are ignored.
export const unasked = "unasked";

const keys = new Map(); // waiting keys, by run
let link = null;

export function useLink(l) { link = l; }

// sendKeys writes keys to a run's terminal. The keys arrive at most once, and never late.
export function sendKeys(run_id, text) {
  const waiting = keys.get(run_id);
  keys.set(run_id, (waiting || "") + text);
  if (waiting !== undefined) return;
  setTimeout(() => {
    const all = keys.get(run_id);
    keys.delete(run_id);
    link?.send({ type: "run.send_keys", run_id, data: { keys: all } });
  }, together);
}

// resize changes the size of a run's terminal.
export function resize(run_id, cols, rows) {
  // some machines cannot resize a terminal, and their error is ignored
  link?.send({ type: "run.resize", id: unasked, run_id, data: { cols, rows } });
}

// stopRun stops a run. The promise rejects if the server rejects the command.
export async function stopRun(run_id, signal = "term") {
  await api.post(`/runs/${encodeURIComponent(run_id)}/stop`, { id: uuid(), signal, actor: "web" });
}

// startRun starts a run with {host_id, tool, cmd, cwd?, title?, cols?, rows?} and returns the run's
// ID.
export async function startRun(what) {
  const { run_id } = await rpc("rpc.run.start", null, { ...what, cmd: what.cmd ?? "" });
  await begun(run_id);
  return run_id;
}

// begun waits briefly for the first event of a new run, because the machine's answer may arrive before
// that event.
function begun(id) {
  let stop, timer;
  return new Promise((done) => {
    timer = setTimeout(done, beginWithin);
    stop = effect(() => { if (runs.value.some((r) => r.id === id)) done(); });
  }).finally(() => (clearTimeout(timer), stop()));
}
