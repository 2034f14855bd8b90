// Renders the part of Markdown that agents use: paragraphs, headings, lists, code fences, code,
// bold, italic, and http links. Everything else, including HTML and unfinished markup, stays text.
import { html, plain } from "./base.js";

const deepest = 8; // maximum depth of nested lists or marks; deeper ones stay text
const fences = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const headings = /^ {0,3}(#{1,6}) +([^]*)/;
const items = /^( *)([-*]|\d{1,9}[.)]) +(?=\S)/;

export function Markdown({ text }) {
  return html`<div class="markdown">${blocks(text.replace(/\r\n/g, "\n").split("\n"), 0)}</div>`;
}

function blocks(lines, depth) {
  const out = [];
  let paragraph = []; // lines of the current paragraph
  const end = () => {
    if (paragraph.length) out.push(html`<p>${marked(paragraph.join("\n"), 0)}</p>`);
    paragraph = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i], fence = fences.exec(line), heading = headings.exec(line), item = depth < deepest && items.exec(line);
    if (fence || heading || item || !line.trim()) end();
    else paragraph.push(line);
    if (fence) {
      const from = i + 1;
      while (++i < lines.length && !(lines[i].trim().startsWith(fence[1]) && !lines[i].trim().replaceAll(fence[1][0], "")));
      out.push(html`<pre><code>${plain(lines.slice(from, i).join("\n"))}</code></pre>`);
    } else if (heading) {
      out.push(html`<p class="heading" role="heading" aria-level=${Math.min(6, heading[1].length + 3)}>${marked(heading[2], 0)}</p>`);
    } else if (item) {
      const to = listEnd(lines, i, item);
      out.push(list(lines.slice(i, to), item, depth));
      i = to - 1;
    }
  }
  end();
  return out;
}

const isNumber = (item) => /\d/.test(item[2]);

// begins parses the first line of a list item.
function begins(line, first) {
  const item = items.exec(line);
  return item && item[1].length < first[1].length + 2 && isNumber(item) === isNumber(first) ? item : null;
}

function listEnd(lines, at, first) {
  const inner = " ".repeat(first[1].length + 2);
  while (++at < lines.length && (begins(lines[at], first) || !lines[at].trim() || lines[at].startsWith(inner)));
  return at;
}

function list(lines, first, depth) {
  const all = [];
  for (const line of lines) {
    const item = begins(line, first);
    if (item) all.push({ value: isNumber(item) ? parseInt(item[2]) : undefined, lines: [line.slice(item[0].length)] });
    else all.at(-1).lines.push(line.slice(first[1].length + 2));
  }
  return html`<${isNumber(first) ? "ol" : "ul"}>${all.map((x) => html`<li value=${x.value}>${blocks(x.lines, depth + 1)}</li>`)}</>`;
}

// A mark begins after a space or a bracket and ends before a space, a bracket or punctuation. Names
// with underscores, products and file patterns therefore contain no marks. The length of a mark is
// limited, so that the running time is linear.
const before = "(?<![^\\s(\\[\"'{])", after = "(?![^\\s.,;:!?)\\]\"'}])";
const marks = new RegExp([
  "(?<!`)(?<ticks>`+)(?!`)(?<code>[^]{1,2000}?)(?<!`)\\k<ticks>(?!`)",
  "!?\\[(?<label>[^[\\]]{1,500})\\]\\((?<to>https?://[^\\s()<>]{1,2000})\\)",
  "(?<bare>https?://[^\\s<>\"'`]{0,2000}[^\\s<>\"'`.,;:!?()[\\]{}*_])",
  before + "\\*\\*(?=[\\p{L}\\p{N}\"'(\\[`*_<$])(?<bold>(?:[^*]|\\*(?=[^*]|\\*\\*(?!\\*))){1,2000}?)(?<!\\s)\\*\\*" + after,
  before + "(?<sign>[*_])(?=[\\p{L}\\p{N}\"'(\\[`<$])(?<italic>[^*_]{1,2000}?)(?<!\\s)\\k<sign>" + after,
].join("|"), "gu");

// marked renders a text that contains marks.
function marked(text, depth) {
  if (depth === deepest) return plain(text);
  const out = [];
  let at = 0;
  for (const m of text.matchAll(marks)) {
    const { code, label, to, bare, bold, italic } = m.groups;
    out.push(plain(text.slice(at, m.index)));
    at = m.index + m[0].length;
    if (code) out.push(html`<code>${plain(code)}</code>`);
    else if (bold) out.push(html`<strong>${marked(bold, depth + 1)}</strong>`);
    else if (italic) out.push(html`<em>${marked(italic, depth + 1)}</em>`);
    else out.push(link(to ?? bare, label) ?? plain(m[0]));
  }
  out.push(plain(text.slice(at)));
  return out;
}

// link renders a link that shows its target, or returns null for an invalid address.
function link(address, label) {
  if (!URL.canParse(address)) return null;
  const to = new URL(address);
  return html`<a href=${to.href} target="_blank" rel="noopener noreferrer">${plain(label ?? address)}</a>${label && html` <span class="quiet">(${plain(to.host)})</span>`}`;
}
