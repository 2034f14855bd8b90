// The enrolment of this browser. The page loads this module with the screen of an enrolment.
import { api, home } from "./api.js";
import { now } from "./clock.js";
import { load, readBack, setDevice } from "./devices.js";

const { Refusal, canonical, createKeys, decode64, described, deviceId, dropKeys, encode64, extend, isId, isName, mac, own, putDevice, refuse, reopen, rosters, sign } = await load();

const poll = 2_000; // in ms, while an enrolment waits

const originOf = (url) => (URL.canParse(url) ? new URL(url).origin : null);

// parseLink reads the link of an enrolment. It throws Refusal.
export function parseLink(text) {
  const [page, fragment = ""] = text.split("#/join/");
  const [account, session, secret, expires, server, ...more] = fragment.split(".");
  const url = server && decode64(server, Math.floor((server.length * 3) / 4));
  if (more.length || !url || !isId(account) || !isId(session) || !/^\d{1,13}$/.test(expires) || !decode64(secret, 32)) refuse("bad_message", "the link is incomplete");
  return { page, account, session, secret: decode64(secret, 32), expires_ms: Number(expires) * 1000, server: new TextDecoder().decode(url) };
}

// checkLink refuses a link that this page cannot use.
export function checkLink({ server, expires_ms }) {
  if (!crypto.subtle) refuse("insecure", "over plain http this page can show runs, but not sign commands");
  if (originOf(server) !== home) refuse("wrong_server", "the link is for another server");
  if (expires_ms <= now()) refuse("expired", "the link has expired");
}

// reply returns the message of a new device to the side that adds it.
export async function reply({ account, session, secret }, keys, name) {
  const m = { kind: "device", id: await deviceId(keys.sign_key), sign_key: keys.sign_key, seal_key: keys.seal_key };
  const r = { v: 1, account, session, ...m, name, own_sig: await sign(keys.sign, "member", own(account, m)) };
  return { id: m.id, text: canonical({ ...r, mac: await mac(secret, "join", r) }) };
}

// join enrols this browser: it creates keys, sends the reply, and waits until an owner has added
// the device to the roster. waits(device) is called when the reply is sent. make creates the keys with
// a passkey, if the user has chosen that. It rejects with an error that has a code.
export async function join(link, name, waits, make) {
  checkLink(link);
  if (!isName(name)) refuse("bad_name", "the name must have 1 to 200 bytes");
  const { account } = link, passkey = await make?.(account, name), keys = passkey?.keys ?? (await createKeys()), { id, text } = await reply(link, keys, name);
  const mailbox = `/seal/join/${link.session}`;
  let device = { account, id, name, created: Date.now(), n: 0, ...keys };
  await putDevice(device).catch(() => {});
  if (!(await readBack(device))) {
    device = { ...device, temporary: true };
    await dropKeys(account).catch(() => {});
  } else navigator.storage?.persist?.().catch(() => {});
  try {
    await passkey?.store();
    await api.post(mailbox, { side: "join", text });
    waits(device);
    const roster = await added(link, id);
    const m = roster.member(id);
    if (m.sign_key !== keys.sign_key || m.seal_key !== keys.seal_key) refuse("bad_signature", "the roster has other keys of this device");
    device = { ...device, ...described(roster), role: m.role };
    rosters.set(account, Promise.resolve(roster));
    if (!device.temporary) await putDevice(device);
    setDevice(account, device);
    reopen();
    return device;
  } catch (err) {
    passkey?.remove().catch(() => {});
    await dropKeys(account).catch(() => {});
    throw err;
  }
}

// added waits for the roster that contains a device.
async function added({ account, session, expires_ms }, id) {
  let roster = null, after = 0;
  while (now() < expires_ms + poll) {
    try {
      roster = await extend(roster, account);
      if (roster.member(id)) return roster;
      const { messages, next } = await api.get(`/seal/join/${session}?side=join&after=${after}&wait=2`);
      after = next ?? after;
      if (messages?.some(isRefusal)) refuse("refused", "the owner refused this device");
      if (messages?.length) continue;
    } catch (err) {
      if (err instanceof Refusal || err.code === "unknown_account" || err.status === 401) throw err; // after other errors the next attempt may succeed
    }
    await new Promise((done) => setTimeout(done, poll));
  }
  return refuse("expired", "the link expired before an owner confirmed this device");
}

// isRefusal reports whether a message of the adding side ends the enrolment.
function isRefusal(text) {
  try { return JSON.parse(text).refused === true; } catch { return false; }
}
