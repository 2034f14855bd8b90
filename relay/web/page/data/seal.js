// Signatures of commands, and what is sealed. The page loads this module, and those that only it
// needs, when a machine has an account or a link of an enrolment is opened. It exports to enrol.js
// the parts that both need, because a static import would make them a separate file.
import { api } from "./api.js";
import { record, rosterOf, rosters } from "./account.js";
import { canonical, encode64, hash, refuse } from "./canonical.js";
import { now } from "./clock.js";
import { deviceOf, devices, lockOf, setDevice, waiting } from "./devices.js";
import { dropInput, dropKeys, nextCounter, setLastInput, sign } from "./keys.js";
import { contentOf, keyOf } from "./derive.js";
import { ApiError, RpcError } from "./errors.js";
import { accountFor, commandKeys, expire, hostOf as boundHost, newestKey } from "./opening.js";
import { codeOf, refusalOf } from "./refusals.js";
import { rpc } from "./rpc.js";
import { openCommand, openResponse, sealCommand } from "./sealedcommand.js";
import { onEvent, runs } from "./store.js";
import { alone } from "./tabs.js";

export { described, extend, rosters } from "./account.js";
export { Refusal, bytesOf, canonical, decode64, encode64, isHash, isId, isName, parse, refuse } from "./canonical.js";
export { deriveKey, importCommand, importHKDF, openJSON, openText, params, place, sealText } from "./epochs.js";
export { createKeys, curve, deviceId, dropKeys, getDevice, importKey, mac, own, putDevice, sign, verify } from "./keys.js";
export { open, reopen, restore } from "./opening.js";
export { refusalOf } from "./refusals.js";

const tokenAge = { keys: 30_000, resize: 30_000 }; // in ms; of the kinds whose statements are valid for a minute
const usualAge = 5 * 60_000;
const temporaryFor = 12 * 3600_000;
const info = "rpc.host.info";
const sealedTypes = { __proto__: null, decide: "run.decide", rpc: "rpc.sealed" };

const tokens = new Map(); // {fresh, at} by machine
const typed = new Map(); // statements of the last keys, by ID
const maxTyped = 100;
const tails = new Map(); // by run: a promise of the last keys

// tokenOf returns the newest token of a machine. The machine's info has one, and the position of
// the machine's roster.
async function tokenOf(device, host, kind) {
  const has = tokens.get(host);
  if (has && Date.now() - has.at < (tokenAge[kind] ?? usualAge)) return has.fresh;
  const loading = { at: Date.now(), fresh: ask(device, host) };
  tokens.set(host, loading);
  loading.fresh.catch(() => { if (tokens.get(host) === loading) tokens.delete(host); });
  return loading.fresh;
}

async function ask(device, host) {
  const { account, fresh, roster: position } = await rpc(info, null, { host_id: host }, { bare: true });
  if (account !== device.account || !fresh) refuse("wrong_request", "the machine has another account than the server reports");
  const roster = await rosterOf(device, position?.n > (await rosterOf(device)).n);
  if (position?.n <= roster.n && !roster.has(position)) {
    await record(device.account, { problem: "roster_fork" });
    refuse("roster_fork", "the machine has another roster");
  }
  return fresh;
}

// hostOf returns the id of a run's machine.
async function hostOf(run) {
  return boundHost(run) ?? runs.peek().find((r) => r.id === run)?.host_id ?? (await api.get("/runs/" + encodeURIComponent(run))).host_id;
}

// sealAny is seal of devices.js. The keys to a run are sealed in order.
export function sealAny(what) {
  const { kind, message: { run_id } } = what;
  if (kind !== "keys") return sealOne(what);
  const sealing = Promise.resolve(tails.get(run_id)).then(() => sealOne(what));
  tails.set(run_id, sealing.catch(() => {}));
  return sealing;
}

async function sealOne(what) {
  const { host: named, message: { type, run_id } } = what, host = run_id ? await hostOf(run_id) : named, device = deviceOf(accountFor(host));
  if (!accountFor(host) || (!device && type === info)) return what;
  const check = () => { if (lockOf(host)) throw new ApiError({ code: "locked", message: lockOf(host) }); };
  check();
  try {
    return await seal(device, host, what);
  } catch (err) {
    check(); // the roster may have shown why
    throw err;
  }
}

