// Opens the events of sealed runs that a link shares with this browser, and makes such links. The
// formats are those of package relay/seal.
import { api } from "./api.js";
import { now } from "./clock.js";
import { accountOf, deviceOf, load, readBack, setDevice } from "./devices.js";
import { rpc } from "./rpc.js";
import { alone } from "./tabs.js";

const { bytesOf, canonical, createKeys, decode64, deriveKey, deviceId, encode64, getDevice, importCommand, importHKDF, importKey, isHash, isId, mac, openJSON, params, parse, place, putDevice, refuse, reopen, rosters, sign } = await load();

const { subtle } = globalThis.crypto;
const text = "string", maxRecord = 1 << 20, mostRuns = 100;
const firstRetry = 1_000, lastRetry = 60_000; // delays in ms before the keys of a new epoch are read again

const isObject = (v) => Object(v) === v && !Array.isArray(v);

const bits = async (secret, purpose, n, ...more) => new Uint8Array(await subtle.deriveBits(params(new Uint8Array(), bytesOf(canonical([`concerto-sealed-v1 ${purpose}`, ...more]))), secret, n * 8));

const idOf = async (secret) => `s_${encode64(await bits(secret, "share", 16))}`;

// readShare opens a share with the secret of its link, 32 bytes in base64url.
export async function readShare(share, secret64) {
  const secret = await importHKDF(decode64(secret64, 32) ?? refuse("bad_message", "the link is incomplete"));
  const s = parse(share, { v: "integer", account: text, host: text, share: text, ct: text }, maxRecord);
  if (s.v !== 1) refuse("unsupported");
  if (![s.account, s.host, s.share].every(isId)) refuse("bad_message");
  if (s.share !== await idOf(secret)) refuse("wrong_request");
  const shared = await openJSON(await deriveKey(secret, "read"), place("share", s.account, s.host, s.share), s.ct);
  const { roster, ...rest } = isObject(shared) ? shared : {};
  const runs = isObject(rest.keys) && Object.keys(rest).length === 2 ? Object.entries(rest.keys) : [];
  if (roster !== undefined && !(isObject(roster) && Object.keys(roster).length === 2 && Number.isSafeInteger(roster.n) && roster.n > 0 && isHash(roster.hash))) refuse("bad_message");
  if (!runs.length || runs.length > mostRuns || !(await importKey(shared.sign_key, "ECDSA"))) refuse("bad_message");
  for (const [run, keys] of runs) {
    if (!isId(run) || !isObject(keys) || !Object.keys(keys).length) refuse("bad_message");
    for (const [epoch, key] of Object.entries(keys)) if (!/^[1-9]\d{0,15}$/.test(epoch) || !Number.isSafeInteger(Number(epoch)) || !decode64(key, 32)) refuse("bad_message");
  }
  return { account: s.account, host: s.host, shared };
}

// guestOf makes this browser the guest of an approver's link, with keys that it stores: the machine
// accepts decisions only of the first browser that has sent one through the link.
async function guestOf(id, secret, { account, host }, newest) {
  const keys = await alone("concerto-guest", async () => { // two tabs must not create two guests
    const all = await getDevice(id).catch(() => {}) ?? { account: id, ...await createKeys() };
    await putDevice(all).catch(() => {});
    return all;
  });
  const { sign_key } = keys, key = await bits(secret, "guest", 32), commands = await importHKDF(key);
  return {
    id: await deviceId(sign_key), sign: keys.sign,
    guest: {
      account: id, temporary: !await readBack(keys), proof: { sign_key, mac: await mac(key, "guest", [account, host, id, sign_key]) },
      async newestKey() {
        const epoch = newest();
        return { epoch, key: await importCommand(await bits(commands, "guest", 32, epoch)) };
      },
    },
  };
}

// openShare makes the events readable that a link shares, also later ones while the link is valid.
export async function openShare(secret64) {
  const secret = await importHKDF(decode64(secret64, 32) ?? refuse("bad_message", "the link is incomplete")), id = await idOf(secret);
  const opened = new Map(); // the keys by epoch and run
  let newest = 0, wait = firstRetry, timer = 0;
  const read = async () => {
    const line = await api.get(`/seal/share/${id}`);
    const { account, host, shared: { keys, sign_key, roster } } = await readShare(line.trimEnd(), secret64);
    for (const [run, of] of Object.entries(keys)) for (const [epoch, key] of Object.entries(of)) {
      opened.set(`${epoch} ${run}`, await subtle.importKey("raw", decode64(key, 32), "AES-GCM", false, ["decrypt"]));
      newest = Math.max(newest, Number(epoch));
    }
    if (deviceOf(account)) return; // it was opened before
    const guest = roster && await guestOf(id, secret, { account, host }, () => newest);
    rosters.set(account, Promise.resolve({ n: 1, head: roster, hostKey: (of) => of === host && sign_key }));
    setDevice(account, { account, id, n: 1, hosts: [host], users: {}, temporary: true, name: "", shared, why: "The link does not share this.", ...guest });
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

// makeShare shares a run of a machine for a time in seconds, with a viewer or an approver. It
// returns the part of the link that follows its access token.
export async function makeShare(host_id, run, ttl_s, role) {
  const bytes = crypto.getRandomValues(new Uint8Array(32)), secret = await importHKDF(bytes);
  const share_id = await idOf(secret), key = encode64(await bits(secret, "read", 32));
  await rpc("rpc.share.start", null, { host_id, share_id, key, runs: [run], ttl_s, ...(role === "approver" && await grant(host_id, share_id, run, ttl_s, secret)) });
  return { share_id, secret: encode64(bytes) };
}

// grant returns what permits the guest of a link to decide: its key, and the signed grant.
async function grant(host, share, run, ttl_s, secret) {
  const account = accountOf(host), { id: by, n, hash, sign: key } = deviceOf(account) ?? refuse("unknown_device"), at = now();
  const g = { v: 1, account, host, share, runs: [run], page: "server", at: new Date(at).toISOString(), expires: new Date(at + ttl_s * 1000).toISOString(), roster: { n, hash }, by };
  return { guest: encode64(await bits(secret, "guest", 32)), grant: { ...g, sig: await sign(key, "grant", g) } };
}
