// Signatures of commands, and sealed events. The page loads this module, and those that only it needs,
// when a machine has an account or a link of an enrolment is opened. It exports to enrol.js the parts
// that both need, because a static import would make them a separate file.
import { api } from "./api.js";
import { record, rosterOf, rosters } from "./account.js";
import { canonical, encode64, hash, refuse } from "./canonical.js";
import { now } from "./clock.js";
import { accountOf, deviceOf, devices, lockOf, setDevice, waiting } from "./devices.js";
import { dropInput, dropKeys, nextCounter, setLastInput, sign } from "./keys.js";
import { contentOf, keyOf } from "./derive.js";
import { ApiError } from "./errors.js";
import { isSealedRun } from "./opening.js";
import { codeOf, refusalOf } from "./refusals.js";
import { rpc } from "./rpc.js";
import { onEvent, runs } from "./store.js";
import { alone } from "./tabs.js";

export { described, extend, rosters } from "./account.js";
export { Refusal, canonical, decode64, encode64, isId, isName, refuse } from "./canonical.js";
export { curve, deviceId, dropKeys, inContext, own, putDevice, sign, verify } from "./keys.js";
export { reopen, restore } from "./opening.js";
export { refusalOf } from "./refusals.js";

const tokenAge = { keys: 30_000, resize: 30_000 }; // in ms; of the kinds whose statements are valid for a minute
const usualAge = 5 * 60_000;
const temporaryFor = 12 * 3600_000;

const tokens = new Map(); // {fresh, at} by machine
const typed = new Map(); // signatures of the last keys, by ID
const maxTyped = 100;

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
  const info = await rpc("rpc.host.info", null, { host_id: host });
  if (info.account !== device.account || !info.fresh) refuse("wrong_request", "the machine has another account than the server reports");
  const roster = await rosterOf(device, info.roster?.n > (await rosterOf(device)).n);
  if (info.roster && info.roster.n <= roster.n && !roster.has(info.roster)) {
    await record(device.account, { problem: "roster_fork" });
    refuse("roster_fork", "the machine has another roster");
  }
  return info.fresh;
}

// hostOf returns the id of a run's machine.
async function hostOf(run) {
  return runs.peek().find((r) => r.id === run)?.host_id ?? (await api.get("/runs/" + encodeURIComponent(run))).host_id;
}

// sealAny returns a command's data like seal of devices.js.
export async function sealAny(what) {
  const host = what.host ?? (await hostOf(what.run)), account = accountOf(host);
  if (!account) return what.data;
  const check = () => { if (lockOf(host)) throw new ApiError({ code: "locked", message: lockOf(host) }); };
  check();
  try {
    return await seal(deviceOf(account), host, what);
  } catch (err) {
    check(); // the roster may have shown why
    throw err;
  }
}

// seal returns a command's data with a signature. For a decision it checks that the request still
// has the content that the user decided.
export async function seal(device, host, { kind, id, type, run, data, decision, shown, request }) {
  let more = {}, fresh;
  if (kind === "rpc") data = { ...data, rpc_type: type }; // the statement has no type
  if (device.temporary && Date.now() - device.created > temporaryFor) {
    await forgetDevice(device.account);
    refuse("unknown_device", "this browser's temporary enrolment has ended");
  }
  if (kind === "decide") {
    const text = canonical(shown);
    if (decision === "approve" && waiting.peek().has(keyOf(run, id))) refuse("unconfirmed", "the machine has not confirmed this request yet");
    if (request && canonical(contentOf(request)) !== text) refuse("args_changed", "the request has changed");
    if (!shown.fresh) refuse("bad_message", "the machine has sent the request before it had an account: decide on the machine");
    fresh = shown.fresh;
    if (isSealedRun(run)) data = { ...data, args_sha256: undefined }; // the server cannot compare it; the statement has it
    more = { request_sha256: await hash(text), args_sha256: shown.args_sha256 || undefined, decision, scope: data.scope || "once" };
  } else fresh = await tokenOf(device, host, kind);
  const roster = await rosterOf(device);
  const content = { data, salt: encode64(crypto.getRandomValues(new Uint8Array(16))) };
  const content_sha256 = await hash(canonical(content));
  return alone("concerto-seal", async () => {
    const ordered = kind === "input" || kind === "keys";
    const statement = {
      v: 1, account: device.account, host, run: run || undefined, kind, id, device: device.id, ...(await nextCounter(device, host, ordered && run)),
      fresh, at: new Date(now()).toISOString(), roster: roster.head, ...more, content_sha256,
    };
    const signed = { statement, sig: await sign(device.sign, "command", statement), salt: content.salt };
    if (kind === "keys") typed.set(id, signed);
    if (typed.size > maxTyped) typed.delete(typed.keys().next().value);
    return { ...data, seal: signed };
  });
}

// drop records that keys, which have the given ID, or an input will never be applied. The next
// input then follows the one before them.
export async function drop(id, signed = typed.get(id)) {
  const s = signed?.statement, device = s && deviceOf(s.account);
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
  // The roster shows whether this browser was removed.
  if (code === "unknown_device" || code === "roster_fork") for (const d of devices.peek()) await rosterOf(d, true).catch(() => {});
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