// seal signs and seals the message what.message to a machine. For a decision it checks that the
// request still has the content that the user decided. If the server reports that the machine has
// refused a decision for its old keys, it is sealed again only if they have ended by the machine's
// records, so that the machine never applies the first one. An input is not: the server takes each
// id only once.
export async function seal(device, host, { kind, id, message, shown, request, statement: was, old }) {
  if (device.temporary && Date.now() - device.created > temporaryFor) {
    await forgetDevice(device.account);
    refuse("unknown_device", "this browser's temporary enrolment has ended");
  }
  const { type, run_id: run, enc } = message;
  if (enc && old !== 1) return { message, statement: was };
  const last = enc && commandKeys(host)?.get(enc.epoch), { guest } = device, { key, epoch } = await (guest?.newestKey() ?? newestKey(device, host, old === 1));
  let { data } = message, decision = type.split(".").at(-1), more = {}, fresh;
  if (enc) {
    if (kind === "input" || !(last?.until < Date.now())) refuse("old_epoch", await explain("old_epoch: ", was.kind));
    data = (await openCommand(last, was, message.data)).content.data;
    decision = was.decision;
  }
  if (was) await drop(id, was);
  if (kind === "rpc") data = { ...data, rpc_type: type }; // the statement has no type
  if (kind === "decide") {
    const content = enc ? contentOf(request ?? refuse("unknown_request", "the request is closed")) : shown, text = canonical(content), request_sha256 = await hash(text);
    if (enc ? request_sha256 !== was.request_sha256 : request && canonical(contentOf(request)) !== text) refuse("args_changed", "the request has changed");
    if (decision === "approve" && waiting.peek().has(keyOf(run, id))) refuse("unconfirmed", "the machine has not confirmed this request yet");
    if (!content.fresh) refuse("bad_message", "the machine has sent the request before it had an account: decide on the machine");
    fresh = content.fresh;
    more = { request_sha256, args_sha256: content.args_sha256 || undefined, decision, scope: data.scope || "once" };
  } else fresh = await tokenOf(device, host, kind);
  const roster = await rosterOf(device);
  const content = { data, salt: encode64(crypto.getRandomValues(new Uint8Array(16))) };
  const content_sha256 = await hash(canonical(content));
  return alone("concerto-seal", async () => {
    const ordered = kind === "input" || kind === "keys";
    const statement = {
      v: 1, account: device.account, host, run: run || undefined, kind, id, device: device.id, ...(await nextCounter(guest ?? device, host, ordered && run)),
      fresh, at: new Date(now()).toISOString(), roster: roster.head, ...more, content_sha256,
    };
    const sig = await sign(device.sign, "command", statement);
    if (kind === "keys") typed.set(id, statement);
    if (typed.size > maxTyped) typed.delete(typed.keys().next().value);
    const frame = await sealCommand(key, epoch, { statement, sig, content, guest: guest?.proof }, guest?.account);
    const sealed = { statement, sealed: true, shown: undefined, label: request ? id : "***", old: old && 2, message: { ...frame, type: sealedTypes[kind] ?? type, run_id: run, host_id: run ? undefined : host } };
    if (kind === "rpc") sealed.open = (e) => openAnswer(key, statement, frame.data, e);
    return sealed;
  });
}

// openAnswer returns the data of the response e to a sealed RPC. The server can only send errors.
async function openAnswer(key, statement, sealed, { enc, data: d }) {
  const refused = () => { throw new RpcError("bad_signature", "the server has changed the response of the machine"); };
  if (!enc && d.ok) refused();
  const answer = enc ? await openResponse(key, statement, sealed, d.ct).catch(refused) : d;
  return { ...answer, error: await explain(answer.error, "rpc") };
}

// drop records that keys, which have the given ID, or the input with the statement s will never be
// applied. The next input then follows the one before them.
export async function drop(id, s = typed.get(id)) {
  const device = s && deviceOf(s.account);
  if (device) await dropInput(device, s.host, s.run, s.counter);
}

// A machine reports the last input that it has applied when it refuses one of this browser.
onEvent(({ type, host_id, run_id, data: d }) => {
  const device = type === "run.refused" && devices.peek()?.find((x) => x.id === d.device);
  if (!device) return;
  if (d.code === "stale") tokens.delete(host_id);
  if (d.code === "reordered") setLastInput(device, host_id, run_id, d.after).catch(() => {});
});

// explain returns the sentence for a machine's refusal of this browser's command, "CODE: text".
export async function explain(reason, action) {
  const code = codeOf(reason);
  if (!code) return reason;
  if (code === "stale") tokens.clear();
  if (code === "old_epoch") expire();
  // The roster shows whether this browser was removed.
  if (code === "unknown_device" || code === "roster_fork") for (const d of devices.peek()) {
    if (d.guest) return "Another browser has used this link first, or the link has ended. Ask for a link of your own.";
    await rosterOf(d, true).catch(() => {});
  }
  const [what, why] = refusalOf(reason, action);
  return `${what[0].toUpperCase()}${what.slice(1)}. ${why}`;
}

// forgetDevice deletes the keys of this browser for an account.
export async function forgetDevice(account) {
  rosters.delete(account);
  await dropKeys(account);
  setDevice(account, null);
  await dropKeys(account); // again, if keys of a machine were stored during the first time
}
