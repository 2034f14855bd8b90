// What is said to people who do not see the page change.
import { html, signal } from "./base.js";

const polite = signal({ text: "", turn: 0 });
const assertive = signal({ text: "", turn: 0 });

// announce says a text: when the reader has finished, or at once.
export function announce(text, { assertive: now = false } = {}) {
  const region = now ? assertive : polite;
  region.value = { text, turn: region.peek().turn + 1 };
}

// The same text twice is said twice: each turn has an element of its own.
const said = (s) => html`<span key=${s.turn}>${s.text}</span>`;

// Live is where it is said; a page has one.
export function Live() {
  return html`<div class="unseen" role="status" aria-live="polite" aria-atomic="true">${said(polite.value)}</div>
    <div class="unseen" role="alert" aria-live="assertive" aria-atomic="true">${said(assertive.value)}</div>`;
}
