// The icons of this page.
import { html, icon } from "parts/base.js";

const pictures = {
  inbox: "inbox", runs: "chat", hosts: "host", start: "play", audit: "shield", settings: "settings", more: "more", back: "back",
  live: "link", offline: "offline", busy: "refresh", ask: "alert", history: "clock", wait: "wait", ok: "check", bad: "close", lost: "ask",
  send: "send", stop: "stop", key: "key", out: "right", gap: "minus",
};

// Icon shows an icon. Screen readers ignore it, because every icon has a word next to it.
export function Icon({ name, spin = false }) {
  return html`<span class=${spin ? "picture spin" : "picture"}>${icon(pictures[name])}</span>`;
}
