// A text editor for programs: a text area over the coloured text, with marks of diagnostics,
// completions and descriptions of names. Offsets count UTF-16 units.
import { classes, html, plain, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "./base.js";
import { Markdown } from "./markdown.js";
import { scan } from "./scan.js";

const most = 200_000; // maximum number of characters of a coloured text
const indent = "    ";
const pause = 400; // milliseconds that the pointer rests on a name before it is described

// Editor edits text, the content of the file name. marks are {start, end, severity, message}, and
// line is a line to highlight. onChange receives the new text. complete(offset) returns a promise of
// completions {label, signature, edits}, and describe(offset) one of Markdown. onApply receives the
// edits of a completion, of which the first is at the cursor. onRun is called for Ctrl-Enter. The
// Tab key indents; after Escape it leaves the editor.
export function Editor({ name, text, lang, marks = [], line, focus, onChange, complete, describe, onApply, onRun, label = "Editor" }) {
  const area = useRef();
  const back = useRef();
  const [items, setItems] = useState(null); // {found, all, at, chosen, explicit}; all are those of found that are shown
  const [tip, setTip] = useState(null); // {text, x, y}
  const [left, setLeft] = useState(false); // Escape was pressed: Tab leaves the editor
  const asked = useRef(0);
  const list = useId();
  const help = useId();

  useLayoutEffect(() => {
    if (area.current.value !== text) area.current.value = text;
  }, [text, name]);
  useLayoutEffect(() => {
    setItems(null);
    setTip(null);
    area.current.scrollTop = area.current.scrollLeft = 0;
  }, [name]);
  // A key that follows the insertion of a completion already acts at the new place.
  useLayoutEffect(() => {
    if (!focus) return;
    area.current.focus();
    area.current.setSelectionRange(focus.start, focus.end ?? focus.start);
    showOffset(area.current, back.current, focus.start);
  }, [focus]);
  useEffect(() => {
    if (line) showOffset(area.current, back.current, lineStart(text, line));
  }, [line]);
  const painted = useRef([]);
  const pieces = useMemo(() => paint(text, lang === "concerto" && text.length <= most ? scan(text) : [], marks, painted.current), [text, lang, marks]);
  const lines = text.split("\n").length;
  const align = () => {
    back.current.scrollTop = area.current.scrollTop;
    back.current.scrollLeft = area.current.scrollLeft;
  };
  useEffect(align, [pieces]);

  const change = () => onChange(area.current.value);
  const offer = async (explicit) => {
    const number = ++asked.current;
    const at = area.current.selectionStart;
    const all = await complete(at, area.current.value);
    if (number !== asked.current || area.current.selectionStart !== at) return;
    present(all, at, explicit);
  };
  const present = (found, at, explicit) => {
    const fitting = matching(found, area.current.value, at);
    setItems(fitting.length ? { found, all: fitting.slice(0, 200), at, chosen: explicit ? 0 : -1, explicit, place: placeOf(back.current, area.current, at) } : null);
  };
  const insert = (item) => {
    setItems(null);
    asked.current++;
    onApply(item.edits);
  };
  const typed = (event) => {
    change();
    setTip(null);
    const last = area.current.value.slice(Math.max(0, area.current.selectionStart - 2), area.current.selectionStart);
    if (event.inputType === "insertText" && (last.endsWith(".") || last === "::")) offer(false);
    else if (items && /[\p{L}\p{N}_]$/u.test(last)) {
      const at = area.current.selectionStart;
      present(moved(items.found, name, items.at, at - items.at), at, items.explicit); // until the analysis has the new text
      offer(items.explicit);
    }
    else setItems(null);
  };
  const keys = (event) => {
    const { key } = event;
    const control = event.ctrlKey || event.metaKey;
    if (event.isComposing) return;
    if (key === "Enter" && control) {
      event.preventDefault();
      onRun();
      return;
    }
    if (key === " " && event.ctrlKey) {
      event.preventDefault();
      offer(true);
      return;
    }
    if (key === "F1") {
      event.preventDefault();
      explain(area.current.selectionStart);
      return;
    }
    if (items && !control && !event.altKey) {
      const n = items.all.length;
      const to = { ArrowDown: (items.chosen + 1) % n, ArrowUp: (Math.max(items.chosen, 0) + n - 1) % n }[key];
      if (to !== undefined) {
        event.preventDefault();
        setItems({ ...items, chosen: to });
        return;
      }
      if (key === "Escape") {
        event.preventDefault();
        setItems(null);
        return;
      }
      if (key === "Tab" || (key === "Enter" && items.chosen >= 0)) {
        event.preventDefault();
        insert(items.all[Math.max(items.chosen, 0)]);
        return;
      }
    }
    if (key === "Escape") {
      setTip(null);
      setLeft(true);
      return;
    }
    if (key === "Tab" && !left && !control && !event.altKey) {
      event.preventDefault();
      shift(area.current, event.shiftKey);
      change();
      return;
    }
    if (key !== "Tab" && key !== "Shift") setLeft(false);
    if (key === "Enter" && !event.shiftKey && !event.altKey && lang === "concerto") {
      event.preventDefault();
      breakLine(area.current);
      setItems(null);
      change();
      return;
    }
    if (key === "}" && !control && closes(area.current)) {
      event.preventDefault();
      change();
      return;
    }
    if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"].includes(key)) setItems(null);
  };
  const explain = async (offset) => {
    const number = ++asked.current;
    const said = marks.filter((m) => m.start <= offset && offset <= m.end).map((m) => m.message);
    const found = await describe(offset);
    if (number !== asked.current) return;
    const all = [...said.map((s) => s.replace(/([\\`*_[\]])/g, "\\$1")), found].filter(Boolean).join("\n\n");
    setTip(all ? { text: all, ...placeOf(back.current, area.current, offset) } : null);
  };
  const rest = useRef(0);
  const move = (event) => {
    clearTimeout(rest.current);
    if (event.buttons) return;
    const { clientX, clientY } = event;
    rest.current = setTimeout(() => {
      const at = offsetAt(back.current, area.current, clientX, clientY);
      if (at !== undefined) explain(at);
    }, pause);
  };
  const leave = () => {
    clearTimeout(rest.current);
    setTip(null);
  };
  useEffect(() => () => clearTimeout(rest.current), []);
  useEffect(() => {
    if (items?.chosen >= 0) document.getElementById(`${list}-${items.chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [items]);

  return html`<div class="code-editor" onMouseLeave=${leave}>
    <div class="editor-back source" ref=${back} aria-hidden="true"><pre class="no">${Array.from({ length: lines }, (_, i) => i + 1).join("\n")}</pre><pre class="code">${line > 0 && html`<div class="here" style=${{ top: `calc(${line - 1} * var(--row) + var(--pad))` }}></div>`}${pieces}</pre></div>
    <textarea ref=${area} data-testid="editor" aria-label=${label} aria-describedby=${help} spellcheck="false" autocapitalize="off" autocomplete="off" autocorrect="off" wrap="off"
      role=${items ? "combobox" : undefined} aria-haspopup=${items ? "listbox" : undefined} aria-autocomplete=${items ? "list" : undefined} aria-expanded=${items ? "true" : undefined} aria-controls=${items ? list : undefined}
      aria-activedescendant=${items?.chosen >= 0 ? `${list}-${items.chosen}` : undefined}
      onInput=${typed} onKeyDown=${keys} onScroll=${() => { align(); setTip(null); }} onMouseMove=${move} onMouseDown=${() => { setItems(null); leave(); setLeft(false); }} onBlur=${() => { setItems(null); setLeft(false); }}></textarea>
    <p class="unseen" id=${help}>Control Enter runs the program. Control Space shows completions, F1 describes the name at the cursor. Tab indents; Escape and then Tab leaves the editor.</p>
    ${items && html`<ul class="editor-list" id=${list} data-testid="completions" role="listbox" aria-label="Completions" style=${place(items.place)}>
      ${items.all.map((x, i) => html`<li key=${i} id=${`${list}-${i}`} role="option" aria-selected=${String(i === items.chosen)} class=${classes(i === items.chosen && "chosen")} onMouseDown=${(e) => { e.preventDefault(); insert(x); }}><span class="label">${plain(x.label)}</span>${x.signature && html`<span class="more">${plain(x.signature)}</span>`}</li>`)}
    </ul>`}
    ${tip && html`<div class="editor-tip" role="tooltip" style=${place(tip)}><${Markdown} text=${tip.text} /></div>`}
  </div>`;
}

// moved returns the completions of a text after the user has typed, or removed, the end of the word
// before the cursor, which was at the offset at.
function moved(all, name, at, by) {
  const move = (offset) => (offset < at ? offset : offset + by);
  return all.map((x) => ({ ...x, edits: x.edits.map((e, i) => (e.file !== name ? e : { ...e, start: i === 0 ? e.start : move(e.start), end: move(e.end) })) }));
}

// matching returns the completions that begin with the word before the cursor, or if there are none,
// those that contain its characters in order.
function matching(all, text, at) {
  const first = all[0]?.edits[0];
  const word = first ? text.slice(first.start, at).toLowerCase() : "";
  const begins = all.filter((x) => x.label.toLowerCase().startsWith(word));
  return word.length < 2 || begins.length > 0 ? begins : all.filter((x) => isSubsequence(word, x.label.toLowerCase()));
}

function isSubsequence(word, label) {
  let from = 0;
  for (const c of word) {
    from = label.indexOf(c, from) + 1;
    if (from === 0) return false;
  }
  return true;
}

// place returns the style of a box below a place of the text.
function place({ x, y, below, width }) {
  return { left: `${Math.max(0, Math.min(x, width - 260))}px`, top: `${y}px`, maxHeight: `${Math.max(120, Math.min(below, 280))}px` };
}

// paint returns an element for each line of a text, split at its tokens and marks. It returns the
// same element as before for a line that has not changed, which Preact then skips. before contains
// the lines of the last call, and receives those of this one.
function paint(text, tokens, marks, before) {
  const real = marks.map((m) => ({ ...m, end: Math.max(m.end, m.start + 1) })).filter((m) => m.start <= text.length);
  const lines = [];
  let start = 0;
  let first = 0; // index of the first token that ends after the start of the line
  for (const line of text.split("\n")) {
    const end = start + line.length;
    while (first < tokens.length && tokens[first].end <= start) first++;
    const own = [];
    for (let i = first; i < tokens.length && tokens[i].start < end; i++) own.push({ start: Math.max(tokens[i].start, start), end: Math.min(tokens[i].end, end), class: tokens[i].class });
    const marked = real.filter((m) => m.start <= end && m.end > start);
    const key = `${line}\n${own.map((t) => `${t.start - start}${t.class}`).join()}\n${marked.map((m) => `${m.start - start},${m.end - start}${m.severity}`).join()}`;
    const known = before[lines.length];
    lines.push(known?.key === key ? known : { key, element: html`<span>${paintLine(text, start, end, own, marked)}${"\n"}</span>` });
    start = end + 1;
  }
  before.splice(0, before.length, ...lines);
  return lines.map((l) => l.element);
}

// paintLine splits the line from start to end.
function paintLine(text, start, end, tokens, marks) {
  const cuts = [...new Set(marks.flatMap((m) => [m.start, m.end]))].sort((a, b) => a - b);
  const out = [];
  const add = (from, to, kind) => {
    while (from < to) {
      const next = cuts.find((c) => c > from && c < to) ?? to;
      const here = marks.filter((m) => m.start <= from && from < m.end);
      const m = here.find((x) => x.severity === "error") ?? here[0];
      const part = plain(text.slice(from, next));
      out.push(kind || m ? html`<span class=${classes(kind, m && `mark ${m.severity}`)}>${part}</span>` : part);
      from = next;
    }
  };
  let from = start;
  for (const t of tokens) {
    add(from, t.start, "");
    add(t.start, t.end, t.class);
    from = t.end;
  }
  add(from, end, "");
  const last = marks.find((m) => m.start === end);
  if (last) out.push(html`<span class=${`mark ${last.severity}`}> </span>`); // at the end of the line
  return out;
}

function lineStart(text, line) {
  let at = 0;
  for (let i = 1; i < line; i++) {
    const next = text.indexOf("\n", at);
    if (next < 0) return at;
    at = next + 1;
  }
  return at;
}

// linesOf returns the elements of the lines.
function linesOf(back) {
  return [...back.querySelectorAll(".code > span")];
}

// rangeAt returns the range of an offset in the coloured text, or null.
function rangeAt(back, text, offset) {
  const before = text.slice(0, offset).split("\n");
  const line = linesOf(back)[before.length - 1];
  if (!line) return null;
  const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  let rest = before.at(-1).length;
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    if (rest < n.length) {
      const range = document.createRange();
      range.setStart(n, rest);
      range.setEnd(n, rest + 1);
      return range;
    }
    rest -= n.length;
  }
  return null;
}

// placeOf returns where a box for an offset is, relative to the editor.
function placeOf(back, area, offset) {
  const box = back.getBoundingClientRect();
  const at = rangeAt(back, area.value, offset)?.getClientRects()[0] ?? box;
  const height = parseFloat(getComputedStyle(back).lineHeight) || 20;
  const y = at.top - box.top + height;
  return { x: at.left - box.left, y, below: box.height - y, width: box.width };
}

// offsetAt returns the offset of the text at a point, or undefined.
function offsetAt(back, area, x, y) {
  area.style.pointerEvents = "none"; // the coloured text is under the text area
  try {
    const found = document.caretPositionFromPoint ? document.caretPositionFromPoint(x, y) : document.caretRangeFromPoint?.(x, y);
    const node = found?.offsetNode ?? found?.startContainer;
    const lines = linesOf(back);
    const at = node?.nodeType === Node.TEXT_NODE ? lines.findIndex((l) => l.contains(node)) : -1;
    if (at < 0) return undefined;
    const walk = document.createTreeWalker(lines[at], NodeFilter.SHOW_TEXT);
    let column = found.offset ?? found.startOffset;
    for (let n = walk.nextNode(); n && n !== node; n = walk.nextNode()) column += n.length;
    const start = lineStart(area.value, at + 1);
    const end = area.value.indexOf("\n", start);
    return Math.min(start + column, end < 0 ? area.value.length : end);
  } finally {
    area.style.pointerEvents = "";
  }
}

// showOffset scrolls the text area so that an offset is visible.
function showOffset(area, back, offset) {
  const height = parseFloat(getComputedStyle(back).lineHeight) || 20;
  const y = area.value.slice(0, offset).split("\n").length * height;
  if (y < area.scrollTop + height || y > area.scrollTop + area.clientHeight - height) area.scrollTop = Math.max(0, y - area.clientHeight / 2);
}

// replace replaces a range of the text area, so that the browser can undo it.
function replace(area, start, end, text) {
  area.focus();
  area.setSelectionRange(start, end);
  const done = text === "" ? start === end || document.execCommand("delete") : document.execCommand("insertText", false, text);
  if (!done) area.setRangeText(text, start, end, "end");
}

// breakLine starts a line with the indentation of the current one.
function breakLine(area) {
  const { value, selectionStart: at, selectionEnd: end } = area;
  const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
  const space = /^[ \t]*/.exec(line)[0];
  const opens = /[{([]\s*$/.test(line);
  replace(area, at, end, `\n${space}${opens ? indent : ""}`);
}

// closes replaces the indentation before a closing brace by that of the enclosing block.
function closes(area) {
  const { value, selectionStart: at, selectionEnd: end } = area;
  const start = value.lastIndexOf("\n", at - 1) + 1;
  const line = value.slice(start, at);
  if (at !== end || line === "" || line.trim() !== "" || !line.endsWith(indent)) return false;
  replace(area, at - indent.length, at, "}");
  return true;
}

// shift indents the selected lines, or inserts an indentation at the cursor.
function shift(area, back) {
  const { value, selectionStart: at, selectionEnd: end } = area;
  if (at === end && !back) {
    const column = at - (value.lastIndexOf("\n", at - 1) + 1);
    replace(area, at, at, " ".repeat(indent.length - (column % indent.length)));
    return;
  }
  const from = value.lastIndexOf("\n", at - 1) + 1;
  const next = value.indexOf("\n", Math.max(at, end - 1));
  const to = next < 0 ? value.length : next;
  const lines = value.slice(from, to).split("\n");
  const text = lines.map((l) => (back ? l.replace(/^( {1,4}|\t)/, "") : l && indent + l)).join("\n");
  replace(area, from, to, text);
  area.setSelectionRange(from, from + text.length);
}
