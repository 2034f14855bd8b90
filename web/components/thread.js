import { Ansi, html, plain, signal } from "../parts/base.js";
import { Thread } from "../parts/thread.js";
import { hostile, now } from "./samples.js";

const roles = ["user", "assistant", "tool", "system"];
const item = (i) => ({ key: `k${i}`, role: roles[i & 3], ts: now + i * 1000, title: roles[i & 3], text: i % 50 === 0 ? hostile : `item ${i}\n`.repeat(1 + Math.abs(i * 7) % 5).trim() });
const make = (from, to) => Array.from({ length: to - from }, (_, i) => item(from + i));

// many is the signal of the long thread's items. Tests add items at the end and at the start.
const many = signal(make(0, 10_000));
const pages = signal(0);
window.thread = {
  add: (n = 1) => { many.value = [...many.value, ...make(many.value.length, many.value.length + n)]; },
  before: (n = 100) => { many.value = [...make(-n - pages.value * 1000, -pages.value * 1000), ...many.value]; pages.value++; },
  grow: (key, text) => { many.value = many.value.map((x) => (x.key === key ? { ...x, text } : x)); },
};

export const thread = {
  "ten thousand items": () => html`<div class="tall"><${Thread} items=${many.value} label="Many" /></div>`,
  "from the beginning": html`<div class="tall"><${Thread} items=${make(0, 40)} follow=${false} label="Few" render=${(x) => html`<p>${plain(x.title)}: <${Ansi} text=${x.text} /></p>`} /></div>`,
  "a short one": html`<div class="tall"><${Thread} items=${make(1, 4)} label="Short" /></div>`,
};
