// Opens the texts of push messages. Only the service worker (root/sw.js) uses this module: it has
// neither the page's connection nor the rosters that the page has verified.
import { within } from "./cache.js";
import { isTime, parse, refuse } from "./canonical.js";
import { deriveKey, openRecord, openText, place, verifyRecord } from "./epochs.js";
import { linesOf, parseRoster } from "./roster.js";

const text = "string";
const noticeForm = { summary: text, title: text, ts: text };
const maxAge = 48 * 3600_000; // in ms; of an event: that of an epoch, and the time for which its keys are valid
const requestTimeout = 10_000;
const types = ["run.permission_requested", "run.permission_resolved", "run.exited"];

const readAll = () => within(["devices", "counters"], "readonly", (done, devices, values) => {
  devices.getAll().onsuccess = (d) => { values.getAll().onsuccess = (v) => done([d.target.result.filter((x) => x.n), v.target.result]); };
});

// textOf returns the title and summary of a message. mine is set if the machine has sealed them, or
// has no account. The server can write any text for a run of an account, so the text is the same for
// all such messages that cannot be opened.
export async function textOf(note) {
  try {
    const [devices, values] = await readAll();
    const { run_id, host_id, sealed } = note;
    const isSealed = sealed || devices.some((d) => !host_id || d.hosts.includes(host_id)) || values.some((v) => v.run === run_id || (v.secrets && v.host === host_id));
    return isSealed ? await open(note, devices, values) : { ...note, mine: true };
  } catch {
    return { title: "Concerto", summary: "A run needs you" };
  }
}

async function open({ run_id, request_id, host_id, withdrawn, sealed: { type, epoch, device: id, ct } }, devices, values) {
  if (type !== types[request_id ? Number(!!withdrawn) : 2]) refuse("wrong_request");
  const device = devices.find((d) => d.id === id) ?? refuse("unknown_device"), { account } = device;
  const ring = values.find((v) => v.secrets && v.host === host_id && v.account === account);
  const command = ring?.commands?.get(epoch) ?? (await newKeys(device, host_id, ring?.position)).get(epoch) ?? refuse("old_epoch");
  const at = place("push", account, host_id, run_id, epoch, type, request_id, id);
  const { title, summary, ts } = parse(await openText(await deriveKey(command.derive, "push"), at, ct, () => 512), noticeForm);
  if (!isTime(ts) || !(Math.abs(Date.now() - Date.parse(ts)) < maxAge)) refuse("stale");
  return { title, summary, mine: true };
}

// newKeys returns the command keys of a machine's epochs that the page has not read, by epoch. known
// is the position of the newest key record that it has.
async function newKeys(device, host, known) {
  const { account } = device, all = new Map();
  const get = async (part) => {
    const answer = await fetch(`/seal/${account}/${part}`, { cache: "no-store", redirect: "error", signal: AbortSignal.timeout(requestTimeout) });
    return answer.ok ? answer.text() : refuse("old_epoch");
  };
  const roster = await parseRoster(await get("roster?after=0"), account, device);
  for (const line of linesOf(await get(`keys?host=${encodeURIComponent(host)}&after=${known?.n ?? 0}`)).filter(Boolean)) {
    const k = await verifyRecord(roster, line, host, known);
    known = k.position;
    if (k.wraps.some((w) => w.to === device.id)) all.set(k.epoch, (await openRecord(k, device.id, device)).command);
  }
  return all;
}
