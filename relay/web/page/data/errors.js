// Errors as sentences for users.

// meanings contains, by code, a sentence for errors that have no message.
const meanings = {
  __proto__: null, // the names of inherited members are not codes
  unreachable: "The server is not reachable.",
  unauthorized: "Your session has expired. Log in again.",
  forbidden: "Your role does not allow this.",
  unknown_run: "The run does not exist.",
  unknown_host: "The machine does not exist.",
  unknown_request: "The request does not exist.",
  host_offline: "The machine is not connected.",
  run_exited: "The run has ended.",
  already_decided: "This request has already been decided.",
  args_changed: "The request has changed since it was shown.",
  invalid_answer: "The answer does not fit the question.",
  input_conflict: "This id belongs to another command.",
  expired: "The request has expired.",
  too_large: "The text is too long.",
  rate_limited: "Too many requests. Try again in a moment.",
  timeout: "The machine did not answer in time.",
  denied: "It was denied.",
  withdrawn: "It was withdrawn.",
  internal: "The server could not do this. Try again later.",
};

// ApiError is an error response, or a request that received no response. status is the HTTP status,
// or 0 without a response. code is the protocol's code, message is a sentence for users, and
// serverMessage is the text of the server.
export class ApiError extends Error {
  constructor({ status = 0, code, message, retry_after_ms }) {
    super(asSentence(message || meanings[code] || `The server answered ${status}.`));
    this.name = "ApiError";
    Object.assign(this, { status, code, retry_after_ms, serverMessage: message || "" });
  }
}

// RpcError is the error of an RPC. code is the code in rpc.response.
export class RpcError extends Error {
  constructor(code, message) {
    super(asSentence(message && message !== code ? message : meanings[code] || code));
    this.name = "RpcError";
    this.code = code;
  }
}

// asSentence returns the text with a capital first letter and a final full stop.
export function asSentence(text) {
  const t = String(text).trim();
  if (!t) return "";
  return t[0].toUpperCase() + t.slice(1) + (/[.!?…]$/.test(t) ? "" : ".");
}

// sentence returns the text to show for an exception or a code.
export function sentence(error) {
  if (typeof error === "string") return asSentence(meanings[error] || error);
  return asSentence(error?.message || "Something went wrong");
}
