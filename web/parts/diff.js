import { html, count, plain, useMemo, useState } from "./base.js";

const context = 3; // number of unfolded lines around a change
const least = 4; // minimum number of lines to fold

// read parses a unified diff into files {name, path, rows, plus, minus}. A row is {kind:
// add|del|same|hunk|note, old?, new?, text}. Lines before the first file, and all lines of a text
// that is no diff, are notes.
export function read(text) {
  const files = [];
  let file = null;
  let at = null; // in a hunk: the next line numbers and the number of remaining lines
  const start = (name) => files.push((file = { name, rows: [], plus: 0, minus: 0 }));
  const note = (line) => {
    if (!file) start("");
    file.rows.push({ kind: "note", text: line });
  };
  const lines = text.replace(/\n$/, "").split("\n");
  lines.forEach((line, i) => {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
    if (at && (at.olds > 0 || at.news > 0) && /^[ +\-\\]|^$/.test(line)) return inHunk(file, at, line);
    at = null;
    if (hunk) {
      if (!file) start("");
      at = { old: +hunk[1], new: +hunk[3], olds: +(hunk[2] ?? 1), news: +(hunk[4] ?? 1) };
      file.rows.push({ kind: "hunk", text: line });
    } else if (line.startsWith("diff --git ")) {
      start(line.replace(/^diff --git (?:a\/)?(\S+) .*$/, "$1"));
    } else if (line.startsWith("--- ") && lines[i + 1]?.startsWith("+++ ")) {
      if (!file || file.rows.some((r) => r.kind === "hunk")) start("");
      file.from = line.slice(4);
    } else if (line.startsWith("+++ ") && file?.from !== undefined) {
      Object.assign(file, named(file.from, line.slice(4)));
    } else if (line.startsWith("\\ ")) {
      note(line.slice(2));
    } else if (line !== "" && !/^index [0-9a-f]+\.\./.test(line)) {
      note(line);
    }
  });
  return files;
}

function inHunk(file, at, line) {
  const sign = line[0] ?? " ";
  const text = line.slice(1);
  if (sign === "\\") {
    file.rows.push({ kind: "note", text: line.slice(2) });
  } else if (sign === "+") {
    file.rows.push({ kind: "add", new: at.new++, text });
    file.plus++;
    at.news--;
  } else if (sign === "-") {
    file.rows.push({ kind: "del", old: at.old++, text });
    file.minus++;
    at.olds--;
  } else {
    file.rows.push({ kind: "same", old: at.old++, new: at.new++, text });
    at.olds--;
    at.news--;
  }
}

// named returns the path of a file, and the name to show: the old name of a deleted file, or both
// names of a renamed file.
function named(from, to) {
  const bare = (s) => s.replace(/\t.*$/, "").replace(/^"(.*)"$/, "$1").replace(/^[ab]\//, "");
  if (to.startsWith("/dev/null")) return { path: bare(from), name: `${bare(from)} (removed)` };
  const path = bare(to);
  if (from.startsWith("/dev/null")) return { path, name: `${path} (new)` };
  return { path, name: bare(from) === path ? path : `${bare(from)} → ${path}` };
}

// fold groups the rows of a file. Rows near a change stay as they are, and the others become
// {folded: rows}.
function fold(rows) {
  const near = new Uint8Array(rows.length);
  rows.forEach((r, i) => {
    if (r.kind !== "same") near.fill(1, Math.max(0, i - context), i + context + 1);
  });
  const out = [];
  for (let i = 0; i < rows.length;) {
    let end = i;
    while (end < rows.length && !near[end]) end++;
    if (end - i >= least) out.push({ folded: rows.slice(i, end), at: i });
    else out.push(...rows.slice(i, Math.max(end, i + 1)));
    i = Math.max(end, i + 1);
  }
  return out;
}

const signs = { add: "+", del: "−", same: "" };
const words = { add: "added", del: "removed" };

export const maxOpen = 2; // number of files that are shown before the user opens more
export const maxRows = 1000; // number of rows of a file that are shown before the user loads more

// Diff shows a unified diff, with sign and numbers for each line. Long unchanged parts are folded,
// and files from the third on are collapsed. The user can show them, and with all set, they are
// shown. With comments {all, set(all)}, the user can comment on each line that the new file
// contains. A comment is {file, line, text}.
export function Diff({ text, all, comments }) {
  const files = useMemo(() => read(text), [text]);
  if (files.length === 0) return html`<p class="list-empty">No differences.</p>`;
  return html`<div class="diff">${files.map((f, i) => html`<${File} key=${i} file=${f} all=${all} open=${all || i < maxOpen} comments=${comments} />`)}</div>`;
}

function File({ file, all, open, comments }) {
  const [opened, setOpened] = useState([]);
  const [begun, begin] = useState([]); // lines with an open comment field
  const [most, setMost] = useState(maxRows);
  const commentOn = (path, line) => {
    const is = (c) => c.file === path && c.line === line;
    const text = comments.all.find(is)?.text;
    const set = (text) => comments.set([...comments.all.filter((c) => !is(c)), ...(text.trim() ? [{ file: path, line, text }] : [])]);
    return { text, open: text || begun.includes(line), begin: () => begin([...begun, line]), set };
  };
  const rows = useMemo(() => fold(file.rows).flatMap((r) => (r.folded && (all || opened.includes(r.at)) ? r.folded : [r])), [file, opened, all]);
  const end = all ? rows.length : most;
  const body = html`<table class="diff-body"><tbody>
      ${rows.slice(0, end).map((r, i) => html`<${Row} key=${i} row=${r} open=${() => setOpened([...opened, r.at])} comment=${comments && r.new && commentOn(file.path, r.new)} />`)}
      ${rows.length > end && html`<tr class="fold"><td colspan="4"><button type="button" onClick=${() => setMost(most + 5 * maxRows)}>${count(rows.length - end, "more line")} not shown yet: show</button></td></tr>`}
    </tbody></table>`;
  if (!file.name) return body;
  return html`<details open=${open}><summary class="diff-file">${plain(file.name)}<span class="counts"><span class="plus">+${file.plus}</span> <span class="minus">−${file.minus}</span><span class="unseen"> lines</span></span></summary>${body}</details>`;
}

function Row({ row, open, comment }) {
  if (row.folded) return html`<tr class="fold"><td colspan="4"><button type="button" onClick=${open}>${count(row.folded.length, "line")} without change: show</button></td></tr>`;
  if (row.kind === "hunk" || row.kind === "note") return html`<tr class=${row.kind}><td colspan="4">${plain(row.text)}</td></tr>`;
  const title = `Comment on line ${row.new}`;
  const number = comment ? html`<button type="button" aria-label=${title} onClick=${comment.begin}>${row.new}</button>` : row.new;
  return html`<tr class=${row.kind}><td class="no">${row.old}</td><td class="no">${number}</td>
    <td class="sign">${signs[row.kind]}${words[row.kind] && html`<span class="unseen">${words[row.kind]}</span>`}</td><td class="code">${plain(row.text)}</td></tr>${comment?.open && html`<tr class="said"><td colspan="4"><textarea aria-label=${title} value=${comment.text} onInput=${(e) => comment.set(e.target.value)}></textarea></td></tr>`}`;
}
