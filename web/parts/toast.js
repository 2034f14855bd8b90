// Short notifications at the edge of the page. An error stays until the user closes it.
import { html, icon, signal, useEffect, useState } from "./base.js";

const shown = signal([]);
const most = 5; // maximum number of visible notifications; further ones remove the oldest information
const stays = 6000; // milliseconds for which a notification is visible
let last = 0;

// toasts.add shows {text, level: info|done|error, action?: {label, run}} and returns an id for
// toasts.remove. A text that is already visible is not shown twice.
export const toasts = {
  list: shown,
  add({ text, level = "info", action }) {
    const same = shown.peek().find((t) => t.text === text && t.level === level);
    if (same) return same.id;
    const toast = { id: ++last, text, level, action };
    const all = [...shown.peek(), toast];
    const goes = all.length > most ? all.find((t) => t.level !== "error") ?? all[0] : null;
    shown.value = all.filter((t) => t !== goes);
    return toast.id;
  },
  remove(id) {
    shown.value = shown.peek().filter((t) => t.id !== id);
  },
};

// Toasts is the element that contains the notifications. A page has exactly one.
export function Toasts() {
  return html`<section class="toasts" aria-label="Notifications">${shown.value.map((t) => html`<${Toast} key=${t.id} toast=${t} />`)}</section>`;
}

const pictures = { info: "bell", done: "check", error: "alert" };

function Toast({ toast }) {
  const [held, hold] = useState(false);
  const close = () => toasts.remove(toast.id);
  useEffect(() => {
    if (held || toast.level === "error") return;
    const timer = setTimeout(close, stays);
    return () => clearTimeout(timer);
  }, [held]);
  const run = () => {
    close();
    toast.action.run();
  };
  return html`<div class=${`toast ${toast.level}`} role=${toast.level === "error" ? "alert" : "status"} onPointerEnter=${() => hold(true)} onPointerLeave=${() => hold(false)} onFocusIn=${() => hold(true)} onFocusOut=${() => hold(false)}>
    ${icon(pictures[toast.level] ?? "bell")}<div>${toast.text}${toast.action && html` <button type="button" onClick=${run}>${toast.action.label}</button>`}</div>
    <button type="button" class="bare" aria-label="Close this notification" onClick=${close}>${icon("close")}</button></div>`;
}
