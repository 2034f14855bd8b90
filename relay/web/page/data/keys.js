// The keys of devices: P-256 for signatures (ECDSA) and for key agreement (ECDH). The browser
// stores the private keys, and no script can read them.
import { within } from "./cache.js";
import { bytesOf, canonical, decode64, encode64, refuse, sha256 } from "./canonical.js";

const prefix = "concerto-sealed-v1 ";
export const curve = { namedCurve: "P-256" };
const ecdsa = { name: "ECDSA", hash: "SHA-256" }, hmac = { name: "HMAC", hash: "SHA-256" };

export const inContext = (context, text) => bytesOf(`${prefix}${context}\n${text}`);

// importKey returns a public key for ECDSA or ECDH, or null if the point is invalid.
export async function importKey(point, name = "ECDSA") {
  const bytes = decode64(point, 65);
  return bytes && crypto.subtle.importKey("raw", bytes, { name, ...curve }, true, name === "ECDSA" ? ["verify"] : []).catch(() => null);
}

// createKeys returns new keys with their public parts: {sign, seal, sign_key, seal_key}.
export async function createKeys() {
  const [sign, seal] = await Promise.all([
    crypto.subtle.generateKey({ name: "ECDSA", ...curve }, false, ["sign", "verify"]),
    crypto.subtle.generateKey({ name: "ECDH", ...curve }, false, ["deriveBits"]),
  ]);
  return { sign: sign.privateKey, seal: seal.privateKey, sign_key: await pointOf(sign.publicKey), seal_key: await pointOf(seal.publicKey) };
}

const pointOf = async (key) => encode64(new Uint8Array(await crypto.subtle.exportKey("raw", key)));

// mac returns the HMAC of the canonical form of a value under a secret.
export async function mac(secret, context, v) {
  const key = await crypto.subtle.importKey("raw", secret, hmac, false, ["sign"]);
  return encode64(new Uint8Array(await crypto.subtle.sign(hmac, key, inContext(context, canonical(v)))));
}

// deviceId returns the id of the device with a sign_key.
export const deviceId = async (signKey) => "d_" + encode64((await sha256(decode64(signKey, 65))).subarray(0, 16));

// sign returns a signature over the canonical form of a value.
export async function sign(key, context, v) {
  return encode64(new Uint8Array(await crypto.subtle.sign(ecdsa, key, inContext(context, canonical(v)))));
}

// verify reports whether a signature over the canonical form of a value is valid.
export async function verify(signKey, context, v, sig) {
  const key = await importKey(signKey), rs = decode64(sig, 64);
  return !!key && !!rs && crypto.subtle.verify(ecdsa, key, rs, inContext(context, canonical(v)));
}

// own returns what a member signs itself.
export const own = (account, { kind, id, sign_key, seal_key }) => ({ account, kind, id, sign_key, seal_key });

export const putDevice = (device) => within(["devices"], "readwrite", (done, all) => { all.put(device); });

export const getDevice = (account) => within(["devices"], "readonly", (done, all) => { all.get(account).onsuccess = (e) => done(e.target.result); });

// dropKeys deletes a device and its counters.
export function dropKeys(account) {
  for (const key of temporary.keys()) if (key.startsWith(account)) temporary.delete(key);
  return within(["devices", "counters"], "readwrite", (done, all, counters) => {
    all.delete(account);
    counters.delete(IDBKeyRange.bound([account], [account, []]));
  });
}

const maxRuns = 200; // runs of a host whose inputs are stored
const maxInputs = 32; // inputs of a run that may be lost

const temporary = new Map(); // counters of temporary devices

// change applies fn to the counters {last, runs} of a device for a host, and returns its result.
// runs maps a run to the counters of its last inputs.
async function change(device, host, fn) {
  const key = [device.account, host];
  const apply = (was) => {
    const state = was ?? { last: device.counter ?? 0, runs: new Map() };
    return [state, fn(state)];
  };
  if (device.temporary) {
    const [state, result] = apply(temporary.get(key.join()));
    temporary.set(key.join(), state);
    return result;
  }
  return within(["counters"], "readwrite", (done, all) => {
    all.get(key).onsuccess = (e) => {
      const [state, result] = apply(e.target.result);
      all.put(state, key);
      done(result);
    };
  });
}

// nextCounter returns the counter of the next statement, which is stored before it is used. For an
// input or keys to a run it also returns after, the counter of the previous one.
export async function nextCounter(device, host, run) {
  const next = await change(device, host, (state) => {
    const counter = ++state.last;
    if (!run) return { counter };
    const inputs = state.runs.get(run) ?? [];
    state.runs.delete(run); // the last run is that of the newest input
    state.runs.set(run, [...inputs, counter].slice(-maxInputs));
    if (state.runs.size > maxRuns) state.runs.delete(state.runs.keys().next().value);
    return { counter, after: inputs.at(-1) || undefined };
  });
  return next ?? refuse("storage", "the browser’s storage is not available: reload this page");
}

// dropInput records that an input will never be applied.
export function dropInput(device, host, run, counter) {
  return change(device, host, ({ runs }) => { runs.set(run, (runs.get(run) ?? []).filter((c) => c !== counter)); });
}

// setLastInput records the last input that a host has applied to a run.
export function setLastInput(device, host, run, counter) {
  return change(device, host, ({ runs }) => { runs.set(run, [counter]); });
}
