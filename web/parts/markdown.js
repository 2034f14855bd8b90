// The part of Markdown that agents write, as elements: paragraphs, headings, lists, fences, code, bold,
// italic, and links over http. All else, HTML and what is half written among it, stays text.
import { html, plain } from "./base.js";

const deepest = 8; // lists in lists, and marks in marks: what is deeper stays text
const fences = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const headings = /^ {0,3}(#{1,6}) +([^]*)/;
const items = /^( *)([-*]|\d{1,9}[.)]) +(?=\S)/;

export function Markdown({ text }) {
  return html`<div class="markdown">${blocks(text.replace(/\r\n/g, "\n").split("\n"), 0)}</div>`;
}

function blocks(lines, depth) {
  const out = [];
  let said = []; // the lines of a paragraph
  const end = () => {
    if (said.length) out.push(html`<p>${marked(said.join("\n"), 0)}</p>`);
    said = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i], fence = fences.exec(line), heading = headings.exec(line), item = depth < deepest && items.exec(line);
    if (fence || heading || item || !line.trim()) end();
    else said.push(line);
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

// begins is the item of the list that a line begins, if it does.
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

// A mark begins after a space or a bracket, and ends before one or before punctuation: names with
// underscores, products and patterns of files have none. Each stretch is bounded, so that a text
// takes time by its length.
const before = "(?<![^\\s(\\[\"'{])", after = "(?![^\\s.,;:!?)\\]\"'}])";
const marks = new RegExp([
  "(?<!`)(?<ticks>`+)(?!`)(?<code>[^]{1,2000}?)(?<!`)\\k<ticks>(?!`)",
  "!?\\[(?<label>[^[\\]]{1,500})\\]\\((?<to>https?://[^\\s()<>]{1,2000})\\)",
  "(?<bare>https?://[^\\s<>\"'`]{0,2000}[^\\s<>\"'`.,;:!?()[\\]{}*_])",
  before + "\\*\\*(?=[\\p{L}\\p{N}\"'(\\[`*_<$])(?<bold>(?:[^*]|\\*(?=[^*]|\\*\\*(?!\\*))){1,2000}?)(?<!\\s)\\*\\*" + after,
  before + "(?<sign>[*_])(?=[\\p{L}\\p{N}\"'(\\[`<$])(?<italic>[^*_]{1,2000}?)(?<!\\s)\\k<sign>" + after,
].join("|"), "gu");

// marked is a text with its marks as elements.
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

// link is a link that says where it leads; null where the address is none.
function link(address, label) {
  if (!URL.canParse(address)) return null;
  const to = new URL(address);
  return html`<a href=${to.href} target="_blank" rel="noopener noreferrer">${plain(label ?? address)}</a>${label && html` <span class="quiet">(${plain(to.host)})</span>`}`;
}
