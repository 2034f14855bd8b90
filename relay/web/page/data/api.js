// HTTP requests to the server.
import { now, recordServerTime } from "./clock.js";
import { ApiError } from "./errors.js";

const tokenKey = "concerto-bearer"; // in sessionStorage, so that only this tab uses the token
const linkKey = "concerto-link"; // in sessionStorage; set if the token comes from a link
const requestTimeout = 40_000; // ms; the server answers every request sooner

// incoming contains the functions through which frames, responses and earlier events come in.
// opening.js replaces them by functions that open sealed events.
export const incoming = { frame: (e, pass) => pass(e), body: (x) => x, earlier() {} };

// home is the origin of the server: that of the page, unless the page names another one. isApart
// reports whether it does. Such a page sends no cookies: it logs in by a token.
export const home = globalThis.document?.querySelector("meta[name=concerto-relay]")?.content || location.origin;
export const isApart = home !== location.origin;

let bearer = null;
let unauthorized = () => {};

// onUnauthorized sets the function to call when the server rejects the credentials.
export function onUnauthorized(fn) { unauthorized = fn; }

// ownToken returns the token that only this tab uses, or null.
export function ownToken() {
  if (bearer === null) bearer = storage()?.getItem(tokenKey) || "";
  return bearer || null;
}

// token returns the token that this tab uses instead of the cookie, or null if it uses the cookie.
export function token() { return ownToken() || (isApart && localStorage.getItem(tokenKey)) || null; }

// byLink reports whether a link with a token opened this tab. Such a tab does not use the browser's
// session.
export function byLink() { return !!ownToken() && !!storage()?.getItem(linkKey); }

// setToken stores a token until this tab is closed. null deletes the token. The page uses a token
// if a link opened it, or if the browser stores no cookie: over plain http to another machine. A
// page with another origin than the server stores the token of a login for all its tabs.
export function setToken(t, link = byLink()) {
  if (isApart && !link) {
    if (t) localStorage.setItem(tokenKey, t);
    else localStorage.removeItem(tokenKey);
    return;
  }
  bearer = t || "";
  const all = storage();
  if (t) all?.setItem(tokenKey, t);
  else all?.removeItem(tokenKey);
  if (t && link) all?.setItem(linkKey, "1");
  else all?.removeItem(linkKey);
}

// storage returns what the browser stores until this tab is closed, or null if that is disabled.
export function storage() {
  try { return sessionStorage; } catch { return null; }
}

// call sends a request and returns the response body: parsed JSON, text for any other type, or null
// for an empty body. It rejects with ApiError.
export async function call(method, path, body, { signal, quiet, alone } = {}) {
  const sentAt = Date.now();
  const { answer, text } = await exchange(method, path, body, signal, alone);
  const date = answer.headers.get("Date");
  if (date && Math.abs(Date.parse(date) - now()) > 5000) recordServerTime(date, sentAt); // the resolution of the date is one second
  if (answer.ok) return incoming.body(read(answer, text), path);
  if (answer.status === 401 && !quiet) unauthorized();
  throw refusal(answer, text);
}

// If alone is set, the request neither sends nor stores a cookie.
async function exchange(method, path, body, signal, alone) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), requestTimeout);
  const ended = () => stop.abort();
  signal?.addEventListener("abort", ended);
  try {
    const answer = await fetch(isApart ? home + path : path, {
      mode: isApart ? "cors" : "same-origin", method, headers: headers(body), credentials: alone ? "omit" : "same-origin", cache: "no-store", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body), signal: stop.signal,
    });
    return { answer, text: await answer.text() };
  } catch (err) {
    if (signal?.aborted) throw err;
    throw new ApiError({ code: "unreachable", message: isApart ? `${home} is not reachable, or does not accept this page. It must be started with --allow-origin ${location.origin}` : "" });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", ended);
  }
}

function headers(body) {
  const all = { "X-Concerto": "1" };
  if (body !== undefined) all["Content-Type"] = "application/json";
  if (token()) all.Authorization = "Bearer " + token();
  return all;
}

function read(answer, text) {
  if (text === "") return null;
  if (!(answer.headers.get("Content-Type") || "").startsWith("application/json")) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError({ status: answer.status, code: "internal", message: "The server sent an invalid response." });
  }
}

function refusal(answer, text) {
  let error = {};
  try { error = JSON.parse(text).error || {}; } catch { /* a proxy sent no JSON */ }
  const after = Number(answer.headers.get("Retry-After"));
  return new ApiError({ status: answer.status, code: error.code || "internal", message: error.message, retry_after_ms: error.retry_after_ms ?? (after ? after * 1000 : undefined) });
}

export const api = {
  get: (path, options) => call("GET", path, undefined, options),
  post: (path, body, options) => call("POST", path, body ?? {}, options),
  del: (path, body, options) => call("DELETE", path, body, options),
};
