// The keys of a host's epochs: signed key records, and histories for devices that were added later.
import { bytesOf, canonical, decode64, encode64, fit, hash, isHash, isId, isName, isObject, isTime, parse, refuse } from "./canonical.js";
import { importKey, verify } from "./keys.js";

const { subtle } = globalThis.crypto;
const text = "string", integer = "integer";
const wrapForm = { enc: text, ct: text };
const recordForm = { v: integer, account: text, host: text, epoch: integer, roster: { n: integer, hash: text }, prev: text, at: text, wraps: "any", names: text, "sig?": text };
const historyForm = { v: integer, account: text, host: text, by: text, to: text, epochs: "any", ...wrapForm, "sig?": text };
const maxRecord = 1 << 20; // bytes
const tagSize = 16;
const minSealed = 12 + 256 + tagSize; // nonce, padded text, tag
const maxSealed = (4 << 20) - 4096;
const maxPlain = (47 << 16) - 1;

const unsigned = ({ sig, ...v }) => v;
const concat = (...all) => new Uint8Array(all.flatMap((x) => [...(typeof x === "string" ? bytesOf(x) : x)]));

export const importHKDF = (bytes) => subtle.importKey("raw", bytes, "HKDF", false, ["deriveKey", "deriveBits"]);
// importCommand returns a command key: seal is for commands, and the keys of responses derive from
// derive.
export const importCommand = async (bytes) => ({ seal: await subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]), derive: await importHKDF(bytes) });

export const params = (salt, info) => ({ name: "HKDF", hash: "SHA-256", salt, info });

const hkdf = async (ikm, salt, info, n) => new Uint8Array(await subtle.deriveBits(params(salt, info), await importHKDF(ikm), n * 8));

