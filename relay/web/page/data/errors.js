// What goes wrong, as sentences that a person can use.

// What a code means where nobody has said more.
const meanings = {
  __proto__: null, // what others call themselves is no member
  unreachable: "The server is not reachable.",
  unauthorized: "Your session has expired. Log in again.",
  forbidden: "Your role does not allow this.",
  unknown_run: "The run does not exist.",
  unknown_host: "The host does not exist.",
  unknown_request: "The request does not exist.",
  host_offline: "The host is not connected.",
  run_exited: "The run has ended.",
  already_decided: "This request has already been decided.",
  args_changed: "The request has changed since it was shown.",
  invalid_answer: "The answer does not fit the question.",
  input_conflict: "This id belongs to another command.",
  expired: "The request has expired.",
  too_large: "The text is too long.",
  rate_limited: "Too many requests. Try again in a moment.",
  timeout: "The host did not answer in time.",
  denied: "It was denied.",
  withdrawn: "It was withdrawn.",
  internal: "The server could not do this. Try again later.",
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
