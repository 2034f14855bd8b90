// RPCs over the connection of the overview. Each call has an ID, so that the server executes it
// only once. The page sends an unanswered call again after a reconnect, and the server returns the
// same result.
import { seal } from "./devices.js";
import { ApiError, RpcError } from "./errors.js";
import { uuid } from "./ids.js";

const atOnce = 12; // maximum number of concurrent calls in a tab; the server allows 16 in a session
const remembered = 10 * 60_000; // time in ms for which the server stores the result of a call
const graceForLink = 5_000; // time in ms for which a call waits for a connection

const calls = new Map(); // unanswered calls, by ID
const waiting = [];
let link = null;

// useLink sets the connection. It is called once.
export function useLink(l) { link = l; }

// rpc makes a call and returns its result. It rejects with RpcError. The promise has a member with
// the ID of the call, which is also the ID of the request if the call needs an approval. bare is
// set for a call that is not signed.
export function rpc(type, run_id, data = {}, { signal, bare } = {}) {
  const id = uuid(), call = { id, message: { type, run_id: run_id || undefined, id, data: { ...data, request_id: id } }, began: Date.now(), sent: false };
  const answer = new Promise((resolve, reject) => { Object.assign(call, { resolve, reject }); });
  const cancel = (code, why) => { if (finish(call)) call.reject(new RpcError(code, why)); };
  const enqueue = (sealed) => {
    Object.assign(call, sealed);
    waiting.push(call);
    if (signal?.aborted) cancel("withdrawn", "Canceled.");
    if (!link?.online) setTimeout(() => { if (!call.sent) cancel("unreachable"); }, graceForLink);
    more();
  };
  signal?.addEventListener("abort", () => cancel("withdrawn", "Canceled."));
  if (bare) enqueue();
  else seal({ kind: "rpc", id, host: data.host_id, message: call.message }).then(enqueue).catch(call.reject);
  answer.id = id;
  return answer;
}

function more() {
  while (link?.online && waiting.length && calls.size < atOnce) {
    const call = waiting.shift();
    calls.set(call.id, call);
    ask(call);
  }
}

function ask(call) {
  call.sent = link.send(call.message);
}

// resend sends unanswered calls again on a new connection.
export function resend() {
  for (const call of calls.values()) {
    if (Date.now() - call.began < remembered) { ask(call); continue; }
    finish(call);
    call.reject(new RpcError("timeout", "The connection was lost for too long. It is unknown whether this took effect."));
  }
  more();
}

// finish ends a call. It returns false if the call had already ended.
function finish(call) {
  const at = waiting.indexOf(call);
  if (at >= 0) { waiting.splice(at, 1); return true; }
  if (!calls.delete(call.id)) return false;
  queueMicrotask(more);
  return true;
}

// answered handles a frame and reports whether it belongs to a call.
export function answered(e) {
  const d = e.data || {};
  const call = ["rpc.response", "error"].includes(e.type) && calls.get(e.re || d.re || d.request_id);
  if (!call) return false;
  if (e.type === "error" && d.code === "rate_limited") {
    setTimeout(() => { if (calls.has(call.id)) ask(call); }, d.retry_after_ms || 1000);
    return true;
  }
  finish(call);
  settle(call, e).then(call.resolve, call.reject);
  return true;
}

async function settle({ open }, e) {
  const { data } = e;
  if (e.type === "error") throw new RpcError(data.code, data.message);
  const { ok, result, error, error_code } = open ? await open(e) : data;
  if (ok) return result;
  throw new RpcError(error_code || "internal", error);
}

// forgetCalls rejects all calls.
export function forgetCalls(why) {
  for (const call of [...calls.values(), ...waiting]) {
    finish(call);
    call.reject(new ApiError({ code: "unauthorized", message: why }));
  }
}
