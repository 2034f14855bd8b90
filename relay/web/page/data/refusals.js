// The codes of refused statements in words.

// refusals contains, by code, what was refused and why, as [(action) => text, sentence].
const sent = "The server or someone with its access sent it.";
const refusals = {
  __proto__: null,
  bad_message: [(a) => `${a} without a valid signature`, "Reload this page. If the page sent it, update concerto-relay on the machine."],
  unsupported: [(a) => `${a} in a newer form`, "Update concerto-relay on the machine."],
  unknown_device: [(a) => `${a} of an unknown device`, "No such device is on the account’s list now."],
  forbidden: [(a) => `${a} that the device’s role does not allow`, "An owner can give the device another role."],
  page_not_trusted: [(a) => `${a} from this page`, "The account’s policy allows no decision of this risk to devices that use the relay’s own page. Decide on the machine with concerto-relay approve, or in a browser that is enrolled at a page of concerto-relay page."],
  roster_fork: [(a) => `${a} with another list of devices`, "Run concerto-relay seal status --resolve on the machine."],
  bad_signature: [(a) => `forged ${a}`, sent],
  wrong_request: [(a) => `misdirected ${a}`, sent],
  replayed: [(a) => `replayed ${a}`, sent],
  reordered: [(a) => `${a} out of order`, "An earlier input did not arrive. Send it again."],
  stale: [(a) => `late ${a}`, "It arrived after its time. Send it again if you still need it."],
  old_epoch: [(a) => `${a} with old keys`, "Send it again."],
  unknown_request: [(a) => `${a} about a closed request`, "The request is no longer open."],
  args_changed: [(a) => `${a} about another version of the request`, "Review the request again."],
};

const actions = { __proto__: null, decide: "decision", input: "input", keys: "keys", stop: "stop", resize: "change of the terminal’s size", rpc: "request" };

// codeOf returns the code of a reason "CODE: text", or undefined.
export function codeOf(reason) {
  const [code] = /^[a-z_]+(?=: )/.exec(reason ?? "") ?? [];
  return refusals[code] && code;
}

// refusalOf returns [what was refused, why] for a reason.
export function refusalOf(reason, action) {
  const name = actions[action] ?? "command", [what, why] = refusals[codeOf(reason)] ?? [(a) => a, reason];
  return [what(name), why];
}
