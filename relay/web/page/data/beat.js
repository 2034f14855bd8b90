// Beats: the ends of a machine's runs, which the machine signs. They show that the server withholds
// the newest events of a run. The page loads this module with the head of a sealed run.
import { accountOf, load } from "./devices.js";
import { conn } from "./main.js";
import { rpc } from "./rpc.js";
import { effect } from "./signals.js";

const { decode64, isId, refuse, rosters, verify } = await load();

const each = 20_000; // interval between two beats, in ms
const grace = 25_000; // maximum time in ms for which events are expected to be on their way

// readBeat verifies a beat of a machine with the sign_key key. after is the time of the newest beat
// that was verified. It returns {at, ends}, with the machine's time in ms. It throws Refusal.
export async function readBeat({ sig, ...beat }, { account, host, key }, after) {
  const { v, ends, fresh } = beat;
  if (v !== 1) refuse("unsupported");
  const token = decode64(fresh, 24);
  if (!ends || !token) refuse("bad_message");
  if (beat.account !== account || beat.host !== host) refuse("wrong_request");
  if (!(await verify(key, "beat", beat, sig))) refuse("bad_signature");
  const at = Number(new DataView(token.buffer, token.byteOffset).getBigUint64(0));
  if (at <= after) refuse("replayed");
  if (Object.entries(ends).some(([run, { seq, tag }]) => !isId(run) || !(Number.isSafeInteger(seq) && seq > 0) || !decode64(tag, 16))) refuse("bad_message");
  return { at, ends };
}

async function ask(host, after) {
  const account = accountOf(host), roster = await rosters.get(account);
  const key = roster?.hostKey(host);
  if (!key) return null; // no event of the machine was opened yet
  const { beat } = await rpc("rpc.host.info", null, { host_id: host }, { bare: true });
  return beat ? readBeat(beat, { account, host, key }, after) : null;
}

// watchEnd compares the end of an open run with the newest beat, until the returned function is
// called. confirm(at) is called if the page has all events that the machine had sealed at a time.
// The view reports those that stay away.
export function watchEnd(host, run, view, confirm) {
  let timer = 0, late = 0, newest = 0, stopped = false, losses = 0;
  const unsubscribe = effect(() => { if (conn.value.state !== "online") losses++; });
  const check = async () => {
    const beat = conn.peek().state === "online" && document.visibilityState === "visible" ? await ask(host, newest).catch(() => null) : null; // without a valid one, the confirmation stays old
    if (stopped) return;
    if (beat) {
      newest = beat.at;
      handle(beat.at, Object.hasOwn(beat.ends, run) ? beat.ends[run].seq : 0);
    }
    timer = setTimeout(check, each);
  };
  const handle = (at, seq) => {
    if (!seq) return;
    if (view.last.peek() >= seq) { confirm(at); return; }
    const before = losses;
    late ||= setTimeout(() => {
      late = 0;
      if (view.last.peek() >= seq) confirm(at);
      else if (losses === before) view.end.value = Math.max(view.end.peek(), seq);
    }, grace);
  };
  check();
  return () => {
    stopped = true;
    clearTimeout(timer);
    clearTimeout(late);
    unsubscribe();
    view.end.value = 0;
  };
}
