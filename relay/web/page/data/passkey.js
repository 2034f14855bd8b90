// Passkeys: the keys of a device, wrapped by the PRF extension of WebAuthn, for a browser that has
// lost its storage. The formats are those of package relay/seal. The keys can be read only while
// they are created or opened, so a passkey is created together with its device.
import { api } from "./api.js";
import { devices, load, readBack, setDevice } from "./devices.js";
import { loadMachines, machines } from "./machines.js";
import { session } from "./who.js";

const { bytesOf, canonical, curve, decode64, described, deviceId, encode64, extend, isName, openText, parse, place, putDevice, refuse, reopen, rosters, sealText } = await load();

const text = "string";
const form = { v: "integer", account: text, device: text, credential: text, ct: text };
const contentForm = { name: text, private: { v: "integer", sign_key: text, seal_key: text }, sign_key: text, seal_key: text };
const context = "concerto-sealed-v1 passkey";
const prf = { prf: { eval: { first: bytesOf(context) } } };
const kinds = { sign: [{ name: "ECDSA", ...curve }, ["sign"], "verify"], seal: [{ name: "ECDH", ...curve }, ["deriveBits"]] };
const random = (n) => crypto.getRandomValues(new Uint8Array(n));
const bytes64 = (v) => decode64(v, Math.floor((v.length * 3) / 4)) ?? refuse("bad_message");
const path = (account) => `/seal/${account}/passkeys`;

// isSupported reports whether this browser can probably create a passkey with the extension.
export const isSupported = async () => !!(await globalThis.PublicKeyCredential?.isUserVerifyingPlatformAuthenticatorAvailable?.()) && (await PublicKeyCredential.getClientCapabilities?.())?.["extension:prf"] !== false;

// outputOf returns the id of a credential and the output of the extension, as a key.
async function outputOf(credential) {
  const { results } = credential.getClientExtensionResults().prf ?? {};
  return results?.first && { id: encode64(new Uint8Array(credential.rawId)), output: await crypto.subtle.importKey("raw", results.first, "HKDF", false, ["deriveKey"]) };
}

async function evaluate(ids) {
  const allowCredentials = ids.map((id) => ({ type: "public-key", id: bytes64(id) }));
  return (await outputOf(await navigator.credentials.get({ publicKey: { challenge: random(32), allowCredentials, userVerification: "required", extensions: prf } }))) ?? refuse("no_prf");
}

async function create(name) {
  const user = `${session.peek().user}, ${name}`;
  const credential = await navigator.credentials.create({
    publicKey: {
      rp: { name: "Concerto" }, user: { id: random(16), name: user, displayName: user }, challenge: random(32), pubKeyCredParams: [-7, -257].map((alg) => ({ type: "public-key", alg })),
      authenticatorSelection: { residentKey: "required", userVerification: "required" }, extensions: prf,
    },
  });
  if (!credential.getClientExtensionResults().prf?.enabled) refuse("no_prf");
  return (await outputOf(credential)) ?? evaluate([encode64(new Uint8Array(credential.rawId))]); // some return the output only later
}

const keyOf = (output, use) => crypto.subtle.deriveKey({ name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: bytesOf(canonical([context])) }, output, { name: "AES-GCM", length: 256 }, false, [use]);

// importPrivate imports a private key that no script can read, from its scalar d and its point.
function importPrivate(kind, d, point) {
  const xy = decode64(point, 65) ?? refuse("bad_message"), [algorithm, uses] = kinds[kind];
  return crypto.subtle.importKey("jwk", { kty: "EC", crv: "P-256", d, x: encode64(xy.subarray(1, 33)), y: encode64(xy.subarray(33)) }, algorithm, false, uses);
}

async function createPair(kind) {
  const [algorithm, uses, more] = kinds[kind];
  const pair = await crypto.subtle.generateKey(algorithm, true, more ? [...uses, more] : uses);
  const point = encode64(new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey))), { d } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  return { d, point, key: await importPrivate(kind, d, point) };
}

// createKeys creates a passkey, and the keys of a device: {keys, store, remove}. store sends the
// wrapped keys to the server.
export async function createKeys(account, name) {
  const { id, output } = await create(name);
  const [sign, seal] = [await createPair("sign"), await createPair("seal")], sign_key = sign.point, seal_key = seal.point;
  const device = await deviceId(sign_key), content = { name, private: { v: 1, sign_key: sign.d, seal_key: seal.d }, sign_key, seal_key };
  const ct = await sealText(await keyOf(output, "encrypt"), place("passkey", account, device), canonical(content));
  const wrapped = canonical({ v: 1, account, device, credential: id, ct });
  return { keys: { sign: sign.key, seal: seal.key, sign_key, seal_key, passkey: true }, store: () => api.post(path(account), { device, text: wrapped }), remove: () => remove(account, device) };
}

// remove deletes the wrapped keys of a device at the server.
export const remove = (account, device) => api.post(path(account), { device, text: "" });

// open returns the keys of a passkey: {id, name, sign, seal, sign_key, seal_key}.
export async function open({ account, device: id, ct }, output) {
  const { name, private: own, sign_key, seal_key } = parse(await openText(await keyOf(output, "decrypt"), place("passkey", account, id), ct), contentForm);
  if (own.v !== 1 || !isName(name) || id !== (await deviceId(sign_key))) refuse("bad_message");
  const imported = ["sign", "seal"].map((kind) => importPrivate(kind, own[kind + "_key"], kind === "sign" ? sign_key : seal_key));
  const [sign, seal] = await Promise.all(imported).catch(() => refuse("bad_message"));
  return { id, name, sign, seal, sign_key, seal_key };
}

export function read(wrapped, account) {
  const p = parse(wrapped, form);
  if (p.v !== 1) refuse("unsupported");
  if (p.account !== account) refuse("wrong_request");
  return p;
}

// stored returns the passkeys of the user for the accounts in which this browser is no device, by
// account.
export async function stored() {
  if (!machines.peek().length) await loadMachines();
  const accounts = new Set(machines.peek().map((m) => m.account).filter((a) => a && !devices.peek()?.some((d) => d.account === a && !d.problem)));
  const all = await Promise.all([...accounts].map(async (a) => [a, await api.get(path(a))]));
  return all.filter(([, list]) => list.length);
}

// restore makes this browser the device of a passkey again. Its counters continue at the time in
// milliseconds, which is above all that the device has used: it signs at most one statement in a
// millisecond. A machine refuses a counter that is not above those it knows.
export async function restore(account, list) {
  const all = list.map((p) => read(p.text, account)), { id: credential, output } = await evaluate(all.map((p) => p.credential));
  const keys = await open(all.find((p) => p.credential === credential) ?? refuse("unknown_device"), output);
  const roster = await extend(null, account), m = roster.member(keys.id);
  if (m?.sign_key !== keys.sign_key || m.seal_key !== keys.seal_key) refuse("unknown_device");
  const device = { account, created: Date.now(), counter: Date.now(), passkey: true, role: m.role, ...keys, ...described(roster) };
  await putDevice(device).catch(() => {});
  if (!(await readBack(device))) device.temporary = true;
  rosters.set(account, Promise.resolve(roster));
  setDevice(account, device);
  reopen();
  return device;
}
