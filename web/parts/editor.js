// A text editor for programs: a text area over the coloured text, with marks of diagnostics,
// completions and descriptions of names. Offsets count UTF-16 units.
import { classes, html, plain, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "./base.js";
import { Markdown } from "./markdown.js";
import { scan } from "./source.js";

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
  const [items, setItems] = useState(null); // {all, at, chosen, explicit}
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
  useEffect(() => {
    if (!focus) return;
    area.current.focus();
    area.current.setSelectionRange(focus.start, focus.end ?? focus.start);
    showOffset(area.current, back.current, focus.start);
  }, [focus]);
  useEffect(() => {
    if (line) showOffset(area.current, back.current, lineStart(text, line));
  }, [line]);
  const pieces = useMemo(() => paint(text, lang === "concerto" && text.length <= most ? scan(text) : [], marks), [text, lang, marks]);
  const lines = text.split("\n").length;
  const scroll = () => {
    back.current.scrollTop = area.current.scrollTop;
    back.current.scrollLeft = area.current.scrollLeft;
    setTip(null);
  };
  useEffect(scroll, [pieces]);

  const change = () => onChange(area.current.value);
  const offer = async (explicit) => {
    const number = ++asked.current;
    const at = area.current.selectionStart;
    const all = await complete(at, area.current.value);
    if (number !== asked.current || area.current.selectionStart !== at) return;
    const fitting = matching(all, area.current.value, at);
    setItems(fitting.length ? { all: fitting.slice(0, 200), at, chosen: explicit ? 0 : -1, explicit, place: placeOf(back.current, at) } : null);
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
    else if (items && /[\p{L}\p{N}_]$/u.test(last)) offer(items.explicit);
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
    setTip(all ? { text: all, ...placeOf(back.current, offset) } : null);
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

  return html`<div class="editor" onMouseLeave=${leave}>
    <div class="editor-back source" ref=${back} aria-hidden="true"><pre class="no">${Array.from({ length: lines }, (_, i) => i + 1).join("\n")}</pre><pre class="code">${line > 0 && html`<div class="here" style=${{ top: `calc(${line - 1} * var(--row) + var(--pad))` }}></div>`}${pieces}${"\n"}</pre></div>
    <textarea ref=${area} data-testid="editor" aria-label=${label} aria-describedby=${help} spellcheck="false" autocapitalize="off" autocomplete="off" autocorrect="off" wrap="off"
      role=${items ? "combobox" : undefined} aria-haspopup=${items ? "listbox" : undefined} aria-autocomplete=${items ? "list" : undefined} aria-expanded=${items ? "true" : undefined} aria-controls=${items ? list : undefined}
      aria-activedescendant=${items?.chosen >= 0 ? `${list}-${items.chosen}` : undefined}
      onInput=${typed} onKeyDown=${keys} onScroll=${scroll} onMouseMove=${move} onMouseDown=${() => { setItems(null); leave(); setLeft(false); }} onBlur=${() => { setItems(null); setLeft(false); }}></textarea>
    <p class="unseen" id=${help}>Control Enter runs the program. Control Space shows completions, F1 describes the name at the cursor. Tab indents; Escape and then Tab leaves the editor.</p>
    ${items && html`<ul class="editor-list" id=${list} data-testid="completions" role="listbox" aria-label="Completions" style=${place(items.place)}>
      ${items.all.map((x, i) => html`<li key=${i} id=${`${list}-${i}`} role="option" aria-selected=${String(i === items.chosen)} class=${classes(i === items.chosen && "chosen")} onMouseDown=${(e) => { e.preventDefault(); insert(x); }}><span class="label">${plain(x.label)}</span>${x.signature && html`<span class="more">${plain(x.signature)}</span>`}</li>`)}
    </ul>`}
    ${tip && html`<div class="editor-tip" role="tooltip" style=${place(tip)}><${Markdown} text=${tip.text} /></div>`}
  </div>`;
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

// paint splits a text at its tokens and marks.
function paint(text, tokens, marks) {
  const cuts = new Set();
  const real = marks.map((m) => ({ ...m, end: Math.max(m.end, m.start + 1) })).filter((m) => m.start <= text.length);
  for (const m of real) {
    cuts.add(m.start);
    cuts.add(m.end);
  }
  const at = [...cuts].sort((a, b) => a - b);
  const markOf = (from) => real.find((m) => m.start <= from && from < m.end && m.severity === "error") ?? real.find((m) => m.start <= from && from < m.end);
  const out = [];
  const add = (from, to, kind) => {
    while (from < to) {
      const next = at.find((c) => c > from && c < to) ?? to;
      const m = real.length ? markOf(from) : undefined;
      const part = plain(text.slice(from, next));
      out.push(kind || m ? html`<span class=${classes(kind, m && `mark ${m.severity}`)}>${part}</span>` : part);
      from = next;
    }
  };
  let from = 0;
  for (const t of tokens) {
    add(from, t.start, "");
    add(t.start, t.end, t.class);
    from = t.end;
  }
  add(from, text.length, "");
  if (real.some((m) => m.end > text.length)) out.push(html`<span class="mark error"> </span>`);
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

// rangeAt returns the range of an offset in the coloured text.
function rangeAt(back, offset) {
  const walk = document.createTreeWalker(back.querySelector(".code"), NodeFilter.SHOW_TEXT);
  let rest = offset;
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    if (rest <= n.length) {
      const range = document.createRange();
      range.setStart(n, rest);
      range.setEnd(n, Math.min(rest + 1, n.length));
      return range;
    }
    rest -= n.length;
  }
  return null;
}

// placeOf returns where a box for an offset is, relative to the editor.
function placeOf(back, offset) {
  const box = back.getBoundingClientRect();
  const at = rangeAt(back, offset)?.getClientRects()[0] ?? box;
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
    const code = back.querySelector(".code");
    if (!node || node.nodeType !== Node.TEXT_NODE || !code.contains(node)) return undefined;
    const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    let before = 0;
    for (let n = walk.nextNode(); n && n !== node; n = walk.nextNode()) before += n.length;
    return before + (found.offset ?? found.startOffset);
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
export function replace(area, start, end, text) {
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
