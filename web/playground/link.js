// Links: "#p1=" and the base64url of the raw DEFLATE of {"files": {NAME: TEXT}, "open": NAME}.

export const prefix = "#p1=";

const most = 1 << 20; // bytes of an inflated link
const longest = 2 * most; // characters of a link that is read at all

async function pipe(bytes, stream, limit) {
  const out = [];
  let size = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (limit && size > limit) {
      reader.cancel().catch(() => {});
      throw new Error("the link is larger than 1 MiB");
    }
    out.push(value);
  }
  return new Uint8Array(await new Blob(out).arrayBuffer());
}

// encode returns the hash of a link.
export async function encode(files, open) {
  const text = new TextEncoder().encode(JSON.stringify({ files, open }));
  if (text.length > most) throw new Error("the files are larger than 1 MiB");
  const packed = await pipe(text, new CompressionStream("deflate-raw"));
  let binary = "";
  for (const b of packed) binary += String.fromCharCode(b);
  return prefix + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// decode returns the files of a link. The error is the reason why the link is refused.
export async function decode(hash) {
  const damaged = "the link is damaged: it cannot be decoded";
  if (hash.length > longest) throw new Error("the link is larger than 1 MiB");
  const text = hash.slice(prefix.length);
  if (!/^[\w-]+$/.test(text)) throw new Error(damaged);
  let bytes;
  try {
    bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  } catch {
    throw new Error(damaged);
  }
  let inflated;
  try {
    inflated = await pipe(bytes, new DecompressionStream("deflate-raw"), most);
  } catch (e) {
    throw e.message.startsWith("the link is larger") ? e : new Error(damaged);
  }
  let content;
  try {
    content = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(inflated));
  } catch {
    throw new Error(damaged);
  }
  return check(content);
}

// check returns the content of a link, or throws the reason why it is refused.
export function check(content) {
  const files = content?.files;
  const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
  if (!isObject(content) || !isObject(files) || Object.keys(files).length === 0) throw new Error("the link contains no files");
  for (const [name, text] of Object.entries(files)) {
    const problem = nameProblem(name);
    if (problem) throw new Error(`the link contains a file with the name ${JSON.stringify(name)}, which ${problem}`);
    if (typeof text !== "string" || !text.isWellFormed()) throw new Error(`the link contains the file ${name}, which is no text`);
  }
  const names = Object.keys(files);
  for (const n of names) {
    if (names.some((m) => m.startsWith(`${n}/`))) throw new Error(`the link contains the file ${n}, which is also a directory`);
  }
  return { files: { ...files }, open: typeof content.open === "string" && Object.hasOwn(files, content.open) ? content.open : names[0] };
}

// nameProblem returns why a text cannot be the name of a file, or "".
export function nameProblem(name) {
  if (name === "") return "is empty";
  if (!name.isWellFormed() || /[\p{Cc}\ufffd]/u.test(name)) return "is no text";
  if (name.startsWith("/") || name.startsWith("\\") || /^[A-Za-z]:/.test(name)) return "is absolute";
  if (name.includes("\\")) return "contains \\";
  if (name.split("/").includes("..")) return "contains ..";
  if (name.split("/").some((p) => p === "" || p === ".")) return "has an empty part";
  if (name.length > 240) return "is longer than 240 characters";
  return "";
}
