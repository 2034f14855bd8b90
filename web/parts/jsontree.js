import { html, count, icon, plain, useMemo, useRef, useState } from "./base.js";

const page = 100; // number of members that are shown before the user loads more
const searchable = 20; // number of members from which a search field is shown
const longest = 500; // number of characters from which a string is folded

const isFolder = (v) => v !== null && typeof v === "object";
const members = (v) => (Array.isArray(v) ? v.map((x, i) => [i, x]) : Object.entries(v));

function size(v, least) {
  let n = 0;
  const visit = (x) => {
    if (++n < least && isFolder(x)) for (const [, m] of members(x)) visit(m);
  };
  visit(v);
  return n;
}

// found returns the paths, as JSON, of all members whose name or value contains a text, and of
// their ancestors.
function found(value, text) {
  const paths = new Set();
  let hits = 0;
  const has = (s) => String(s).toLowerCase().includes(text);
  const visit = (v, path, name) => {
    let hit = has(name ?? "") || (!isFolder(v) && has(v));
    if (hit) hits++;
    if (isFolder(v)) for (const [k, m] of members(v)) hit = visit(m, [...path, k], k) || hit;
    if (hit) paths.add(JSON.stringify(path));
    return hit;
  };
  visit(value, []);
  return { paths, hits };
}

// JsonTree shows a JSON value. open is the number of levels that are open initially. A large value
// has a search field, and long lists are paged. The arrow keys work as in other tree views.
export function JsonTree({ value, open = 1, label = "value" }) {
  const [text, setText] = useState("");
  const box = useRef();
  const large = useMemo(() => size(value, searchable + 1) > searchable, [value]);
  const hits = useMemo(() => (text ? found(value, text.toLowerCase()) : null), [value, text]);
  if (!isFolder(value)) return html`<div class="json"><${Scalar} value=${value} /></div>`;
  return html`<div class="json">
    ${large && html`<div class="json-search"><input type="search" placeholder="Search" aria-label=${`Search the ${label}`} value=${text} onInput=${(e) => setText(e.target.value)} />
      <span class="size" role="status">${hits ? count(hits.hits, "hit") : ""}</span></div>`}
    <ul role="tree" aria-label=${label} ref=${box} onKeyDown=${(e) => keys(e, box.current)}><${Node} value=${value} path=${[]} levels=${open} hits=${hits} text=${text} root /></ul></div>`;
}

// keys moves the focus and opens and closes the focused member.
function keys(event, box) {
  const at = document.activeElement.closest?.("[role=treeitem]");
  if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
  const all = [...box.querySelectorAll("[role=treeitem]")];
  const i = all.indexOf(at);
  const opened = at.getAttribute("aria-expanded");
  const toggle = () => at.querySelector(":scope > .row").click();
  const act = {
    ArrowDown: () => all[i + 1]?.focus(), ArrowUp: () => all[i - 1]?.focus(), Home: () => all[0].focus(), End: () => all.at(-1).focus(),
    ArrowRight: () => (opened === "false" ? toggle() : opened === "true" && all[i + 1]?.focus()),
    ArrowLeft: () => (opened === "true" ? toggle() : at.parentElement.closest("[role=treeitem]")?.focus()),
    Enter: () => opened !== null && toggle(), " ": () => opened !== null && toggle(),
  }[event.key];
  if (!act || event.target.closest("button")) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

function Node({ name, value, path, levels, hits, text, root }) {
  const [chosen, choose] = useState(null); // null until the user opens or closes the member
  const [shown, show] = useState(page);
  const holds = hits?.paths.has(JSON.stringify(path));
  if (hits && !holds) return null;
  const key = name !== undefined && html`<span class="key"><${Marked} s=${String(name)} text=${text} />:</span>`;
  if (!isFolder(value)) return html`<li role="treeitem" tabindex="-1"><div class="row"><span class="twist"></span>${key}<span class="value"><${Scalar} value=${value} text=${text} /></span></div></li>`;
  const all = members(value);
  const open = hits ? true : chosen ?? levels > 0;
  const brackets = Array.isArray(value) ? "[]" : "{}";
  if (all.length === 0) return html`<li role="treeitem" tabindex=${root ? 0 : -1}><div class="row"><span class="twist"></span>${key}<span>${brackets}</span></div></li>`;
  const visible = hits ? all.filter(([k]) => hits.paths.has(JSON.stringify([...path, k]))) : all;
  const rest = visible.length - shown;
  return html`<li role="treeitem" aria-expanded=${String(open)} tabindex=${root ? 0 : -1} class=${open ? "open" : ""}>
    <div class="row folder" onClick=${() => choose(!open)}><span class="twist">${icon("right")}</span>${key}<span class="size">${brackets[0]} ${count(all.length, Array.isArray(value) ? "item" : "member")} ${brackets[1]}</span></div>
    ${open && html`<ul role="group">${visible.slice(0, shown).map(([k, v]) => html`<${Node} key=${k} name=${k} value=${v} path=${[...path, k]} levels=${levels - 1} hits=${hits} text=${text} />`)}
      ${rest > 0 && html`<li role="none"><button type="button" class="more" onClick=${() => show(shown + page)}>${count(rest, "more", "more")} of ${visible.length.toLocaleString("en")}: show the next ${Math.min(page, rest)}</button></li>`}</ul>`}</li>`;
}

function Scalar({ value, text }) {
  const [whole, showWhole] = useState(false);
  if (typeof value !== "string") return html`<span class=${typeof value === "number" ? "number" : "word"}><${Marked} s=${String(value)} text=${text} /></span>`;
  const cut = !whole && value.length > longest;
  return html`<span class="string">"<${Marked} s=${cut ? value.slice(0, longest) : value} text=${text} />${cut ? "…" : '"'}</span>
    ${cut && html` <button type="button" class="more" onClick=${() => showWhole(true)}>${count(value.length - longest, "more character")}: show all</button>`}`;
}

function Marked({ s, text }) {
  const shown = plain(s);
  const at = text ? shown.toLowerCase().indexOf(text.toLowerCase()) : -1;
  if (at < 0) return shown;
  return html`${shown.slice(0, at)}<mark>${shown.slice(at, at + text.length)}</mark>${shown.slice(at + text.length)}`;
}
