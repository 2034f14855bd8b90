import { html, plain, useRef } from "./base.js";

// Tabs shows names of which one is selected: tabs are {name, label}, onSelect is told a
// name. Arrows move among them. What a tab shows is in an element with the id that panel
// names.
export function Tabs({ tabs, selected, onSelect, label, panel }) {
  const box = useRef();
  const keys = (event) => {
    const at = tabs.findIndex((t) => t.name === selected);
    const n = tabs.length;
    const to = { ArrowRight: (at + 1) % n, ArrowLeft: (at + n - 1) % n, Home: 0, End: n - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onSelect(tabs[to].name);
    box.current.children[to].focus();
  };
  return html`<div class="tablist" role="tablist" aria-label=${label} ref=${box} onKeyDown=${keys}>${tabs.map((t) => html`<button type="button" role="tab" key=${t.name} aria-selected=${String(t.name === selected)} aria-controls=${t.name === selected ? panel : undefined} tabindex=${t.name === selected ? 0 : -1} onClick=${() => onSelect(t.name)}>${plain(t.label)}</button>`)}</div>`;
}
