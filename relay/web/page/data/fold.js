// Converts a run's events to the items of its thread. A changed item is replaced by a new object
// with the same key, so that the view notices.
import { byLink } from "./api.js";
import { asRequest, withdrawnByExit } from "./derive.js";
import { Screen } from "./text.js";

const blockChars = 32 << 10; // maximum length of the output in one item

const gaps = {
  __proto__: null,
  spool_full: "the machine ran out of space",
  spool_lost: "the machine lost them",
  store_lost: "the server lost them",
  source_lag: "the program produced them faster than the machine could store them",
  host_skipped: "the machine skipped them",
};

// folds contains, by type, the events that a thread shows. `update` applies an event to an existing
// item and returns false if there is none. `add` adds an item for the event.
export const folds = {
  "run.started": { add: (f, e, d) => f.push(e, "started", "system", { title: d.title || d.tool, text: d.command || "", data: d }) },
  "run.output": { update: moreOutput, add: output },
  "run.awaiting_input": { add: (f, e, d) => { if (!d.request_id) f.push(e, "waiting", "system", { text: d.prompt || d.reason || "", data: d }); } },
  "run.input": { update: (f, e, d) => f.find("request " + d.input_id) !== undefined, add: (f, e, d) => f.replacesEarlier(e, f.push(e, "input", "user", { text: d.text_redacted ?? "", data: d })) },
  "run.permission_requested": { update: (f, e, d) => { f.mark(d.from, { request: true }); return isOpenRequest(f, e, d); }, add: ask },
  "run.permission_resolved": { update: (f, e, d) => f.find("request " + d.request_id) !== undefined, add: () => {} },
  "run.decision": { update: decided, add: (f, e, d) => { const at = f.push(e, "decision", "system", { title: d.title, data: d }); if (d.message_id) f.replacesEarlier(e, at); } },
  "run.exited": { add: (f, e, d) => f.push(e, "exited", "system", { text: exitText(d), data: d }) },
  "run.meta": { add: (f, e, d) => { f.meta = { ...f.meta, ...d }; } },
  "run.emit": { add: (f, e, d) => (f.decides && d.channel === "host:decided") || (f.talks && ofConversation.test(d.channel)) || f.push(e, "emit", "assistant", { title: d.channel, data: d }) },
  "run.listen": { update: moreListen, add: listen },
  "run.resized": { add: (f, e, d) => { f.size = { cols: d.cols, rows: d.rows }; } },
  "run.refused": { add: (f, e, d) => f.push(e, d.code ? "refused" : "gap", "system", { text: `Refused to ${d.action}: ${d.reason}`, data: d }) },
  "tool.call": { add: (f, e, d) => isRead(d) || f.put("tool " + d.request_id, f.push(e, "tool", "tool", { title: d.tool, data: { ...d, state: "running" } })) },
  "tool.result": { update: toolResult, add: (f, e, d) => isRead(d) || f.replacesEarlier(e, f.push(e, "tool", "tool", { title: d.tool, data: { ...d, state: d.ok ? "done" : "failed" } })) },
  "run.head": { add: () => {} },
  "run.gap": { add: (f, e, d) => f.push(e, "gap", "system", { text: gapText(d), data: d }) },
};

// ofConversation matches the channels of events that a run's conversations show.
const ofConversation = /^(listen:(start|complete|error|unhandled)|host:(progress|log|plan_limit|question|approval|blocked|refused|undelivered|steered))$/;

// isRead reports whether a tool call only read files of the run. Threads do not show such calls.
const isRead = (d) => /^rpc\.(git|fs\.[^w])/.test(d.tool);

function gapText(d) {
  const what = d.from === d.to ? `Event ${d.from} is missing` : `Events ${d.from} to ${d.to} are missing`;
  return `${what}: ${gaps[d.reason] || d.reason || "unknown reason"}.`;
}

// Fold converts consecutive events to items.
export class Fold {
  items = [];
  meta = {};
  size = null;
  changed = false;
  decides = false; // the run reports its decisions, so that host:decided would show them twice
  talks = false; // the run reports its conversations, so that their events would show them twice
  block = null; // the output item to which output is appended: {at, stream, screen}; null if there is none
  early = new Map(); // events about items before this fold, by the index of the item that replaces them
  #at = new Map(); // indexes of the items that later events may change, by subject
  #run;

