import { html, plain, useEffect, useRef, useState } from "./base.js";
import { Dialog } from "./dialog.js";

const fields = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true]";

// useKeys calls what a table of keys says, {key: {does, run}}, wherever the focus is but in a
// field or a dialog. A key of two, "g i", is two after each other.
export function useKeys(table) {
  const now = useRef(table);
  now.current = table;
  useEffect(() => {
    let first = "";
    const down = (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.target.closest?.(fields) || document.querySelector("dialog[open]")) return;
      const keys = [first && `${first} ${event.key}`, event.key].find((k) => k && Object.hasOwn(now.current, k));
      first = Object.keys(now.current).some((k) => k.startsWith(`${event.key} `)) ? event.key : "";
      if (!keys) return;
      event.preventDefault();
      now.current[keys].run(event);
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  }, []);
}

// Help shows a table of keys when somebody types ?.
export function Help({ table }) {
  const [open, setOpen] = useState(false);
  useKeys({ "?": { does: "these keys", run: () => setOpen(true) } });
  return html`<${Dialog} open=${open} title="Keys" onClose=${() => setOpen(false)} actions=${html`<button type="button" onClick=${() => setOpen(false)}>Close</button>`}>
    <dl class="keys">${Object.entries(table).map(([keys, k]) => html`<dt key=${keys}>${keys.split(" ").map((x) => html`<kbd>${plain(x)}</kbd> `)}</dt><dd key=${`${keys} does`}>${plain(k.does)}</dd>`)}</dl></${Dialog}>`;
}
