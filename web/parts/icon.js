import { h } from "preact";

// Icons of 16 units, drawn as strokes in the text's colour.
const paths = {
  alert: "M8 2 1.5 13.5h13zM8 6.5v3.5M8 12h.01",
  ask: "M5.5 6a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.7-.9 1.4M8 12.5h.01",
  back: "M13 8H3M7 4 3 8l4 4",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1.5 1.5h-11zM6.5 14.5h3",
  chat: "M2 3h12v8H7l-3 3v-3H2z",
  check: "M3 8.5 6.5 12 13 4.5",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v3.5l2.5 1.5",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M4 6l4 4 4-4",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  folder: "M2 4h4l1.5 2H14v7H2z",
  host: "M2 3h12v8H2zM5.5 14h5M8 11v3",
  inbox: "M2 9l2-6h8l2 6v4H2zM2 9h4l1 1.5h2L10 9h4",
  key: "M6 10a3 3 0 1 1 0-.01M8.8 8.5 14 3.3M11.5 5.8l1.5 1.5",
  link: "M7 9l2-2M6.5 5.5 8 4a2.8 2.8 0 0 1 4 4l-1.5 1.5M9.5 10.5 8 12a2.8 2.8 0 0 1-4-4l1.5-1.5",
  lock: "M4 7h8v6H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  minus: "M3 8h10",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  offline: "M2 6a9 9 0 0 1 12 0M4.5 8.5a5.5 5.5 0 0 1 7 0M8 12h.01M2.5 13.5l11-11",
  person: "M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M3 14c0-3 2-4.5 5-4.5s5 1.5 5 4.5",
  play: "M5 3l8 5-8 5z",
  refresh: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
  right: "M6 4l4 4-4 4",
  send: "M2 8l12-5.5L9 14l-2-4.5z",
  settings: "M8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4M8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M12.6 3.4l-1.4 1.4M4.8 11.2l-1.4 1.4",
  shield: "M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4z",
  stop: "M4 4h8v8H4z",
  wait: "M4 2h8M4 14h8M5 2v2.5L8 8l3-3.5V2M5 14v-2.5L8 8l3 3.5V14",
};

function path(name) {
  if (!Object.hasOwn(paths, name)) throw new Error(`no icon is called ${name}`);
  return paths[name];
}

// icon returns an icon. Without text next to it, pass a word for screen readers.
export function icon(name, word) {
  return h("svg", {
    class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, fill: "none", stroke: "currentColor",
    "stroke-width": 1.5, "stroke-linecap": "round", "stroke-linejoin": "round",
    ...(word ? { role: "img", "aria-label": word } : { "aria-hidden": "true" }),
  }, h("path", { d: path(name) }));
}

// icons lists the names of all icons.
export const icons = Object.keys(paths);