// unwrap opens a wrap {enc, ct} of n bytes with HPKE (RFC 9180) in base mode, with the private key
// of a seal_key. Its result is secret.
export async function unwrap(key, sealKey, { enc, ct }, aad, n, info = "concerto-sealed-v1 keys") {
  const kem = "HPKE-v1KEM\0\x10", suite = "HPKE-v1HPKE\0\x10\0\x01\0\x02", none = new Uint8Array(32);
  const point = await importKey(enc, "ECDH");
  if (!point) refuse("bad_signature");
  const dh = new Uint8Array(await subtle.deriveBits({ name: "ECDH", public: point }, key, 256));
  const shared = await hkdf(concat(kem, "eae_prk", dh), none, concat([0, 32], kem, "shared_secret", decode64(enc, 65), decode64(sealKey, 65)), 32);
  const zero = await subtle.importKey("raw", none, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const extract = async (...of) => new Uint8Array(await subtle.sign("HMAC", zero, concat(suite, ...of)));
  const context = concat([0], await extract("psk_id_hash"), await extract("info_hash", info));
  const expand = (label, size) => hkdf(concat(suite, "secret"), shared, concat([0, size], suite, label, context), size);
  const opener = await subtle.importKey("raw", await expand("key", 32), "AES-GCM", false, ["decrypt"]);
  return decrypt(opener, await expand("base_nonce", 12), bytesOf(canonical(aad)), decode64(ct, n + tagSize));
}

async function decrypt(key, iv, additionalData, bytes) {
  try {
    return new Uint8Array(await subtle.decrypt({ name: "AES-GCM", iv, additionalData }, key, bytes));
  } catch {
    return refuse("bad_signature");
  }
}

// deriveKey returns the key of sealed texts for a purpose, of which info is the name.
export const deriveKey = (secret, info, ...more) => subtle.deriveKey(params(new Uint8Array(), bytesOf(canonical([`concerto-sealed-v1 ${info}`, ...more]))), secret, { name: "AES-GCM", length: 256 }, false, ["decrypt"]);

// decodeSealed returns the bytes of a sealed text.
export function decodeSealed(ct) {
  const n = Math.floor((ct.length * 3) / 4);
  return (ct.length <= maxSealed && n >= minSealed && decode64(ct, n)) || refuse("bad_message");
}

// place returns the additional data of a sealed text.
export const place = (...parts) => bytesOf(canonical(["concerto-sealed-v1", ...parts]));

// tagOf returns the tag of a sealed text: its last 16 bytes.
export const tagOf = (ct) => encode64(decodeSealed(ct).subarray(-tagSize));

// sealText seals a text.
export async function sealText(key, additionalData, text) {
  const bytes = bytesOf(text), n = bytes.length;
  if (n > maxPlain) refuse("too_large", "this is too long to be sealed");
  const size = paddedSize(n), padded = new Uint8Array(size), sealed = new Uint8Array(12 + size + tagSize), iv = crypto.getRandomValues(sealed.subarray(0, 12));
  padded.set(bytes);
  padded[n] = 0x80;
  sealed.set(new Uint8Array(await subtle.encrypt({ name: "AES-GCM", iv, additionalData }, key, padded)), 12);
  return encode64(sealed);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// openText opens a sealed text of n bytes whose padded text has sizeOf(n) bytes.
export async function openText(key, at, ct, sizeOf = paddedSize) {
  const bytes = decodeSealed(ct), padded = await decrypt(key, bytes.subarray(0, 12), at, bytes.subarray(12));
  const n = padded.findLastIndex((b) => b);
  if (padded[n] !== 0x80 || sizeOf(n) !== padded.length) refuse("bad_message");
  try { return utf8.decode(padded.subarray(0, n)); } catch { return refuse("bad_message"); }
}

// openJSON opens a sealed JSON text, which must be in the canonical form.
export async function openJSON(key, at, ct) {
  const json = await openText(key, at, ct);
  let v, form = json;
  try { v = JSON.parse(json); } catch { /* the caller refuses undefined */ }
  try { form = canonical(v); } catch { /* a number that this page cannot show exactly */ }
  return form === json ? v : refuse("bad_message");
}

// paddedSize returns the size of a text of n bytes with its padding: by Padmé, at least 256.
function paddedSize(n) {
  const e = 31 - Math.clz32(++n), mask = (1 << (e - 32 + Math.clz32(e))) - 1;
  return Math.max(256, (n + mask) & ~mask);
}

const hasSize = ({ enc, ct }, n) => decode64(enc, 65) && decode64(ct, n + tagSize);

// verifyRecord verifies a key record of a host like VerifyKeyRecord of package relay/seal. known is
// the position {n, hash, roster} of the host's newest verified record, if any. The result has its
// position.
export async function verifyRecord(roster, record, host, known) {
  const k = parse(record, recordForm, maxRecord), line = k.roster.n;
  if (!Array.isArray(k.wraps)) refuse("bad_message");
  for (const w of k.wraps) fit(w, { to: text, ...wrapForm });
  if (k.v !== 1) refuse("unsupported");
  if (!isTime(k.at) || k.epoch < 1 || (k.epoch === 1 && k.prev) || (k.prev && !isHash(k.prev))) refuse("bad_message");
  if (k.account !== roster.account || k.host !== host) refuse("wrong_request");
  if (!roster.has(k.roster)) refuse("roster_fork");
  const members = roster.membersAt(line), m = members.find((x) => x.id === host);
  if (m?.kind !== "host" || roster.wasRemoved(m, k.at)) refuse("unknown_device");
  if (!(await verify(m.sign_key, "epoch", unsigned(k), k.sig))) refuse("bad_signature");
  const to = [...members.filter((x) => x.kind === "device").map((x) => x.id), "recovery"];
  if (k.wraps.map((w) => w.to).join() !== to.join()) refuse("unknown_device");
  if (!k.wraps.every((w) => hasSize(w, w.to === "recovery" ? 32 : 64))) refuse("bad_message");
  decodeSealed(k.names);
  const position = { n: k.epoch, hash: await hash(record), roster: line };
  if (known?.n && canonical(known) !== canonical(position)) {
    if (k.epoch < known.n) refuse("old_epoch");
    if (k.epoch === known.n || k.prev !== known.hash || line < known.roster) refuse("roster_fork");
  }
  return { ...k, position };
}

// openRecord returns the secret of a verified record's epoch, the command key {seal, derive} of the
// device, both as keys that no script can read, and the names of members. id and device are the id
// and keys {seal, seal_key} of a device, or those of recovery, which has no command key.
export async function openRecord(k, id, { seal, seal_key }) {
  const w = k.wraps.find((x) => x.to === id) ?? refuse("unknown_device");
  const keys = await unwrap(seal, seal_key, w, [k.account, k.host, k.epoch, k.roster.n, id], id === "recovery" ? 32 : 64);
  const secret = await importHKDF(keys.subarray(0, 32)), command = keys.length > 32 && await importCommand(keys.subarray(32));
  const list = await openText(await deriveKey(secret, "names"), place("names", k.account, k.host, k.epoch), k.names);
  const names = parse(list, "any", maxRecord);
  if (!isObject(names) || Object.entries(names).some(([name, v]) => !isId(name) || typeof v !== "string" || !isName(v))) refuse("bad_message");
  return { secret, command, names };
}

// openHistory returns the secrets of the epochs that a history has for the device with the id to,
// by epoch.
export async function openHistory(roster, history, host, to, { seal, seal_key }) {
  const h = parse(history, historyForm, maxRecord), by = roster.member(h.by), { epochs } = h;
  if (!Array.isArray(epochs) || !epochs.every(Number.isSafeInteger)) refuse("bad_message");
  if (h.v !== 1) refuse("unsupported");
  if (h.account !== roster.account || h.host !== host || h.to !== to) refuse("wrong_request");
  if (!by) refuse("unknown_device");
  if (by.role !== "owner" && (by.kind !== "host" || h.by !== host)) refuse("forbidden");
  if (!(await verify(by.sign_key, "history", unsigned(h), h.sig))) refuse("bad_signature");
  const size = epochs.length * 32;
  if (!size || !hasSize(h, size) || epochs.some((n, i) => n <= (epochs[i - 1] ?? 0))) refuse("bad_message");
  const secrets = await unwrap(seal, seal_key, h, [h.account, host, epochs, to], size);
  return new Map(await Promise.all(epochs.map(async (n, i) => [n, await importHKDF(secrets.subarray(i * 32, i * 32 + 32))])));
}
