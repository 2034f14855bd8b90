// The tokens of a Concerto text that have a colour, by the lexer's tables.
import { comment, keywords, operators } from "./lexemes.js";

const escaped = (s) => s.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
const lexeme = new RegExp([
  `(?<comment>${escaped(comment)}[^\\n]*)`,
  '(?<literal>"""[^]*?(?:"""|$)|"(?:\\\\.|[^"\\\\\\n])*"?|\\b\\d[\\w.]*)',
  `(?<keyword>\\b(?:${keywords.join("|")})\\b)`,
  "(?<name>[\\p{L}_][\\p{L}\\p{N}_]*)",
  `(?<operator>${operators.map(escaped).join("|")})`,
].join("|"), "gu");

const kinds = ["comment", "literal", "keyword", "operator"]; // names have no colour

// scan returns the tokens of a Concerto text.
export function scan(text) {
  const out = [];
  for (const m of text.matchAll(lexeme)) {
    const kind = kinds.find((k) => m.groups[k] !== undefined);
    if (kind) out.push({ start: m.index, end: m.index + m[0].length, class: kind });
  }
  return out;
}
