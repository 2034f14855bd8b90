// The keyboard shortcuts. The table is also shown as help. Screens define the actions.
import { html, useLayoutEffect, useRef, signal } from "parts/base.js";
import { Help, isFree } from "parts/keys.js";
import { armed } from "./armed.js";
import { go, hrefOf } from "./route.js";
import { reachable } from "./routes.js";

export const keymap = [
  { keys: "j", action: "next", text: "next" },
  { keys: "k", action: "previous", text: "previous" },
  { keys: "Enter", action: "open", text: "open the selected item, or confirm a or d" },
  { keys: "a", action: "approve", text: "approve the selected request, then Enter" },
  { keys: "d", action: "deny", text: "deny the selected request, then Enter" },
  { keys: "Escape", action: "leave", text: "cancel a or d; leave a field" },
  { keys: "/", action: "filter", text: "filter" },
  { keys: "c", action: "compose", text: "write to the run" },
  { keys: "1 … 5", action: "tab", text: "switch the view of a run" },
  { keys: "?", action: "help", text: "show these keys" },
];

const layers = []; // definitions of actions; the last one applies
const helping = signal(false);

// useKeys defines actions while a component is mounted: {action: function}.
export function useKeys(actions) {
  const now = useRef(actions);
  now.current = actions;
  useLayoutEffect(() => {
    layers.push(now);
    return () => layers.splice(layers.indexOf(now), 1);
  }, []);
}

function act(name, ...args) {
  for (let i = layers.length - 1; i >= 0; i--) {
    const found = layers[i].current[name];
    if (found) return found(...args), true;
  }
  return false;
}

let leading = 0; // time at which g was typed; 0 if it was not

function onKey(event) {
  if (!isFree(event)) return;
  if (handle(event, event.target instanceof Element ? event.target : document.body)) event.preventDefault();
}

// handle performs the action of a key. It reports whether there is one.
function handle(event, target) {
  const key = event.key, led = leading && performance.now() - leading < 1500;
  leading = 0;
  if (led) {
    const screen = reachable().find((s) => s.key === key);
    if (screen) return go(hrefOf(screen.name)), true;
  }
  if (armed.value && key !== "a" && key !== "d") return decided(key);
  switch (key) {
    case "g": return (leading = performance.now()), true;
    case "?": return (helping.value = true);
    case "Enter": return !target.closest("a, button, summary, [role=tab]") && act("open");
  }
  if (/^[1-5]$/.test(key)) return act("tab", Number(key) - 1);
  const row = keymap.find((r) => r.keys === key);
  return row ? act(row.action) : false;
}

// decided confirms a decision, which a or d has selected, when Enter is typed. It clicks the button
// of the card, which also checks the answers and the delay.
function decided(key) {
  const { key: request, decision } = armed.value;
  if (["Shift", "Tab"].includes(key)) return false;
  if (key !== "Enter") return (armed.value = null), true;
  document.querySelector(`[data-key="${CSS.escape(request)}"] [data-testid=${decision}]`)?.click();
  return true;
}

addEventListener("keydown", onKey);

// Keys shows the table of shortcuts.
export function Keys() {
  return html`<${Help} open=${helping.value} onClose=${() => (helping.value = false)} rows=${[...keymap, ...reachable().map((r) => ({ keys: "g " + r.key, text: r.label }))]} />`;
}
