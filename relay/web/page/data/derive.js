// Functions that derive a run's row and its requests from an event. The server derives them in the
// same way.
import { byMachine, now } from "./clock.js";

// keyOf returns a key that identifies a request among the requests of all runs.
export const keyOf = (run, request) => run + " " + request;

// newRow returns the row of a run for which only the first event has arrived.
export function newRow(id, machine) {
  return { id, host_id: machine || "", tool: "", cwd: "", command: "", title: "", status: "running", started_at: null, last_active_at: null, ended_at: null, exit_code: null, last_seq: 0, meta: {}, waits: false };
}

// asRequest converts a request from the server or an event to the form that screens use.
export function asRequest(raw, run) {
  const of = { host_id: raw.host_id || run?.host_id || "", tool: run?.tool ?? raw.tool ?? "", title: run?.title ?? raw.title ?? "", cwd: run?.cwd ?? raw.cwd ?? "" };
  return { ...raw, ...of, key: keyOf(raw.run_id, raw.request_id), state: raw.state || "open", expires_ms: byMachine(of.host_id, raw.expires_at) };
}

// contentOf returns the data of the event that opened a request.
export function contentOf({ run_id, host_id, tool, title, cwd, key, state, seq, ts, expires_ms, resolution, closed_ms, closed_at, ...content }) { return content; }

const changes = {
  __proto__: null, // the type of a request may have the name of an inherited member
  "run.started": (row, d, at) => ({
    tool: d.tool || "", cwd: d.cwd || "", command: d.command || "", title: d.title || row.title, started_at: at, source: d.source, parent_run_id: d.parent_run_id,
  }),
  "run.awaiting_input": () => ({ waits: true }),
  "run.input": () => ({ waits: false }),
  "run.exited": (row, d, at) => ({ status: "exited", waits: false, ended_at: at, exit_code: d.exit_code ?? null }),
  "run.meta": (row, d) => ({ meta: { ...row.meta, ...d }, ...(typeof d.title === "string" ? { title: d.title } : {}) }),
};

// rowAfter returns the row of a run after an event. open is the number of the run's open requests
// after the event.
export function rowAfter(row, e, open) {
  if (row.status === "exited") return { ...row, last_seq: Math.max(row.last_seq, e.seq) };
  const at = new Date(now()).toISOString();
  const after = { ...row, last_seq: e.seq, last_active_at: at, ...changes[e.type]?.(row, e.data || {}, at) };
  if (after.status !== "exited") after.status = open > 0 ? "awaiting_approval" : after.waits ? "awaiting_input" : "running";
  return after;
}

// endings contains the outcome of a request for each type of event that closes requests.
const endings = {
  __proto__: null,
  "run.permission_resolved": (d) => ({ request_id: d.request_id, decision: d.decision, answer: d.answer, by: d.by, actor: d.actor, reason: d.reason }),
  "run.input": (d) => ({ request_id: d.input_id, decision: "answered", by: d.by, actor: d.actor }), // of a machine of the seed's
  "tool.result": (d) => ({ request_id: d.request_id, decision: "answered", actor: d.actor }),
};

// ending returns the outcome and the request that an event closes, or null. The exit of a run
// closes all of its requests.
export function ending(e) {
  const of = endings[e.type]?.(e.data || {});
  return of?.request_id ? { ...of, ts: e.ts } : null;
}

// withdrawnByExit returns the outcome for the requests of a run that has ended.
export const withdrawnByExit = (e) => ({ decision: "withdrawn", reason: "the run has ended", ts: e.ts });
