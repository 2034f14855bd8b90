// What goes wrong, as sentences that a person can use.

// What a code means where nobody has said more.
const meanings = {
  __proto__: null, // what others call themselves is no member
  unreachable: "The server cannot be reached.",
  unauthorized: "The session has ended: log in again.",
  forbidden: "This is not allowed for your role.",
  unknown_run: "There is no such run.",
  unknown_host: "There is no such host.",
  unknown_request: "The run has no such request.",
  host_offline: "The host is not connected.",
  run_exited: "The run has ended.",
  already_decided: "Somebody has decided before.",
  args_changed: "What would be done has changed since it was shown.",
  invalid_answer: "The answer is not what was asked for.",
  input_conflict: "The id was used for something else.",
  expired: "The time for it is over.",
  too_large: "It is longer than allowed.",
  rate_limited: "Too much in too short a time: try again in a moment.",
  timeout: "The host has not answered in time.",
  denied: "It was denied.",
  withdrawn: "It was withdrawn.",
  internal: "The server cannot do this now.",
};

// ApiError is an answer of the server that is a refusal, or none: status is that of HTTP (0 when
// there was no answer), code the protocol's, message a sentence, said the server's own words.
export class ApiError extends Error {
  constructor({ status = 0, code, message, retry_after_ms }) {
    super(asSentence(message || meanings[code] || `The server answered ${status}.`));
    this.name = "ApiError";
    Object.assign(this, { status, code, retry_after_ms, said: message || "" });
  }
}

// RpcError is what an RPC failed for: code as in rpc.response.
export class RpcError extends Error {
  constructor(code, message) {
    super(asSentence(message && message !== code ? message : meanings[code] || code));
    this.name = "RpcError";
    this.code = code;
  }
}

// asSentence begins with a capital and ends with a full stop.
export function asSentence(text) {
  const t = String(text).trim();
  if (!t) return "";
  return t[0].toUpperCase() + t.slice(1) + (/[.!?…]$/.test(t) ? "" : ".");
}

// sentence is what to show for anything that was thrown, or for a code.
export function sentence(error) {
  if (typeof error === "string") return asSentence(meanings[error] || error);
  return asSentence(error?.message || "Something went wrong");
}
