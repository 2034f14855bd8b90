// Characters that have no picture of their own, or turn the text around them:
// controls but line feed and tab, direction marks, zero widths, blanks that are no spaces, tags, line and
// paragraph separators. A person who approves must see that they are there.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

// An emoji made of several is joined by a zero width joiner: this one may stay.
const joined = /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?\u200d(?=\p{Extended_Pictographic})/gu;

const names = "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

// plain makes what is hidden in a text visible: controls by their names (⟦ESC⟧), the rest
// by its number (⟦U+202E⟧); few fonts have pictures of them. A line's end of CR LF is one of LF. What is no
// string is said as JSON.
export function plain(text) {
  const s = typeof text === "string" ? text : text == null ? "" : JSON.stringify(text);
  const kept = new Set();
  for (const m of s.matchAll(joined)) kept.add(m.index + m[0].length - 1);
  return s.replace(hidden, (c, at) => {
    if (kept.has(at)) return c;
    if (c === "\r" && s[at + 1] === "\n") return "";
    const n = c.codePointAt(0);
    const name = names[n] ?? (n === 0x7f ? "DEL" : `U+${n.toString(16).toUpperCase().padStart(4, "0")}`);
    return `\u27e6${name}\u27e7`;
  });
}
