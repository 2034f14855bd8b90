import { html, plain, useRef } from "./base.js";

// Tabs shows tabs {name, label, href?, props?}, one of which is selected; props are further
// attributes. onSelect receives the name of a tab. A tab with an href is a link, which the user can
// open in another window and share. The arrow keys move between the tabs. The content of a tab is in
// the element whose id is panel, labelled by tabId(panel, name).
export function Tabs({ tabs, selected, onSelect, label, panel }) {
  const box = useRef();
  const keys = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = tabs.findIndex((t) => t.name === selected);
    const n = tabs.length;
    const to = { ArrowRight: (at + 1) % n, ArrowLeft: (at + n - 1) % n, Home: 0, End: n - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onSelect(tabs[to].name);
    box.current.children[to].focus();
  };
  const one = (t) => {
    const on = t.name === selected;
    const props = { role: "tab", key: t.name, id: tabId(panel, t.name), "aria-selected": String(on), "aria-controls": on ? panel : undefined, tabindex: on ? 0 : -1, ...t.props };
    return t.href ? html`<a ...${props} href=${t.href}>${plain(t.label)}</a>` : html`<button type="button" ...${props} onClick=${() => onSelect(t.name)}>${plain(t.label)}</button>`;
  };
  return html`<div class="tablist" role="tablist" aria-label=${label} ref=${box} onKeyDown=${keys}>${tabs.map(one)}</div>`;
}

export const tabId = (panel, name) => `${panel}-${name}`;
