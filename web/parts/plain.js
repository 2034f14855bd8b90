// hidden matches characters that have no glyph or that affect the text around them: controls except
// line feed and tab, direction marks, zero-width characters, blanks other than space, tags, and
// line and paragraph separators. A user who approves a text must see that it contains these
// characters.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

// joined matches the zero-width joiners of emoji sequences, which are allowed.
const joined = /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?\u200d(?=\p{Extended_Pictographic})/gu;

const names = "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

// plain makes hidden characters visible: controls by name (⟦ESC⟧), others by number (⟦U+202E⟧),
// because few fonts have glyphs for them. It converts CR LF to LF, and values that are not strings
// to JSON.
export function plain(text) {
  const s = typeof text === "string" ? text : text == null ? "" : JSON.stringify(text);
  const joiners = new Set();
  for (const m of s.matchAll(joined)) joiners.add(m.index + m[0].length - 1);
  return s.replace(hidden, (c, at) => {
    if (joiners.has(at)) return c;
    if (c === "\r" && s[at + 1] === "\n") return "";
    const n = c.codePointAt(0);
    const name = names[n] ?? (n === 0x7f ? "DEL" : `U+${n.toString(16).toUpperCase().padStart(4, "0")}`);
    return `\u27e6${name}\u27e7`;
  });
}
