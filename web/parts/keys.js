import { html, plain } from "./base.js";
import { Dialog } from "./dialog.js";

const fields = "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select, [contenteditable=true]";

// isFree reports whether the page may handle a key event. It may not if a handler has handled the
// event, or if the user types into a field or a dialog.
export function isFree(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false;
  return !event.target.closest?.(fields) && !document.querySelector("dialog[open], [aria-modal=true]");
}

// Help shows the keys in a dialog. rows are {keys, text}; several keys of a row are separated by
// spaces.
export function Help({ open, onClose, rows }) {
  return html`<${Dialog} open=${open} title="Keys" onClose=${onClose} actions=${html`<button type="button" onClick=${onClose}>Close</button>`}>
    <dl class="keys">${rows.map((r) => html`<dt key=${r.keys}>${r.keys.split(" ").map((k) => html`<kbd>${plain(k)}</kbd> `)}</dt><dd key=${`${r.keys} text`}>${plain(r.text)}</dd>`)}</dl></${Dialog}>`;
}
