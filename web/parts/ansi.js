import { h } from "preact";
import { useMemo } from "preact/hooks";
import { plain } from "./plain.js";

// An escape sequence: one that sets colours (its numbers are in the group), or one that a thread of
// text ignores. A string sequence (OSC, DCS, …) ends with BEL or ST.
const escape = /\u001b\[([0-9;:]*)m|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?|\u009b[0-?]*[ -/]*[@-~]/g;

// nearest maps a colour to one of the sixteen by its hue. The style sheet defines how each looks,
// so that it is readable in every theme.
function nearest([r, g, b]) {
  const most = Math.max(r, g, b);
  const least = Math.min(r, g, b);
  if (most - least < 48) return most < 64 ? 0 : most < 160 ? 8 : most < 224 ? 7 : 15;
  const strong = (v) => (v > (most + least) / 2 ? 1 : 0);
  return (strong(r) | (strong(g) << 1) | (strong(b) << 2)) + (most > 224 ? 8 : 0);
}

// cube maps one of the 256 colours to one of the sixteen.
function cube(n) {
  if (n < 16) return n;
  if (n >= 232) return nearest(Array(3).fill(8 + 10 * (n - 232)));
  const level = (v) => (v === 0 ? 0 : 55 + 40 * v);
  return nearest([level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6)]);
}

// extended reads the numbers after 38 or 48: 5;n or 2;r;g;b. It returns the colour and the number
// of numbers that it has read.
function extended(codes, i) {
  if (codes[i] === 5) return [cube(codes[i + 1] & 255), 2];
  if (codes[i] === 2) return [nearest(codes.slice(i + 1, i + 4).map((v) => v & 255)), 4];
  return [null, 0];
}

const flags = { 1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "inverse", 9: "strike" };
const off = { 22: ["bold", "dim"], 23: ["italic"], 24: ["under"], 27: ["inverse"], 29: ["strike"] };

// apply changes a colour state by the numbers of one sequence.
function apply(state, codes) {
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i];
    if (c === 0) for (const k of Object.keys(state)) delete state[k];
    else if (flags[c]) state[flags[c]] = true;
    else if (off[c]) for (const k of off[c]) delete state[k];
    else if (c >= 30 && c <= 37) state.fg = c - 30;
    else if (c >= 90 && c <= 97) state.fg = c - 82;
    else if (c >= 40 && c <= 47) state.bg = c - 40;
    else if (c >= 100 && c <= 107) state.bg = c - 92;
    else if (c === 39) delete state.fg;
    else if (c === 49) delete state.bg;
    else if (c === 38 || c === 48) {
      const [colour, took] = extended(codes, i + 1);
      if (colour !== null) state[c === 38 ? "fg" : "bg"] = colour;
      i += took;
    }
  }
}

function classOf(state) {
  const out = Object.keys(state).filter((k) => state[k] === true).map((k) => `ansi-${k}`);
  if (state.fg !== undefined) out.push(`ansi-f${state.fg}`);
  if (state.bg !== undefined) out.push(`ansi-b${state.bg}`);
  return out.join(" ");
}

// overwritten returns lines as a terminal shows them: text after a carriage return replaces the
// text before it, and a backspace deletes a character.
function overwritten(text) {
  if (!/[\r\u0008]/.test(text)) return text;
  return text.split("\n").map((line) => {
    const left = [];
    for (const c of line.replace(/\r+$/, "").split("\r").at(-1)) {
      if (c === "\u0008") left.pop();
      else left.push(c);
    }
    return left.join("");
  }).join("\n");
}

// spans splits terminal text into pieces {text, class}. It drops all escape sequences except
// colours and makes hidden characters visible.
export function spans(text) {
  const out = [];
  const state = {};
  const push = (piece) => {
    if (piece) out.push({ text: plain(piece), class: classOf(state) });
  };
  const s = overwritten(text);
  let at = 0;
  for (const m of s.matchAll(escape)) {
    push(s.slice(at, m.index));
    if (m[1] !== undefined) apply(state, m[1] === "" ? [0] : m[1].split(/[;:]/).map(Number));
    at = m.index + m[0].length;
  }
  push(s.slice(at));
  return out;
}

// Ansi shows terminal text with its colours.
export function Ansi({ text }) {
  const pieces = useMemo(() => spans(text), [text]);
  return pieces.map((p) => (p.class ? h("span", { class: p.class }, p.text) : p.text));
}
