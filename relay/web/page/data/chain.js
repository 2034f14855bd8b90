// Sealed events of runs, and the chain in which a host seals them. The formats are those of package
// relay/seal.
import { canonical, decode64, fit, hash, isHash, isId, isObject, isTime, refuse } from "./canonical.js";
import { decodeSealed, openJSON, place, tagOf } from "./epochs.js";
import { verify } from "./keys.js";

const text = "string", integer = "integer";
const dataForm = { ct: text, prev: text, "request_id?": text, "input_id?": text, "from?": integer, "push?": "any" };
const markForm = { "from?": integer, to: integer, "reason?": text, "tag?": text, sha256: text, prev_head: text, "fresh?": text, "sig?": text };
const head = "run.head", gap = "run.gap";

// visible contains the types of events that the server sees, with the id that it sees, too.
const visible = { __proto__: null, "run.started": "", "run.output": "", "run.exited": "", [gap]: "", "run.input": "input_id", "run.permission_requested": "request_id", "run.permission_resolved": "request_id" };

const isType = (v) => /^[a-z0-9_.]{1,64}$/.test(v);
const isTag = (v) => !!decode64(v, 16);
const placeOf = (s, { account, host }) => place("event", account, host, s.run_id, s.seq, s.type, s.enc.epoch, s.data.request_id ?? "", s.data.input_id ?? "", s.data.prev);

// check validates the form of a sealed event, a frame of the server.
export function check(s) {
  const { enc, data } = s;
  fit(enc, { v: integer, epoch: integer });
  fit(data, dataForm);
  if (enc.v !== 1) refuse("unsupported");
  const ids = [s.run_id, data.request_id, data.input_id];
  if (enc.epoch < 1 || !(s.seq >= 1) || !isType(s.type) || !ids.every((v) => v === undefined || isId(v)) || (data.prev && !isTag(data.prev)) || (s.type === gap) !== !!data.from || data.from < 0 || data.from > s.seq) refuse("bad_message");
  decodeSealed(data.ct);
}

// openEvent returns the plaintext {type, ts, data} of an event that check has accepted. key is that of
// the run in the event's epoch, and of is {account, host}.
export async function openEvent(key, s, of) {
  const e = fit(await openJSON(key, placeOf(s, of), s.data.ct), { type: text, ts: text, data: "any" });
  const { type, data } = e, id = visible[type];
  if (!isTime(e.ts) || !isType(type) || !isObject(data) || (id && !(typeof data[id] === "string" && isId(data[id])))) refuse("bad_message");
  const same = (name) => s.data[name] === (id === name ? data[name] : undefined);
  if (s.type !== (id === undefined ? "run.sealed" : type) || s.ts !== e.ts || !same("request_id") || !same("input_id") || (type === gap && s.data.from !== data.from)) refuse("bad_signature");
  return e;
}

// extend returns a chain with one more event.
async function extend(c, s, of) {
  const ct = decodeSealed(s.data.ct), before = Uint8Array.from(c.sha256.match(/../g) ?? Array(32).fill(0), (x) => parseInt(x, 16));
  const at = placeOf(s, of), all = new Uint8Array(33 + at.length + ct.length);
  all.set(before);
  all.set(at, 32);
  all[32 + at.length] = 10;
  all.set(ct, 33 + at.length);
  return { ...c, seq: s.seq, tag: tagOf(s.data.ct), sha256: await hash(all) };
}

// The chain of a run without events. from is the first event that the next head covers. partial
// reports that these events are not all known: the next head then confirms none of them.
export const start = { seq: 0, tag: "", head: "", sha256: "", from: 0 };

// startAt returns the chain of a page that reads a run from the event s on.
export const startAt = (s) => ({ ...start, seq: s.seq - 1, tag: s.data.prev, ...(s.seq > 1 && { partial: true }) });

const afterHead = async (s, data, of) => extend({ ...start, head: await hash(canonical(data)), from: s.seq }, s, of);

// readMark verifies the data of a head or gap, which the host has signed.
async function readMark({ type, data: m }, { run_id, seq }, { account, host, key }) {
  fit(m, markForm);
  const isHead = type === head;
  if (canonical(m).length > 4096 || !isHash(m.sha256) || (m.prev_head && !isHash(m.prev_head)) || (isHead ? m.from || m.to !== seq - 1 || m.to < 1 || m.reason || m.tag || !decode64(m.fresh, 24)
    : !(m.from >= 1) || m.from > m.to || m.to !== seq || !isType(m.reason ?? "") || !isTag(m.tag) || m.fresh)) refuse("bad_message");
  const { sig, ...rest } = m;
  if (!(await verify(key, type, [account, host, run_id, rest], sig))) refuse("bad_signature");
}

// follow checks the place of an event e, which openEvent has returned for s. of is {account, host,
// key}, where key is the sign_key of the host. It returns {chain, confirmed?, missing?}: the chain
// with the event, the events [from, to] that a head confirms, and those before this one that were
// changed or are missing. The refusals leave the chain unchanged.
export async function follow(c, s, e, of) {
  const m = e.data, isGap = e.type === gap, first = isGap ? m.from : s.seq;
  if (isGap || e.type === head) await readMark(e, s, of);
  if (s.seq <= c.seq) refuse("replayed");
  const missing = first > c.seq + 1 || (first === c.seq + 1 && s.data.prev !== c.tag) ? [Math.min(c.seq + 1, first - 1), first - 1] : undefined; // a gap may begin earlier
  if (isGap) return { chain: { seq: m.to, tag: m.tag, head: m.prev_head, sha256: m.sha256, from: m.to + 1 }, missing };
  if (e.type !== head) return { chain: await extend(missing ? { ...c, partial: true } : c, s, of), missing };
  if (!missing && !c.partial) {
    if (m.sha256 !== c.sha256 || m.prev_head !== c.head) refuse("bad_signature");
    const from = Math.max(c.from, 1);
    return { chain: await afterHead(s, m, of), confirmed: from <= m.to ? [from, m.to] : undefined };
  }
  return { chain: await afterHead(s, m, of), missing };
}
