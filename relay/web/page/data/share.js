// Opens the events of sealed runs that a link shares with this browser, and makes such links. The
// formats are those of package relay/seal.
import { api } from "./api.js";
import { deviceOf, load, setDevice } from "./devices.js";
import { rpc } from "./rpc.js";

const { bytesOf, canonical, decode64, deriveKey, encode64, importHKDF, importKey, isId, openJSON, params, parse, place, refuse, reopen, rosters } = await load();

const { subtle } = globalThis.crypto;
const text = "string", maxRecord = 1 << 20, mostRuns = 100;
const firstRetry = 1_000, lastRetry = 60_000; // delays in ms before the keys of a new epoch are read again

const isObject = (v) => Object(v) === v && !Array.isArray(v);

const bits = async (secret, purpose, n) => new Uint8Array(await subtle.deriveBits(params(new Uint8Array(), bytesOf(canonical([`concerto-sealed-v1 ${purpose}`]))), secret, n * 8));

const idOf = async (secret) => `s_${encode64(await bits(secret, "share", 16))}`;

// readShare opens a share with the secret of its link, 32 bytes in base64url.
export async function readShare(share, secret64) {
  const secret = await importHKDF(decode64(secret64, 32) ?? refuse("bad_message", "the link is incomplete"));
  const s = parse(share, { v: "integer", account: text, host: text, share: text, ct: text }, maxRecord);
  if (s.v !== 1) refuse("unsupported");
  if (![s.account, s.host, s.share].every(isId)) refuse("bad_message");
  if (s.share !== await idOf(secret)) refuse("wrong_request");
  const shared = await openJSON(await deriveKey(secret, "read"), place("share", s.account, s.host, s.share), s.ct);
  const runs = isObject(shared) && isObject(shared.keys) && Object.keys(shared).length === 2 ? Object.entries(shared.keys) : [];
  if (!runs.length || runs.length > mostRuns || !(await importKey(shared.sign_key, "ECDSA"))) refuse("bad_message");
  for (const [run, keys] of runs) {
    if (!isId(run) || !isObject(keys) || !Object.keys(keys).length) refuse("bad_message");
    for (const [epoch, key] of Object.entries(keys)) if (!/^[1-9]\d{0,15}$/.test(epoch) || !Number.isSafeInteger(Number(epoch)) || !decode64(key, 32)) refuse("bad_message");
  }
  return { account: s.account, host: s.host, shared };
}

// openShare makes the events readable that a link shares, also later ones while the link is valid.
export async function openShare(secret64) {
  const id = await idOf(await importHKDF(decode64(secret64, 32) ?? refuse("bad_message", "the link is incomplete")));
  const opened = new Map(); // the keys by epoch and run
  let newest = 0, wait = firstRetry, timer = 0;
  const read = async () => {
    const line = await api.get(`/seal/share/${id}`);
    const { account, host, shared: { keys, sign_key } } = await readShare(line.trimEnd(), secret64);
    for (const [run, of] of Object.entries(keys)) for (const [epoch, key] of Object.entries(of)) {
      opened.set(`${epoch} ${run}`, await subtle.importKey("raw", decode64(key, 32), "AES-GCM", false, ["decrypt"]));
      newest = Math.max(newest, epoch);
    }
    if (deviceOf(account)) return; // a device of the account has all keys
    rosters.set(account, Promise.resolve({ n: 1, hostKey: (of) => of === host && sign_key }));
    setDevice(account, { account, id, n: 1, hosts: [host], users: {}, temporary: true, name: "", shared, why: "The link does not share this." });
  };
  const shared = async (epoch, run) => {
    if (epoch > newest && !timer) {
      await read().catch(() => {}); // it is repeated
      if (epoch > newest) timer = setTimeout(async () => {
        timer = 0;
        wait = Math.min(lastRetry, wait * 2);
        await shared(epoch, run).catch(() => {});
        if (epoch <= newest) reopen();
      }, wait);
      else wait = firstRetry;
    }
    return opened.get(`${epoch} ${run}`) ?? refuse("old_epoch");
  };
  await read();
}

// makeShare shares a run of a machine for a time in seconds. It returns the part of the link that
// follows its access token.
export async function makeShare(host_id, run, ttl_s) {
  const bytes = crypto.getRandomValues(new Uint8Array(32)), secret = await importHKDF(bytes);
  const share_id = await idOf(secret), key = encode64(await bits(secret, "read", 32));
  await rpc("rpc.share.start", null, { host_id, share_id, key, runs: [run], ttl_s });
  return { share_id, secret: encode64(bytes) };
}
