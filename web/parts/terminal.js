import { html, useEffect, useRef, useState } from "./base.js";
import { styleAsAllowed } from "./termdoc.js";

const scrollback = 5000; // number of lines
const theme = {
  background: "#14171b", foreground: "#e7eaee", cursor: "#93abff", cursorAccent: "#14171b", selectionBackground: "#3b4a80",
  black: "#3c434c", red: "#ff9088", green: "#74cf90", yellow: "#e5c07b", blue: "#8db0ff", magenta: "#d89af0", cyan: "#63cbd6", white: "#d5dae1",
  brightBlack: "#8d97a5", brightRed: "#ffb3ae", brightGreen: "#9fe6b4", brightYellow: "#f3dba6", brightBlue: "#b9c8ff", brightMagenta: "#ebc4f8", brightCyan: "#9be4ec", brightWhite: "#ffffff",
};

// loaded is the terminal's module. The module is larger than all other modules together, so it is
// loaded on first use.
let loaded;
function load() {
  loaded ??= import("./xterm.js").then((xterm) => (styled(xterm.look), styleAsAllowed(), xterm), (e) => { loaded = undefined; throw e; });
  return loaded;
}

function styled(look) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(look);
  document.adoptedStyleSheets.push(sheet);
}

// Terminal shows a terminal. When it is ready, it calls attach({write, reset}), which returns a
// function that detaches. Text that attach writes synchronously is history, and queries in it get
// no reply. onKeys(text) receives typed keys and the terminal's replies to queries of a program. If
// onKeys is null, the terminal is read-only. onResize(cols, rows) receives the size that fits the
// element. If onResize is null, the size is fixed at {cols, rows}.
export function Terminal({ attach, onKeys, onResize, size, label = "Terminal" }) {
  const box = useRef();
  const now = useRef({});
  now.current = { attach, onKeys, onResize };
  const [state, setState] = useState("loading");
  const [ctrl, setCtrl] = useState(false);
  const held = useRef(false); // Ctrl is pressed in the row of keys
  held.current = ctrl;
  const term = useRef(null);
  useEffect(() => {
    let closed = false;
    let end = () => {};
    load().then((modules) => {
      if (!closed) end = start({ ...modules, box: box.current, now, held, setCtrl, term });
      if (!closed) setState("there");
    }, (e) => setState(`The terminal could not be loaded: ${e.message}`));
    return () => {
      closed = true;
      end();
    };
  }, []);
  useEffect(() => {
    if (state === "there" && size && !onResize) term.current.resize(size.cols || 80, size.rows || 24);
  }, [state, size?.cols, size?.rows, !onResize]);
  useEffect(() => {
    if (state === "there") term.current.options.disableStdin = !onKeys;
  }, [state, !onKeys]);
  return html`<div class="terminal"><div class="terminal-box" data-testid="terminal" ref=${box} role="group" aria-label=${label}></div>
    ${state === "loading" && html`<p class="terminal-note" role="status">Loading the terminal …</p>`}
    ${state !== "loading" && state !== "there" && html`<p class="terminal-note" role="alert">${state}</p>`}
    ${onKeys && state === "there" && html`<${Keys} term=${term.current} ctrl=${ctrl} setCtrl=${setCtrl} send=${onKeys} />`}</div>`;
}

// start creates a terminal in an element and returns a function that removes it.
function start({ Xterm, Fit, box, now, held, setCtrl, term }) {
  const t = new Xterm({ theme, scrollback, fontSize: 13, fontFamily: getComputedStyle(box).getPropertyValue("--mono"), cursorBlink: false, linkHandler: { activate() {} }, minimumContrastRatio: 4.5 });
  term.current = t;
  const fit = new Fit();
  t.loadAddon(fit);
  t.open(box);
  let live = false;
  t.onData((data) => {
    if (!live) return;
    const text = held.current && data.length === 1 ? controlled(data) : data;
    if (held.current) setCtrl(false);
    now.current.onKeys?.(text);
  });
  let last = "";
  const fitted = () => {
    if (!now.current.onResize || box.clientWidth === 0) return;
    fit.fit();
    const is = `${t.cols} ${t.rows}`;
    if (is !== last) now.current.onResize(t.cols, t.rows);
    last = is;
  };
  const sizes = new ResizeObserver(fitted);
  sizes.observe(box);
  fitted();
  const end = now.current.attach({ write: (text) => t.write(text), reset: () => t.reset() });
  t.write("", () => { live = true; });
  return () => {
    end?.();
    sizes.disconnect();
    t.dispose();
  };
}

// controlled returns the character that Ctrl together with a key produces.
const controlled = (c) => (/[a-z@[\\\]^_]/i.test(c) ? String.fromCharCode(c.toUpperCase().charCodeAt(0) & 31) : c);

// rowOfKeys lists the keys that the keyboard of a phone lacks.
const rowOfKeys = [
  { label: "⏎", name: "Enter", keys: "\r" }, { label: "y", keys: "y" }, { label: "n", keys: "n" }, { label: "Esc", keys: "\u001b" }, { label: "Tab", keys: "\t" }, { label: "Ctrl" },
  { label: "←", name: "Left", arrow: "D" }, { label: "↑", name: "Up", arrow: "A" }, { label: "↓", name: "Down", arrow: "B" }, { label: "→", name: "Right", arrow: "C" },
  { label: "PgUp", name: "PgUp, page up", keys: "\u001b[5~" }, { label: "PgDn", name: "PgDn, page down", keys: "\u001b[6~" }, { label: "Paste" },
];

function Keys({ term, ctrl, setCtrl, send }) {
  const press = (k) => () => {
    if (k.label === "Ctrl") setCtrl(!ctrl);
    else if (k.label === "Paste") navigator.clipboard?.readText().then((text) => term.paste(text), () => {}); // the browser may deny access
    else send(k.arrow ? (term.modes.applicationCursorKeysMode ? "\u001bO" : "\u001b[") + k.arrow : k.keys);
    term.focus();
  };
  return html`<div class="terminal-keys" role="toolbar" aria-label="Keys">${rowOfKeys.map((k) => html`<button type="button" key=${k.label} aria-label=${k.name} aria-pressed=${k.label === "Ctrl" ? String(ctrl) : undefined} onPointerDown=${(e) => e.preventDefault()} onClick=${press(k)}>${k.label}</button>`)}</div>`;
}
