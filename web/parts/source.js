import { html, plain, useEffect, useMemo, useRef } from "./base.js";
import { scan } from "./scan.js";

const most = 200_000; // maximum number of characters of a coloured text, since each coloured token is an element

// Source shows a file with line numbers and highlights line. tokens, [{start, end, class}], define
// the colours; without them, a Concerto text (lang) is coloured by the lexer's tables.
export function Source({ text, lang, tokens, line, label = "Source" }) {
  const box = useRef();
  const lines = useMemo(() => text.split("\n").length - (text.endsWith("\n") ? 1 : 0) || 1, [text]);
  const pieces = useMemo(() => coloured(text, tokens ?? (lang === "concerto" && text.length <= most ? scan(text) : [])), [text, tokens, lang]);
  useEffect(() => {
    if (line) box.current.querySelector(".here")?.scrollIntoView({ block: "center" });
  }, [text, line]);
  return html`<div class="source" tabindex="0" role="region" aria-label=${label} ref=${box}>
    ${line > 0 && line <= lines && html`<div class="here" style=${{ top: `calc(${line - 1} * var(--row) + var(--pad))` }}><span class="unseen">line ${line}</span></div>`}
    <pre class="no" aria-hidden="true">${Array.from({ length: lines }, (_, i) => i + 1).join("\n")}</pre><pre class="code">${pieces}</pre></div>`;
}

// coloured splits a text at its tokens; text outside tokens stays plain.
function coloured(text, tokens) {
  const out = [];
  let at = 0;
  for (const t of tokens) {
    if (t.start > at) out.push(plain(text.slice(at, t.start)));
    out.push(html`<span class=${t.class}>${plain(text.slice(t.start, t.end))}</span>`);
    at = t.end;
  }
  out.push(plain(text.slice(at)));
  return out;
}
