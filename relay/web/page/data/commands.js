// What is done to a run at once or not at all.
import { api } from "./api.js";
import { uuid } from "./ids.js";
import { rpc } from "./rpc.js";
import { effect } from "./signals.js";
import { runs } from "./store.js";

const beginWithin = 5_000; // ms
const together = 10; // ms: keys that are struck within go as one

// unasked is the id of what the page says by itself: its errors are told to nobody.
export const unasked = "unasked";

const keys = new Map(); // by run
let link = null;

export function useLink(l) { link = l; }

// sendKeys writes keys to a run's terminal: at most once, and never later.
export function sendKeys(run_id, text) {
  const had = keys.get(run_id);
  keys.set(run_id, (had || "") + text);
  if (had !== undefined) return;
  setTimeout(() => {
    const all = keys.get(run_id);
    keys.delete(run_id);
    link?.send({ type: "run.send_keys", run_id, data: { keys: all } });
  }, together);
}

// resize gives a run's terminal another size.
export function resize(run_id, cols, rows) {
  // A host that cannot do that shows what it shows: nobody is told.
  link?.send({ type: "run.resize", id: unasked, run_id, data: { cols, rows } });
}

// stopRun ends a run; the promise rejects when the server does not take that.
export async function stopRun(run_id, signal = "term") {
  await api.post(`/runs/${encodeURIComponent(run_id)}/stop`, { id: uuid(), signal, actor: "web" });
}

// startRun starts a run, {host_id, tool, cmd, cwd?, title?, cols?, rows?}, and gives its id.
export async function startRun(what) {
  const { run_id } = await rpc("rpc.run.start", null, { ...what, cmd: what.cmd ?? "" });
  await begun(run_id);
  return run_id;
}

// begun waits, for a while, until something is known of a run that has begun: its host may have said so
// before the server has its first event.
function begun(id) {
  let stop, timer;
  return new Promise((done) => {
    timer = setTimeout(done, beginWithin);
    stop = effect(() => { if (runs.value.some((r) => r.id === id)) done(); });
  }).finally(() => (clearTimeout(timer), stop()));
}
