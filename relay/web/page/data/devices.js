// The devices that this browser is in accounts of machines. A machine with an account executes only
// commands that a device has signed. seal.js signs them; the page loads it when it is needed.
import { byLink } from "./api.js";
import { within } from "./cache.js";
import { loadMachines, machines } from "./machines.js";
import { signal } from "./signals.js";
import { broadcast } from "./tabs.js";

// devices contains {account, id, name, n, hash, hosts, …}, or null before they are loaded.
// temporary is set if the browser does not store the keys, and problem is a Refusal's code if the
// device cannot sign.
export const devices = signal(null);

// waiting contains why sealed requests cannot be approved yet, by key: their machine has not
// confirmed them.
export const waiting = signal(new Map());

// loadDevices loads the stored devices. Those without a roster were never confirmed. The tab of a
// link uses none: others choose what the link names as account, and who is its guest.
export async function loadDevices() {
  if (byLink()) { devices.value ??= []; return; }
  const stored = await within(["devices"], "readonly", (done, all) => { all.getAll().onsuccess = (e) => done(e.target.result); }, []).catch(() => []);
  devices.value = [...stored.filter((d) => d.n), ...(devices.peek() ?? []).filter((d) => d.temporary)];
  if (devices.value.length) await load().then((s) => s.restore(), () => {});
}

// readBack reads a stored device and uses its keys once, because some browsers store a key and
// return none. It reports whether the keys can be used after a reload.
export async function readBack({ account }) {
  try {
    const { sign, seal } = await within(["devices"], "readonly", (done, all) => { all.get(account).onsuccess = (e) => done(e.target.result); });
    const other = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, false, ["deriveBits"]);
    await crypto.subtle.deriveBits({ name: "ECDH", public: other.publicKey }, seal, 256);
    await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, sign, new Uint8Array(1));
    return true;
  } catch {
    return false; // then the device is temporary
  }
}

export const deviceOf = (account) => devices.value?.find((d) => d.account === account);

// setDevice replaces a device, or removes it if device is null.
export function setDevice(account, device) {
  devices.value = [...(devices.peek() ?? []).filter((d) => d.account !== account), ...(device ? [device] : [])];
  broadcast({ kind: "devices" });
}

// accountOf returns the account of a machine, or undefined if its commands need no signature. A
// machine of a verified roster has an account, even if the server hides it.
export const accountOf = (host) => devices.value?.find((d) => d.hosts.includes(host))?.account || machines.value.find((m) => m.id === host)?.account;

// locks contains a sentence for each problem of a device. account.js sets them.
export const locks = {};

// lockOf returns why this browser cannot send commands to a machine, with the next step, or "".
export function lockOf(host) {
  const account = accountOf(host), device = account && deviceOf(account);
  if (!account || !devices.value) return "";
  if (!globalThis.crypto.subtle) return "This page cannot sign commands over plain http. Open it over https.";
  return device ? locks[device.problem] ?? "" : "This browser is not enrolled. Run concerto-relay devices add on the machine, or use your passkey in the settings.";
}

export const load = () => import("./seal.js");

// seal returns {message, statement?, open?}: the message to send for the command what, {kind, id,
// message, host?} and, for a decision, {shown, request}. If the command's machine has an account,
// the message is signed and sealed; open returns the data of the response to an RPC. To send a command again, what has the message and statement from before, and
// old if the machine did not have the keys. It rejects with an error that has a code.
export async function seal(what) {
  if (!machines.peek().length) await loadMachines();
  return devices.peek()?.length || machines.peek().some((m) => m.account) ? (await load()).sealAny(what) : what;
}

// drop records that signed keys, of which id is the ID, or the input with a statement will never be
// applied.
export function drop(id, statement) {
  if (devices.peek()?.length) load().then((s) => s.drop(id, statement)).catch(() => {});
}

// unsealed contains a function that returns a text for a run that is not sealed although its
// machine has an account, which may be short.
export const unsealed = signal(() => "");

// explain returns the sentence for a machine's refusal of a signed command, "CODE: text".
export const explain = async (error, action) => (await load()).explain(error, action);

export function forgetDevices() { devices.value = []; }
