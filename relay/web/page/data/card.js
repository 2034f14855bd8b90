// The state of requests and decisions, as data for cards and as text.
import { asSentence, sentence } from "./errors.js";
import { outbox } from "./outbox.js";

const decided = { approve: "approved", deny: "denied", answer: "answered" };

// cards contains the state of a request's card for each state of an outbox entry, while the request
// is open.
const cards = {
  waiting: (x, online) => ({ state: online ? "deciding" : "waiting-to-send", decision: x.decision }),
  accepted: (x) => ({ state: "deciding", decision: x.decision }),
  sent: (x) => ({ state: "deciding", decision: x.decision }),
  applied: (x) => ({ state: "applied", decision: x.decision }),
  already_decided: (x) => ({ state: "decided-by-other", by: x.by, decision: x.was, answer: x.gave }),
  withdrawn: () => ({ state: "withdrawn" }),
  expired: (x) => ({ state: "expired", error: textOf(x.error) }),
  indeterminate: (x) => ({ state: "unknown", decision: x.decision }),
  rejected: (x) => ({ state: "rejected", error: textOf(x.error), errors: errorsOf(x.error) }),
  failed: (x) => ({ state: "rejected", error: textOf(x.error) }),
  locked: () => ({ state: "open" }),
  too_old: () => ({ state: "open", error: "Not sent: older than a day. Decide again." }),
  lost: () => ({ state: "open", error: "Not sent: secrets are not stored. Answer again." }),
};

const textOf = (error) => (error ? sentence(error) : undefined);

// errorsOf parses the errors of a machine about the fields of an answer. Their form is a JSON object,
// or "field: error".
function errorsOf(text) {
  if (!text) return undefined;
  try {
    const all = JSON.parse(text);
    if (all && typeof all === "object") return all;
  } catch { /* it is a sentence */ }
  const all = {};
  for (const part of text.split(/;\s*|\n/)) {
    const [, field, what] = /^([\w.[\]-]+): (.+)$/.exec(part) || [];
    if (field) all[field] = asSentence(what);
  }
  return Object.keys(all).length ? all : undefined;
}

// cardOf returns the state of a request's card. entry is the last decision about the request that
// was made here.
export function cardOf(request, entry, online) {
  const { resolution } = request;
  if (resolution) return resolvedCard(resolution, entry);
  if (!entry) return { state: request.state === "decided" ? "decided-by-other" : "open" };
  if (entry.state === "args_changed") return request.args_sha256 === entry.args_sha256 && !entry.again ? { state: "open" } : { state: "args-changed" };
  return cards[entry.state](entry, online);
}

function resolvedCard({ decision, answer, by, reason }, entry) {
  if (decision === "answered" && entry?.done && entry.state !== "args_changed") return cards[entry.state](entry);
  if (decision === "withdrawn" || decision === "expired") return { state: decision, error: reason ? asSentence(reason) : undefined };
  return { state: entry && (entry.state === "applied" || (!entry.done && entry.decision === decision)) ? "applied" : "decided-by-other", by, decision, answer };
}

// lastFor returns the last outbox entry for a request.
export function lastFor(request) {
  return outbox.value.findLast((x) => x.kind === "decision" && x.run_id === request.run_id && x.request_id === request.request_id);
}

const words = {
  waiting: () => "Waiting to send.",
  accepted: () => "Accepted by the server, waiting for the machine.",
  sent: () => "Sent to the machine.",
  applied: (x) => (x.kind === "decision" ? `Applied: ${decided[x.decision]}.` : "Applied."),
  rejected: (x) => `Rejected by the machine${x.error ? ": " + textOf(x.error) : "."}`,
  expired: () => "Expired before it took effect.",
  withdrawn: () => "Withdrawn by the run.",
  indeterminate: () => "It is unknown whether this took effect.",
  already_decided: (x) => `Already decided${x.by ? " by " + x.by : ""}${x.was ? ": " + (decided[x.was] || x.was) : ""}.`,
  args_changed: () => "Not applied: the request has changed. Review it again.",
  failed: (x) => textOf(x.error) || "Rejected.",
  locked: () => "Not sent: this browser cannot sign it.",
  too_old: () => "Not sent: older than a day.",
  lost: () => "Not sent: secrets are not stored. Answer again.",
};

// outboxText returns a sentence that describes the state of an outbox entry.
export function outboxText(entry) { return words[entry.state]?.(entry) ?? entry.state; }
