// Reads programs from stdin, [{name, text, tokens: [[start, end, class]]}] with UTF-16 offsets, and
// reports where the grammar assigns another class than the lexer.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const { Registry, parseRawGrammar } = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");
const here = dirname(fileURLToPath(import.meta.url));
const file = join(here, "..", "syntaxes", "concerto.tmLanguage.json");

await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
const registry = new Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (s) => new oniguruma.OnigString(s),
  }),
  loadGrammar: async () => parseRawGrammar(readFileSync(file, "utf8"), file),
});
const grammar = await registry.loadGrammar("source.concerto");

const classes = [
  [/^comment\./, "comment"],
  [/^(string|constant\.character|punctuation\.section\.interpolation)/, "string"],
  [/^constant\.numeric/, "number"],
  [/^(storage\.|keyword\.control|constant\.language|variable\.language)/, "keyword"],
  [/^entity\.name\.label/, "label"],
];

// classOf returns the class of the innermost scope that has one. Code in an interpolation does not
// inherit the class of the string.
function classOf(scopes) {
  for (const scope of scopes.toReversed()) {
    for (const [pattern, name] of classes) if (pattern.test(scope)) return name;
    if (scope.startsWith("meta.embedded")) break;
  }
  return "plain";
}

function classified(text) {
  const all = new Array(text.length).fill("plain");
  let state = null;
  let at = 0;
  for (const line of text.split("\n")) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
    for (const t of tokens) all.fill(classOf(t.scopes), at + t.startIndex, Math.min(at + t.endIndex, at + line.length));
    state = ruleStack;
    at += line.length + 1;
  }
  return all;
}

let wrong = 0;
for (const { name, text, tokens } of JSON.parse(readFileSync(0, "utf8"))) {
  const got = classified(text);
  for (const [start, end, want] of tokens) {
    for (let i = start; i < end; i++) {
      if (/\s/.test(text[i]) || got[i] === want) continue;
      const line = text.slice(0, i).split("\n");
      console.log(`${name}:${line.length}:${line.at(-1).length + 1}: ${JSON.stringify(text.slice(start, end).slice(0, 40))} is ${want}, and the grammar says ${got[i]}`);
      wrong++;
      break;
    }
    if (wrong > 20) process.exit(1);
  }
}
process.exit(wrong ? 1 : 0);