  // run returns the known fields {host_id, tool, title, cwd} of the run, or null.
  constructor(run = () => null) { this.#run = run; }

  // update applies an event to an existing item; it returns false if there is none.
  update(e) {
    const fold = this.#of(e);
    return !!fold?.update?.(this, e, e.data || {});
  }

  // add adds an item for an event.
  add(e) {
    if (e.type !== "run.output") this.block = null;
    const fold = this.#of(e);
    if (e.enc) {
      const text = e.why ?? (byLink() ? "Encrypted: open the link again." : "Encrypted: this page cannot show it.");
      if (this.items.at(-1)?.text !== text) this.push(e, "gap", "system", { text, icon: "key" });
    } else if (fold) fold.add(this, e, e.data || {});
    else this.push(e, "other", "system", { title: e.type, data: e.data || {} });
    this.changed = true;
  }

  #of(e) { return !e.enc && Object.hasOwn(folds, e.type) ? folds[e.type] : null; }

  // push adds an item and returns its index.
  push(e, kind, role, rest) {
    this.items.push({ key: `${kind} ${e.seq}`, kind, role, seq: e.seq, ts: e.ts, ...rest });
    return this.items.length - 1;
  }

  put(about, at) { this.#at.set(about, at); }
  find(about) { return this.#at.get(about); }
  forget(about) { this.#at.delete(about); }
  run() { return this.#run(); }

  // replacesEarlier records that an item replaces an item of an earlier fold.
  replacesEarlier(e, at) { this.early.set(at, [e]); }

  // change replaces some members of an item.
  change(at, rest) {
    this.items[at] = { ...this.items[at], ...rest };
    this.changed = true;
  }

  // settle records the outcome of a request and reports whether the request is in this fold. A
  // decision replaces an outcome that was derived from an input or a result, and a withdrawal.
  settle({ request_id, ...resolution }) {
    const at = this.find("request " + request_id);
    if (at === undefined) return false;
    const { data } = this.items[at];
    const was = data.resolution?.decision;
    if (was === undefined || (/^(answered|withdrawn)$/.test(was) && resolution.decision !== was)) this.change(at, { data: { ...data, state: "resolved", resolution } });
    return true;
  }

  // mark records the outcome of a host's message in its conversation, which then does not show the
  // message itself if a request does. It reports whether the conversation is in this fold.
  mark(of, outcome) {
    const at = of?.message_id ? this.find(about(of.host, of.message_id)) : undefined;
    if (at === undefined) return false;
    const { data } = this.items[at];
    this.change(at, { data: { ...data, outcomes: new Map([...(data.outcomes ?? []), [of.message_id, outcome]]) } });
    return true;
  }

  // exit withdraws the open requests because the run has ended.
  exit(e) {
    this.items.forEach((item, at) => {
      if (item.kind === "request" && !item.data.resolution) this.change(at, { data: { ...item.data, state: "resolved", resolution: withdrawnByExit(e) } });
    });
  }

  // after applies the events of this fold that concern items of an earlier fold to that fold.
  after(earlier) {
    const removed = new Set();
    for (const [at, events] of this.early) {
      if (!earlier.update(events[0])) continue;
      for (const e of events.slice(1)) earlier.update(e);
      removed.add(at);
    }
    if (removed.size) this.#remove(removed);
  }

  #remove(removed) {
    const to = []; // new index of each item, or -1 if the item is removed
    let n = 0;
    this.items.forEach((_, at) => { to[at] = removed.has(at) ? -1 : n++; });
    this.items = this.items.filter((_, at) => to[at] >= 0);
    this.early = new Map([...this.early].filter(([at]) => to[at] >= 0).map(([at, events]) => [to[at], events]));
    for (const [about, at] of this.#at) {
      if (to[at] < 0) this.#at.delete(about);
      else this.#at.set(about, to[at]);
    }
    if (this.block) this.block.at = to[this.block.at];
    this.changed = true;
  }
}

function output(f, e, d) {
  const screen = new Screen();
  screen.add(String(d.text ?? ""));
  f.block = { at: f.push(e, "output", "assistant", { text: screen.text, data: { stream: d.stream } }), stream: d.stream, screen };
}

function moreOutput(f, e, d) {
  const b = f.block;
  const text = String(d.text ?? "");
  if (!b || b.stream !== d.stream || b.screen.text.length + text.length > blockChars) return false;
  b.screen.add(text);
  f.change(b.at, { text: b.screen.text });
  return true;
}

function isOpenRequest(f, e, d) {
  const at = f.find("request " + d.request_id);
  return at !== undefined && !f.items[at].data.resolution;
}

// about identifies a message of a host, or of its subagent.
const about = (host, id) => `message ${String(host).split(" › ")[0]} ${id}`;

function decided(f, e, d) {
  f.decides = true;
  return (!!d.request_id && f.settle({ ...d, by: d.by || d.actor })) || f.mark(d, d);
}

function ask(f, e, d) {
  const data = { ...asRequest({ ...d, run_id: e.run_id, host_id: e.host_id, seq: e.seq, ts: e.ts }, f.run()), resolution: null };
  const at = f.push(e, "request", "request", { title: d.op_tool || d.reason, text: d.prompt || "", data });
  f.put("request " + d.request_id, at);
  if (d.from?.message_id) f.replacesEarlier(e, at); // it marks the message, which may be in an earlier fold
}

function toolResult(f, e, d) {
  const about = "tool " + d.request_id;
  const at = f.find(about);
  if (at === undefined) return false;
  f.change(at, { data: { ...f.items[at].data, ...d, state: d.ok ? "done" : "failed" } });
  f.forget(about); // a later event may use the ID again
  return true;
}

const phaseEnds = { __proto__: null, complete: "complete", error: "error" };

function listen(f, e, d) {
  f.talks = true;
  const at = f.push(e, "listen", "assistant", { title: d.host, data: { listen_id: d.listen_id, host: d.host, state: "open", entries: [], count: 0 } });
  f.put("listen " + d.listen_id, at);
  moreListen(f, e, d);
  if (d.phase !== "start") f.replacesEarlier(e, at);
}

function moreListen(f, e, d) {
  f.talks = true;
  const at = f.find("listen " + d.listen_id);
  if (at === undefined) return false;
  f.early.get(at)?.push(e);
  const { data } = f.items[at];
  const { phase, message_type, message_id, title, line, value, error, duration_ms } = d;
  if (phase === "message" && message_id) f.put(about(d.host, message_id), at);
  data.entries.push({ seq: e.seq, phase, ts: e.ts, message_type, message_id, title, line, value, error, duration_ms });
  const state = phaseEnds[phase];
  f.change(at, { data: { ...data, count: data.entries.length, ...(state ? { state, error, duration_ms } : {}) } });
  return true;
}

function exitText(d) {
  if (d.reason === "lost") return "The run was lost. Its exit code is unknown.";
  const how = d.signal ? ` by ${d.signal}` : "";
  return `${d.reason === "stopped" ? "Stopped" : "Ended"}${how} with exit code ${d.exit_code}.`;
}
