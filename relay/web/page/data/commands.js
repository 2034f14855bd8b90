// Commands to runs. The page sends a command at once, or not at all.
import { drop, seal } from "./devices.js";
import { sentence } from "./errors.js";
import { uuid } from "./ids.js";
import { rpc } from "./rpc.js";
import { effect } from "./signals.js";
import { runs } from "./store.js";

const beginWithin = 5_000; // in ms
const together = 10; // in ms; keys typed within this time are sent together

// unasked begins the IDs of messages that the page sends without a request of the user. Errors of
// these messages are ignored.
const unasked = "unasked";

export const isUnasked = (id) => !!id?.startsWith(unasked);

const keys = new Map(); // waiting keys, by run
let link = null;
let notice = () => {};

// useLink sets the connection, and the function that shows an error to the user.
export function useLink(l, show) {
  link = l;
  notice = show;
}

// sendKeys writes keys to a run's terminal. The keys arrive at most once, and never late.
export function sendKeys(run_id, text) {
  const waiting = keys.get(run_id);
  keys.set(run_id, (waiting || "") + text);
  if (waiting !== undefined) return;
  setTimeout(() => {
    const all = keys.get(run_id);
    keys.delete(run_id);
    sendSealed("keys", { type: "run.send_keys", run_id, id: uuid(), data: { keys: all } }).catch((err) => notice("error", sentence(err), run_id));
  }, together);
}

// resize changes the size of a run's terminal.
export function resize(run_id, cols, rows) {
  // some machines cannot resize a terminal, and their error is ignored
  sendSealed("resize", { type: "run.resize", run_id, id: unasked + uuid(), data: { cols, rows } }).catch(() => {});
}

// sendSealed sends a message at once.
async function sendSealed(kind, message) {
  const sealed = await seal({ kind, id: message.id, message });
  if (!link?.send(sealed.message)) drop(message.id);
}

// stopRun stops a run. The promise rejects if the server rejects the command.
export async function stopRun(run_id, signal = "term") {
  const id = uuid(), { message } = await seal({ kind: "stop", id, message: { type: "run.stop", run_id, id, data: { signal, actor: "web" } } });
  await link.ask(message, (e) => e.type === "command.state" && e.data.id === id);
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
  let stop;
  return new Promise((done) => {
    setTimeout(done, beginWithin);
    stop = effect(() => { if (runs.value.some((r) => r.id === id)) done(); });
  }).finally(() => stop());
}
