// The rosters of this browser's accounts, as the page has verified them.
import { api } from "./api.js";
import { Refusal, canonical, refuse } from "./canonical.js";
import { deviceOf, locks, setDevice } from "./devices.js";
import { putDevice } from "./keys.js";
import { linesOf, parseRoster } from "./roster.js";

Object.assign(locks, {
  unknown_device: "This browser is no longer enrolled. Run concerto-relay devices add on the machine.",
  roster_fork: "This account has two lists of devices. Run concerto-relay seal status --resolve on the machine, then reload.",
});

export const rosters = new Map(); // promises of the rosters that are verified, by account

// rosterOf returns the verified roster of a device's account. It loads the lines that are new.
export async function rosterOf(device, reload) {
  const { account } = device, before = await rosters.get(account)?.catch(() => null);
  if (before?.n >= device.n && !reload) return before;
  const loading = extend(before, account, device.n ? device : null);
  rosters.set(account, loading);
  try {
    const roster = await loading;
    const member = roster.member(device.id);
    if (member?.kind !== "device" || member.sign_key !== device.sign_key) refuse("unknown_device", "this browser is no device of the account");
    await record(account, { ...described(roster), problem: undefined });
    return roster;
  } catch (err) {
    rosters.delete(account);
    if (err.code === "roster_fork" || err.code === "unknown_device") await record(account, { problem: err.code });
    else if (err instanceof Refusal) err.message = `the server sent an invalid list of devices: ${err.message}`;
    throw err;
  }
}

// described returns the members of a device that describe its roster.
export function described(roster) {
  const hosts = roster.members.filter((m) => m.kind === "host").map((m) => m.id);
  return { ...roster.head, hosts, users: Object.fromEntries(roster.members.map((m) => [m.id, m.user])) };
}

export async function extend(roster, account, known) {
  const text = await api.get(`/seal/${account}/roster?after=${roster?.n ?? 0}`);
  if (!roster) return parseRoster(text, account, known);
  if (text) for (const line of linesOf(text)) await roster.append(line);
  return roster;
}

// record stores changes of a device. A fork is not stored, so that a reload checks the roster again.
export async function record(account, change) {
  const was = deviceOf(account);
  if (!was || Object.entries(change).every(([k, v]) => canonical(v ?? null) === canonical(was[k] ?? null))) return;
  const device = { ...was, ...change };
  if (!device.temporary && device.problem !== "roster_fork") await putDevice(device);
  setDevice(account, device);
}
