import { html, plain, useEffect, useRef } from "./base.js";

// List shows items {key, text, about?, icon?}, one of which is selected by its key. The list is one
// tab stop. Arrows, j, k, Home and End move the selection, a letter selects the next item that
// begins with the letter, and Enter opens the item. render replaces the content of an item.
export function List({ items, selected, onSelect, onOpen, label, empty = "No entries.", render = Line }) {
  const box = useRef();
  const at = items.findIndex((i) => i.key === selected);
  const inside = useRef(false); // the focus must follow the selection
  useEffect(() => {
    if (inside.current && at >= 0) box.current?.children[at]?.focus();
  }, [at]);
  if (items.length === 0) return html`<p class="list-empty">${empty}</p>`;
  const keys = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = target(event.key, items, Math.max(at, 0), at < 0);
    if (event.key === "Enter" && at >= 0) onOpen?.(items[at]);
    else if (to === null) return;
    else onSelect?.(items[to].key);
    event.preventDefault();
    event.stopPropagation();
  };
  const choose = (item) => () => {
    onSelect?.(item.key);
    onOpen?.(item);
  };
  return html`<ul class="list" role="listbox" aria-label=${label} ref=${box} onKeyDown=${keys} onFocusIn=${() => { inside.current = true; }} onFocusOut=${() => { inside.current = false; }}>
    ${items.map((item, i) => html`<li class="list-item" key=${item.key} role="option" aria-selected=${String(i === at)} tabindex=${i === Math.max(at, 0) ? 0 : -1} onClick=${choose(item)}>${render(item)}</li>`)}</ul>`;
}

function Line(item) {
  return html`${item.icon}<span>${plain(item.text)}</span>${item.about && html`<span class="about">${plain(item.about)}</span>`}`;
}

// target returns the index to which a key moves the selection, or null. none is true while nothing
// is selected.
function target(key, items, at, none) {
  const last = items.length - 1;
  const moves = { ArrowDown: none ? 0 : Math.min(last, at + 1), j: none ? 0 : Math.min(last, at + 1), ArrowUp: Math.max(0, at - 1), k: Math.max(0, at - 1), Home: 0, End: last };
  if (Object.hasOwn(moves, key)) return moves[key];
  if (key.length !== 1 || key === " ") return null;
  for (let i = 1; i <= items.length; i++) {
    const to = (at + i) % items.length;
    if ((items[to].text ?? "").toLowerCase().startsWith(key.toLowerCase())) return to;
  }
  return null;
}
