// Announcements for screen readers.
import { html, signal } from "./base.js";

const polite = signal({ text: "", turn: 0 });
const assertive = signal({ text: "", turn: 0 });

// announce announces a text. If assertive, it interrupts the current announcement, otherwise it
// waits for the end.
export function announce(text, { assertive: now = false } = {}) {
  const region = now ? assertive : polite;
  region.value = { text, turn: region.peek().turn + 1 };
}

// each announcement is a new element, so that a repeated text is announced again
const announcement = (s) => html`<span key=${s.turn}>${s.text}</span>`;

// Live is the element that contains the announcements. A page has exactly one.
export function Live() {
  return html`<div class="unseen" role="status" aria-live="polite" aria-atomic="true">${announcement(polite.value)}</div>
    <div class="unseen" role="alert" aria-live="assertive" aria-atomic="true">${announcement(assertive.value)}</div>`;
}
