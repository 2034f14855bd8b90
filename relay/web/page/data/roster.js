// The roster of an account: the signed list of its devices and hosts. The server stores it, and
// this page verifies each line.
import { Refusal, bytesOf, decode64, encode64, fit, hash, isId, isName, isTime, parse, refuse, sha256 } from "./canonical.js";
import { deviceId, importKey, own, verify } from "./keys.js";

const text = "string";
const lineForm = { v: "integer", account: text, n: "integer", prev: text, at: text, kind: text, body: "any", by: text, "sig?": text };
const genesisForm = { suite: "integer", recovery: { private: text, sign_key: text, seal_key: text } };
const memberForm = { kind: text, id: text, sign_key: text, seal_key: text, own_sig: text, user: text, "role?": text, "page?": text };
const policyForm = { decide: { "low?": text, "medium?": text, "high?": text } };

const origin = /^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$/;

// Roster is a verified roster. append changes it; nothing else does.
export class Roster {
  account = "";
  #hashes = [];
  #times = [];
  #recovery = null;
  #members = []; // {…member, from, until?}: also the removed ones, whose keys must not be added again

  get n() { return this.#hashes.length; }

  // head returns the position of the last line.
  get head() { return { n: this.n, hash: this.#hashes.at(-1) }; }

  // has reports whether the roster contains a position.
  has({ n, hash }) { return n > 0 && this.#hashes[n - 1] === hash; }

  // members returns the present members.
  get members() { return this.#members.filter((m) => !m.until); }

  member(id) { return this.members.find((m) => m.id === id); }

  // membersAt returns the members as of line n, in the order in which they were added.
  membersAt(n) { return this.#members.filter((m) => m.from <= n && !(m.until <= n)); }

  // hostKey returns the sign_key of a host, which may have been removed.
  hostKey(id) { return this.#members.findLast((m) => m.id === id && m.kind === "host")?.sign_key; }

  // wasRemoved reports whether a member was removed before a time.
  wasRemoved({ sign_key }, at) { return this.#members.some((m) => m.sign_key === sign_key && this.#times[m.until - 1] < at); }

  // append verifies a line, without its line feed. It rejects with Refusal, and leaves the roster
  // unchanged.
  async append(line) {
    const l = parse(line, lineForm);
    if (l.v !== 1 || l.n < 1 || !isTime(l.at)) refuse("bad_message", "v, n or at of a roster line has the wrong form");
    const sum = await hash(line);
    if (!this.n) return this.#begin(line, l, sum);
    if (l.n > 1 && l.account !== this.account) refuse("wrong_request", "the line is for another account");
    if (this.has({ n: l.n, hash: sum })) return;
    if (l.n <= this.n || (l.n === this.n + 1 && l.prev !== this.head.hash)) refuse("roster_fork", `line ${l.n} belongs to another roster of the account`);
    if (l.n > this.n + 1 || l.at < this.#times.at(-1)) refuse("bad_message", "a line is missing, or its time is before that of the previous line");
    if (!(await verify(this.#signer(l), "roster", unsigned(l), l.sig))) refuse("bad_signature", `the signature of line ${l.n} is not by ${l.by}`);
    this.#members = await this.#apply(l);
    this.#store(l, sum);
  }

  #store(l, sum) {
    this.#hashes.push(sum);
    this.#times.push(l.at);
  }

  async #begin(line, l, sum) {
    if (l.kind !== "genesis" || l.n !== 1 || l.account + l.prev !== "" || l.by !== "recovery") refuse("bad_message", "the first line is no genesis");
    const { suite, recovery } = fit(l.body, genesisForm);
    if (suite !== 1) refuse("unsupported", `the roster uses suite ${suite}`);
    await checkKeys(recovery);
    if (!decode64(recovery.private, 92)) refuse("bad_message", "private of the recovery keys has the wrong form");
    if (!(await verify(recovery.sign_key, "roster", unsigned(l), l.sig))) refuse("bad_signature", "the genesis is not signed by its recovery key");
    this.account = "a_" + encode64(await sha256(bytesOf(line)));
    this.#recovery = recovery;
    this.#store(l, sum);
  }

  // signer returns the key that must have signed a line: an owner's device's, or the recovery key.
  #signer({ by }) {
    if (by === "recovery") return this.#recovery.sign_key;
    const m = this.member(by);
    if (!m) refuse("unknown_device", "a line is by no member");
    if (m.kind !== "device" || m.role !== "owner") refuse("forbidden", "a line is by no device of an owner");
    return m.sign_key;
  }

  // apply validates a line's body and returns the members after it.
  async #apply({ kind, body, n }) {
    switch (kind) {
      case "add": return [...this.#members, { ...(await this.#added(body)), from: n }];
      case "remove": {
        const m = this.member(fit(body, { id: text }).id);
        if (!m) refuse("unknown_device", "a removed member is no member");
        return this.#members.map((x) => (x === m ? { ...m, until: n } : x));
      }
      case "policy":
        if (Object.values(fit(body, policyForm).decide).some((level) => level !== "any" && level !== "pinned")) refuse("bad_message", "a policy has an unknown level");
        return this.#members;
      case "genesis": refuse("bad_message", "a later line is a genesis");
    }
    return refuse("unsupported", "the roster requires a newer version of this page");
  }

  async #added(body) {
    const m = fit(body, memberForm);
    await checkKeys(m);
    const device = m.kind === "device";
    if ((!device && m.kind !== "host") || !isId(m.id) || (device && m.id !== (await deviceId(m.sign_key)))) refuse("bad_message", "a member has the wrong kind or id");
    if (!(await verify(m.sign_key, "member", own(this.account, m), m.own_sig))) refuse("bad_signature", "own_sig is not by the member");
    if (!isName(m.user) || (device ? !/^(viewer|operator|owner)$/.test(m.role) || !(/^(cli|server)$/.test(m.page) || origin.test(m.page)) : m.role || m.page)) refuse("bad_message", "user, role or page of a member has the wrong form");
    const used = [this.#recovery, ...this.#members].flatMap((x) => [x.sign_key, x.seal_key]);
    if (this.member(m.id) || used.includes(m.sign_key) || used.includes(m.seal_key)) refuse("bad_message", "a member or a key is added twice");
    return m;
  }
}

const unsigned = ({ sig, ...l }) => l;

async function checkKeys({ sign_key, seal_key }) {
  if (!(await importKey(seal_key, "ECDH")) || !(await importKey(sign_key)) || sign_key === seal_key) refuse("bad_message", "a key is no point of P-256");
}

// linesOf returns the lines of a roster's text.
export const linesOf = (text) => (text ?? "").replace(/\n$/, "").split("\n");

// parseRoster verifies a roster. known is the newest position that the caller has verified before,
// if any. It rejects with Refusal.
export async function parseRoster(text, account, known) {
  const r = new Roster();
  for (const line of linesOf(text)) await r.append(line);
  if (account && account !== r.account) throw new Refusal("wrong_request", "the roster is that of another account");
  if (known && !r.has(known)) throw new Refusal("roster_fork", `the roster has another or no line ${known.n} than the one known`);
  return r;
}
