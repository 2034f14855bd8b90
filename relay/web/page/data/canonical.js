// The canonical form of JSON (RFC 8785), and other forms of the texts that devices sign. The
// formats are those of package relay/seal.

// Refusal is the error for a text that is invalid, or that no authorized member signed. code is one
// of the codes of package relay/seal.
export class Refusal extends Error {
  constructor(code, why = code) {
    super(why);
    this.name = "Refusal";
    this.code = code;
  }
}

export function refuse(code, why) { throw new Refusal(code, why); }

const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

// canonical returns the canonical form of a JSON value. It refuses integers that the page cannot
// show exactly: a user would approve another number than the machine's.
export function canonical(v) {
  if (typeof v === "string") return JSON.stringify(wellFormed(v));
  if (typeof v === "number" && !(Number.isInteger(v) ? Number.isSafeInteger(v) : Number.isFinite(v))) refuse("bad_message", `this page cannot show the number ${v} exactly: decide on the machine`);
  if (v === null || typeof v !== "object") return JSON.stringify(v);
  if (Array.isArray(v)) return `[${v.map(canonical).join()}]`;
  const members = Object.entries(v).filter(([, x]) => x !== undefined).map(([k, x]) => [wellFormed(k), x]);
  return `{${members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, x]) => `${JSON.stringify(k)}:${canonical(x)}`).join()}}`;
}

const utf8 = new TextEncoder();
export const bytesOf = (text) => utf8.encode(text);

// encode64 returns base64url without padding. The bytes may be too many for the arguments of a call.
export const encode64 = (bytes) => btoa(bytes.reduce((text, b) => text + String.fromCharCode(b), "")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

// decode64 decodes a binary value of n bytes. It returns null if the text is not its only form.
export function decode64(text, n) {
  if (typeof text !== "string" || !/^[\w-]*$/.test(text) || text.length !== Math.ceil((n * 4) / 3)) return null;
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return encode64(bytes) === text ? bytes : null;
}

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

// hash returns the SHA-256 of a text or bytes in hexadecimal digits.
export const hash = async (of) => Array.from(await sha256(typeof of === "string" ? bytesOf(of) : of), (b) => b.toString(16).padStart(2, "0")).join("");

export const isId = (v) => /^[\w-]{1,64}$/.test(v);
export const isHash = (v) => /^[0-9a-f]{64}$/.test(v);
export const isTime = (v) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(v) && !Number.isNaN(Date.parse(v)) && new Date(v).toISOString() === v;

// isName reports whether a text is valid as the name of a user or a device.
export const isName = (v) => v !== "" && bytesOf(v).length <= 200 && !/[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/.test(v);

const maxText = 4096; // bytes

// parse reads a canonical text with exactly the given members. form maps each name to the type of
// its value; the name of a member that is absent if it is empty ends with ?. most is the maximum
// number of bytes.
export function parse(text, form, most = maxText) {
  let v;
  try { v = JSON.parse(text); } catch { /* refused below */ }
  if (bytesOf(text).length > most || !fits(v, form) || canonical(v) !== text) refuse("bad_message", "a text has another form");
  return v;
}

export const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);

function fits(v, form) {
  if (typeof form === "string") return form === "any" || (form === "integer" ? Number.isSafeInteger(v) : typeof v === form);
  if (!isObject(v)) return false;
  const left = new Set(Object.keys(v));
  for (const [key, type] of Object.entries(form)) {
    const name = key.replace("?", "");
    if (!left.delete(name) ? key === name : !fits(v[name], type) || (key !== name && !v[name])) return false;
  }
  return left.size === 0;
}

// fit checks a value that a canonical text contains.
export function fit(v, form) {
  if (!fits(v, form)) refuse("bad_message", "a value has another form");
  return v;
}
